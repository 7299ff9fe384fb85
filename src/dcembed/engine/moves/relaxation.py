"""Induced by a relaxation: what the relaxed problem and a good point agree on is held.

The problem is relaxed at the point: tangents in place of the networks, no integers. Where its solution has the integers of the point, these are
likely to be right; where it has not, there may be something to gain.
"""

from __future__ import annotations

from contextlib import closing

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.measurements import slopes
from dcembed.embedded.point import Point
from dcembed.engine.moves.narrowing import hold_others
from dcembed.engine.moves.suggestion import Suggestion
from dcembed.engine.moves.terrain import Terrain
from dcembed.engine.moves.verified import Verified
from dcembed.engine.subproblem import Majorant, Subproblem, fixed_program
from dcembed.engine.tangent.memory import build_excess
from dcembed.engine.workshop import Master
from dcembed.run.penalty import initial_penalty
from dcembed.solvers.failover import LastingSession

NAME = "relaxation"
# An integer that the relaxation moves by less agrees with the point.
AGREES = 0.1
# The tangents are those of a point so many ranges away, about: at the point itself they would be the same every time.
ASIDE = 0.05


def open_by_relaxation(terrain: Terrain, verified: Verified, size: float, rng: np.random.Generator) -> Suggestion | None:
    """A neighbourhood with the integers that the relaxation moves, and no more than about this share of all."""
    point, columns = verified.pick(rng), terrain.integers
    if point is None or columns.size < 2:
        return None
    relaxed = _relaxed(terrain, point, rng)
    if relaxed is None:
        return None
    number = terrain.num_open(size)
    distance = np.abs(relaxed - point.w)[columns]
    order = np.argsort(-distance, kind="stable")
    moved = columns[order[: min(number, int((distance > AGREES).sum()))]]
    if moved.size == 0:
        return None
    free = np.zeros(point.w.size, dtype=bool)
    free[moved] = True
    integer = terrain.problem.embedded.integer
    if moved.size < number:
        free |= terrain.companies.grow(int(rng.choice(moved)), number - moved.size, integer, rng)
    return Suggestion(point.w, NAME, hold_others(terrain.problem, point.w, free))


def _relaxed(terrain: Terrain, point: Point, rng: np.random.Generator) -> Array | None:
    """Where the relaxation is best; None where a solver does not say."""
    problem = terrain.problem
    embedded, columns = problem.embedded, problem.embedded.input_columns
    aside = point.w.copy()
    aside[columns] += ASIDE * rng.standard_normal(columns.size) * terrain.space.reach[columns]
    slope = slopes(embedded, terrain.space.clip(aside[None])[0])
    tangents = Majorant(slope, point.neural - slope @ point.w, problem.reach)
    subproblem = Subproblem(embedded, build_excess(embedded))
    with closing(LastingSession(fixed_program(subproblem), problem.solver)) as session:
        master = Master(subproblem, session)
        master.write(tangents, initial_penalty(problem.options, embedded, point), problem.box)
        solution = master.solve(terrain.limits(), relax=True)
    if solution.x is None or not np.isfinite(solution.x).all():
        return None
    found: Array = solution.x[: point.w.size]
    return found
