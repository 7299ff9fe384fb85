"""Crossover: what two good points agree on is held, what they differ in is open.

Where they have the same integers, or there are none, a start begins between them or beyond one of them, or takes inputs of both.
"""

from __future__ import annotations

import numpy as np

from dcembed.arrays import Array
from dcembed.engine.moves.narrowing import hold_others
from dcembed.engine.moves.nearest import nearest
from dcembed.engine.moves.suggestion import Suggestion
from dcembed.engine.moves.terrain import Terrain
from dcembed.engine.moves.verified import Verified

NAME = "crossover"
# How far beyond either point a start may begin, in relation to their distance.
BEYOND = 0.5
# How often inputs are taken from one point or the other, rather than from the line through both.
SWAPPED = 0.5


def cross(terrain: Terrain, verified: Verified, size: float, rng: np.random.Generator) -> Suggestion | None:
    """A start between two verified points; with integers, no more than about this share of them is open."""
    pair = verified.pick_two(rng)
    if pair is None:
        return None
    one, other = pair[0].w, pair[1].w
    differs = np.flatnonzero(terrain.problem.embedded.integer & (np.round(one) != np.round(other)))
    if differs.size:
        return Suggestion(one, NAME, hold_others(terrain.problem, one, _opened(terrain, differs, size, rng)))
    if terrain.inputs.size == 0:
        return None
    found = nearest(terrain, _between(terrain, one, other, rng), terrain.problem.embedded.integer)
    return None if found is None else Suggestion(found, NAME, is_on_foot=True)


def _opened(terrain: Terrain, differs: Array, size: float, rng: np.random.Generator) -> Array:
    """The integers that differ, or some of them where they are many; and a few that belong to them where they are few."""
    integer = terrain.problem.embedded.integer
    number = terrain.num_open(size)
    free = np.zeros(integer.size, dtype=bool)
    free[rng.choice(differs, min(number, differs.size), replace=False)] = True
    if differs.size < number:
        free |= terrain.companies.grow(int(rng.choice(differs)), number - differs.size, integer, rng)
    return free


def _between(terrain: Terrain, one: Array, other: Array, rng: np.random.Generator) -> Array:
    """Inputs of both, or a point of the line through them."""
    if rng.random() < SWAPPED and terrain.inputs.size > 1:
        taken = terrain.inputs[rng.random(terrain.inputs.size) < 0.5]
        w = one.copy()
        w[taken] = other[taken]
        return w
    inside: Array = terrain.space.clip((one + rng.uniform(-BEYOND, 1.0 + BEYOND) * (other - one))[None])[0]
    return inside
