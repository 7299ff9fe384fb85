"""The convex-concave procedure on a cutting-plane model of the kept components.

At the current point the components H are linearized; the components G are known by their tangent cuts alone. A solution of this
model is a candidate like any other. If it improves the merit by a fair share of what the model promised, it becomes the current
point; if not, its cuts make the model better there. When the model promises nothing any more, the remedies are tried one after the
other, among them a smaller box (the split gets finer with it), until none is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.point import Point
from dcembed.engine.bundle.region import LARGEST_RADIUS
from dcembed.engine.bundle.remedies import remedy
from dcembed.engine.bundle.state import State, begin, redrawn
from dcembed.engine.bundle.step import SAME_POINT, Kind, take_step
from dcembed.engine.failure import Cure, judge
from dcembed.engine.outcome import Outcome
from dcembed.engine.problem import Problem
from dcembed.engine.workshop import Workshop
from dcembed.result import Status
from dcembed.solvers.base import Solution

# How much smaller the box becomes after a solver has failed.
AFTER_FAILURE = 0.25


def run_bundle(problem: Problem, workshop: Workshop, start: Point, number: int, settled: Sequence[Array] = ()) -> Outcome:
    """Iterate until the model promises nothing and no remedy is left, or a point is met where an earlier start has `settled`."""
    clock = workshop.journal.clock
    state = begin(problem, start)
    for iteration in range(1, problem.options.max_iterations + 1):
        if status := clock.ended():
            return Outcome(status, state.point, state.best)
        if any(np.allclose(state.point.w, w, rtol=SAME_POINT, atol=SAME_POINT) for w in settled):
            return _settle(problem, state)
        taken = take_step(problem, workshop, state)
        solution = taken.mastered.solution
        workshop.record(number, iteration, state.point, taken.mastered.candidate, state.penalty, solution)
        state = taken.state
        if taken.kind is Kind.FAILED:
            after = _cope(problem, workshop, state, solution)
            if isinstance(after, Status):
                return Outcome(after, state.point, state.best)
            state = after
        elif taken.kind is Kind.STUCK:
            remedied = remedy(problem, state, solution.gap, clock)
            if remedied is None:
                return _settle(problem, state)
            state = remedied
    return Outcome(Status.ITERATION_LIMIT, state.point, state.best)


def _cope(problem: Problem, workshop: Workshop, state: State, solution: Solution) -> State | Status:
    """After a solution that is of no use."""
    may_widen = not state.model.region.is_full
    verdict = judge(solution, state.penalty, state.num_failed, may_widen, workshop.host_is_infeasible, workshop.journal.clock)
    if isinstance(verdict, Status):
        return verdict
    if verdict is Cure.GROW:
        return replace(state, penalty=state.penalty.grown())
    if verdict is Cure.WIDEN:
        # A start that violates the host's own rows may have none of its points nearby.
        return redrawn(problem, state, LARGEST_RADIUS)
    workshop.master.reopen()
    # A smaller box has less curvature and gentler cuts.
    return redrawn(problem, replace(state, num_failed=state.num_failed + 1), AFTER_FAILURE * state.model.region.radius)


def _settle(problem: Problem, state: State) -> Outcome:
    feasible = state.point.is_feasible(problem.options.feasibility_tol)
    return Outcome(Status.LOCALLY_SOLVED if feasible else Status.LOCALLY_INFEASIBLE, state.point, state.best)
