"""Perturbation: a good point, kicked.

Some inputs go somewhere else nearby, some integers one up or down, the rest follows as far as the host's rows ask for it. A start from there
ends in the same valley, where the kick was too small, or in a neighbouring one.
"""

from __future__ import annotations

import numpy as np

from dcembed.arrays import Array
from dcembed.engine.moves.narrowing import hold_others
from dcembed.engine.moves.nearest import nearest
from dcembed.engine.moves.suggestion import Suggestion
from dcembed.engine.moves.terrain import Terrain
from dcembed.engine.moves.verified import Verified

NAME = "perturbation"
# Kicks vary by this power around their size.
VARIATION = 0.7
# Integers beside those that were kicked that may follow, in relation to all.
FOLLOWING = 0.5


def perturb(terrain: Terrain, verified: Verified, size: float, rng: np.random.Generator) -> Suggestion | None:
    """A kick of about this size, in ranges, from one of the best points."""
    point = verified.pick(rng)
    if point is None or not (terrain.inputs.size or terrain.integers.size):
        return None
    kicks_integers = terrain.integers.size > 0 and (terrain.inputs.size == 0 or rng.random() < 0.5)
    if kicks_integers:
        return _kick_integers(terrain, point.w, size, rng)
    w = _kicked(terrain, point.w, size, rng)
    found = nearest(terrain, w, terrain.problem.embedded.integer)
    return None if found is None else Suggestion(found, NAME, is_on_foot=True)


def _kicked(terrain: Terrain, w: Array, size: float, rng: np.random.Generator) -> Array:
    """Some continuous inputs, at least one, moved by a random step each."""
    columns = terrain.inputs
    chosen = columns[rng.random(columns.size) < rng.uniform(0.0, 1.0)]
    chosen = chosen if chosen.size else rng.choice(columns, 1)
    step = size * np.exp(VARIATION * rng.standard_normal()) * rng.standard_normal(chosen.size) * terrain.space.reach[chosen]
    kicked = w.copy()
    kicked[chosen] += step
    inside: Array = terrain.space.clip(kicked[None])[0]
    return inside


def _kick_integers(terrain: Terrain, w: Array, size: float, rng: np.random.Generator) -> Suggestion | None:
    """One or a few integers one up or down, to stay there; what rows ask for follows, and a neighbourhood of all that is free."""
    columns, box = terrain.integers, terrain.problem.box
    chosen = rng.choice(columns, min(int(rng.geometric(0.6)), columns.size), replace=False)
    side = np.where(rng.random(chosen.size) < 0.5, -1.0, 1.0)
    side = np.where((w[chosen] + side < box.lb[chosen]) | (w[chosen] + side > box.ub[chosen]), -side, side)
    kicked, kept = w.copy(), np.zeros(w.size, dtype=bool)
    kicked[chosen] += side
    kept[chosen] = True
    found = nearest(terrain, kicked, kept)
    if found is None:
        return None
    if terrain.has_tangents:
        return Suggestion(found, NAME, is_on_foot=True)
    integer = terrain.problem.embedded.integer
    found = np.where(integer, np.round(found), found)
    number = terrain.num_open(FOLLOWING * size)
    free = terrain.companies.grow(int(chosen[0]), number, integer, rng) | kept | (integer & (found != w))
    return Suggestion(found, NAME, hold_others(terrain.problem, found, free))
