"""Blocks at random: some companies of columns are open, all other integers held as in a good point."""

from __future__ import annotations

import numpy as np

from dcembed.engine.moves.narrowing import hold_others
from dcembed.engine.moves.suggestion import Suggestion
from dcembed.engine.moves.terrain import Terrain
from dcembed.engine.moves.verified import Verified

NAME = "blocks"
# How often a neighbourhood is one piece, rather than pieces from anywhere.
TOGETHER = 0.5


def open_blocks(terrain: Terrain, verified: Verified, size: float, rng: np.random.Generator) -> Suggestion | None:
    """A neighbourhood with about this share of the integers."""
    point, columns = verified.pick(rng), terrain.integers
    if point is None or columns.size < 2:
        return None
    integer, number = terrain.problem.embedded.integer, terrain.num_open(size)
    if rng.random() < TOGETHER:
        free = terrain.companies.grow(int(rng.choice(columns)), number, integer, rng)
    else:
        free = terrain.companies.gather(number, integer, rng)
    return Suggestion(point.w, NAME, hold_others(terrain.problem, point.w, free)) if (free & integer).any() else None
