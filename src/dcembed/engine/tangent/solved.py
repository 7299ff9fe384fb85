"""A master that was solved around the point, and what is known from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.copies import replace
from dcembed.embedded.measurements import slopes
from dcembed.embedded.point import Point
from dcembed.engine.cuts import CutPool
from dcembed.engine.problem import Problem
from dcembed.engine.subproblem import Bend, Majorant, model_value
from dcembed.engine.tangent.curvature import bend, row_multipliers
from dcembed.engine.tangent.funnel import needs_funnel
from dcembed.engine.tangent.master import solve_master, uses_slack
from dcembed.engine.tangent.memory import TangentModel, build_model, remember
from dcembed.engine.tangent.multipliers import HEADROOM, NUM_REMEMBERED, largest_multiplier, scaled_penalty
from dcembed.engine.tangent.state import State
from dcembed.engine.workshop import Workshop
from dcembed.run.penalty import Penalty
from dcembed.solvers.base import Solution
from dcembed.sparse import times


@dataclass(frozen=True, eq=False)
class Solved:
    """The model around the point, the solution of its master, the penalty, and the state that knows of them.

    `is_funnelled` says that the model knows the curvature of the networks, and that what it is worth is judged in a funnel.
    """

    model: TangentModel
    solution: Solution
    penalty: Penalty
    state: State
    is_funnelled: bool


def solve_around(problem: Problem, workshop: Workshop, state: State) -> Solved:
    """Linearize the networks at the point, with their curvature if they have any, and solve the master in the box."""
    slope = slopes(problem.embedded, state.point.w) if state.slope is None else state.slope
    gradients = problem.embedded.gradients(slope)
    penalty = scaled_penalty(problem, state.point.w, slope, gradients, state.multipliers)
    tangents = _tangents(state.point, slope, gradients, bend(problem.embedded, state.point.w, state.row_multipliers))
    model = build_model(state.tangents, tangents, problem.embedded.restrictions, state.point.w, state.region.box)
    solution, rows = solve_master(problem, workshop, state, model, penalty)
    is_funnelled = tangents.bend is not None and needs_funnel(problem.embedded)
    if is_funnelled or (tangents.bend is not None and not _promises(problem, state, tangents, solution, penalty)):
        penalty = _sufficient(problem, solution, rows, penalty)
    known = replace(
        state,
        multipliers=(*state.multipliers, largest_multiplier(problem, solution, rows, penalty.value))[-NUM_REMEMBERED:],
        row_multipliers=row_multipliers(problem, solution),
        # Earlier tangents stand for kinks; where the curvature is known they would be in its way.
        tangents=remember(state.tangents, tangents) if tangents.bend is None else (),
        num_cuts=rows.num_made,
        needs_slack=uses_slack(problem, solution),
        slope=slope,
    )
    return Solved(model, solution, penalty, known, is_funnelled)


def _tangents(point: Point, slope: sp.csr_array, gradients: sp.csr_array, curve: Bend | None) -> Majorant:
    """The tangents of all measurements at a point, and how their weighted sum curves away from them."""
    return Majorant(slope, point.neural - times(slope, point.w), None, curve, gradients)


def _promises(problem: Problem, state: State, tangents: Majorant, solution: Solution, penalty: Penalty) -> bool:
    """Whether the solution is better than the point at this penalty.

    One that keeps all rows need not be. So it is at the optimum of the host: its gradient is zero there and says nothing about what the
    rows are worth.
    """
    if solution.x is None:
        return False
    return state.point.merit(penalty.value) > model_value(problem.subproblem, tangents, solution.x, penalty.value)


def _sufficient(problem: Problem, solution: Solution, rows: CutPool, penalty: Penalty) -> Penalty:
    """The penalty, raised to what the multipliers of a master ask for that keeps all rows."""
    if solution.x is None or solution.duals is None or uses_slack(problem, solution):
        return penalty
    asked = HEADROOM * largest_multiplier(problem, solution, rows, np.inf)
    return replace(penalty, value=min(max(penalty.value, asked), penalty.limit))
