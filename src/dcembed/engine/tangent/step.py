"""One tangent step: a master on the tangents, a search towards what is not feasible, a correction where that brings little."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from dcembed.embedded.measurements import slopes
from dcembed.embedded.point import Point
from dcembed.engine.cuts import CutPool
from dcembed.engine.failure import USABLE
from dcembed.engine.outcome import best_of
from dcembed.engine.problem import Problem
from dcembed.engine.segment import search_segment
from dcembed.engine.subproblem import Bend, Majorant, model_value
from dcembed.engine.tangent.curvature import bend, row_multipliers
from dcembed.engine.tangent.master import solve_master, uses_slack
from dcembed.engine.tangent.memory import TangentModel, build_model, remember
from dcembed.engine.tangent.multipliers import HEADROOM, NUM_REMEMBERED, largest_multiplier, scaled_penalty
from dcembed.engine.tangent.state import State
from dcembed.engine.workshop import Workshop, take_candidate
from dcembed.run.penalty import Penalty
from dcembed.solvers.base import Solution

# A correction goes beyond what the tangents missed by this share of the excess, so that it more often ends on the right side.
OVERSHOOT = 0.1
# Where the way to the solution brings this share of the promise, the next tangents are worth more than a correction of these.
ENOUGH = 0.5


@dataclass(frozen=True, eq=False)
class Tried:
    """A step that was tried: what the solver said, the candidate, what was promised and what it brings, at a penalty."""

    solution: Solution
    candidate: Point | None
    penalty: Penalty
    promise: float
    improvement: float
    state: State


def try_step(problem: Problem, workshop: Workshop, state: State) -> Tried:
    """Solve the master around the point; where its solution fails a neural row, and the way there brings little, with the rows shifted too."""
    slope = slopes(problem.embedded, state.point.w)
    penalty = scaled_penalty(problem, state.point.w, slope, state.multipliers)
    tangents = _tangents(state.point, slope, bend(problem.embedded, state.point.w, state.row_multipliers))
    model = build_model(state.tangents, tangents, problem.embedded.restrictions, state.point.w, state.region.box)
    solution, rows = solve_master(problem, workshop, state, model, penalty)
    penalty = _sufficient(problem, state, tangents, solution, rows, penalty)
    tau = penalty.value
    candidate, met = take_candidate(problem, workshop, solution, penalty)
    state = replace(
        state,
        multipliers=(*state.multipliers, largest_multiplier(problem, solution, rows, tau))[-NUM_REMEMBERED:],
        tangents=() if tangents.bend is not None else remember(state.tangents, tangents),
        row_multipliers=row_multipliers(problem, solution),
        num_cuts=rows.num_made,
        needs_slack=uses_slack(problem, solution),
    )
    if candidate is None or solution.x is None or solution.status not in USABLE:
        return Tried(solution, None, penalty, np.nan, np.nan, state)
    promise = state.point.merit(tau) - model_value(problem.subproblem, tangents, solution.x, tau)
    tol = problem.options.feasibility_tol
    found = search_segment(problem, workshop, best_of((state.best, *met), tol), candidate, tau)
    if candidate.slack.max(initial=0.0) > tol and state.point.merit(tau) - found.merit(tau) < ENOUGH * promise:
        corrected, more = _correct(problem, workshop, state, model, candidate, penalty)
        met = (*met, found, *more)
        if corrected is not None and corrected.merit(tau) < candidate.merit(tau):
            further = search_segment(problem, workshop, best_of((state.best, *met), tol), corrected, tau)
            found = min(found, further, key=lambda point: point.merit(tau))
    best = best_of((state.best, *met, found), tol)
    improvement = state.point.merit(tau) - found.merit(tau)
    return Tried(solution, found, penalty, promise, improvement, replace(state, best=best))


def _sufficient(problem: Problem, state: State, tangents: Majorant, solution: Solution, rows: CutPool, penalty: Penalty) -> Penalty:
    """The penalty, raised to what the master's multipliers ask for where a solution that keeps all rows is no promise without.

    So it is at the optimum of the host: its gradient is zero there and says nothing about what the rows are worth.
    """
    if solution.x is None or solution.duals is None or uses_slack(problem, solution):
        return penalty
    if state.point.merit(penalty.value) > model_value(problem.subproblem, tangents, solution.x, penalty.value):
        return penalty
    asked = HEADROOM * largest_multiplier(problem, solution, rows, np.inf)
    return replace(penalty, value=min(max(penalty.value, asked), penalty.limit))


def _tangents(point: Point, slope: sp.csr_array, curve: Bend | None) -> Majorant:
    """The tangents of all measurements at a point, and how their weighted sum curves away from them."""
    return Majorant(slope, point.neural - slope @ point.w, None, curve)


def _correct(
    problem: Problem, workshop: Workshop, state: State, model: TangentModel, candidate: Point, penalty: Penalty
) -> tuple[Point | None, tuple[Point, ...]]:
    """The second-order correction: every neural row is shifted by what its tangent missed at the candidate, and by a share of its excess."""
    tangents = model.current
    missed = candidate.neural - (tangents.slope @ candidate.w + tangents.constant)
    if missed[1:].max() <= problem.options.feasibility_tol:
        return None, ()
    shifted = model.shifted(np.concatenate([[0.0], missed[1:] + OVERSHOOT * candidate.excess]))
    solution, _ = solve_master(problem, workshop, state, shifted, penalty)
    return take_candidate(problem, workshop, solution, penalty)
