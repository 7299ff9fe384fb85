"""The convex-concave procedure on a cutting-plane model of the kept components.

At the current point the components H are linearized; the components G are known by their tangent cuts alone. A solution of this
model is a candidate like any other. If it improves the merit by a fair share of what the model promised, it becomes the current
point; if not, its cuts make the model better there. When the model promises nothing any more, the remedies are tried one after the
other, among them a smaller box (the split gets finer with it), until none is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.point import Point
from dcembed.engine.bundle.exact_master import has_small_networks
from dcembed.engine.bundle.master import MANY_INTEGERS
from dcembed.engine.bundle.remedies import remedy
from dcembed.engine.bundle.state import State, arrived, begin, redrawn
from dcembed.engine.bundle.step import SAME_POINT, BundleStep, Kind, take_step
from dcembed.engine.failure import Cure, judge
from dcembed.engine.outcome import Outcome, Walk, best_of
from dcembed.engine.problem import Problem
from dcembed.engine.region import LARGEST_RADIUS, runs_away
from dcembed.engine.workshop import Workshop
from dcembed.run.clock import RunEnded
from dcembed.solvers.base import Solution
from dcembed.status import Status

# How much smaller the box becomes after a solver has failed.
AFTER_FAILURE = 0.25


class Follower(Protocol):
    """Goes on from a point that the bundle has moved to, if that is worth it; and knows of it the next time."""

    def follow(self, point: Point) -> tuple[Walk, Follower] | None:
        """What came of it; None where all is left to the bundle."""
        ...


def run_bundle(
    problem: Problem, workshop: Workshop, start: Walk, settled: Sequence[Array] = (), follower: Follower | None = None
) -> Outcome:
    """Iterate until the model promises nothing and no remedy is left, or a choice is met on which an earlier start has `settled`."""
    clock = workshop.journal.clock
    try:
        state = begin(problem, start, clock)
    except RunEnded as ended:
        return Outcome(ended.status, start.point, best_of((start.point, start.best), problem.options.feasibility_tol))
    for _ in workshop.steps:
        if status := clock.ended():
            return Outcome(status, state.point, state.best)
        if runs_away(state.point.w, problem.box):
            return Outcome(Status.UNBOUNDED, state.point, state.best)
        if is_settled(problem, state.point.w, settled):
            return _settle(problem, state)
        taken = take_step(problem, workshop, state)
        workshop.record("bundle", state.point, taken.mastered.candidate, state.penalty, taken.mastered.solution)
        workshop.steps.num_pivots += taken.mastered.solution.num_pivots
        state = taken.state
        after: State | Status | None
        try:
            if taken.kind is Kind.MOVED and follower is not None and (followed := follower.follow(state.point)) is not None:
                walk, follower = followed
                state = arrived(problem, state, walk)
                after = walk.status or redrawn(problem, state, state.model.region.radius, clock)
            else:
                after = _go_on(problem, workshop, taken)
        except RunEnded as ended:
            after = ended.status
        after = _unless_dear(workshop, after)
        if isinstance(after, Status):
            return Outcome(after, state.point, state.best)
        if after is None:
            return _settle(problem, state)
        state = after
    return Outcome(Status.ITERATION_LIMIT, state.point, state.best)


def _go_on(problem: Problem, workshop: Workshop, taken: BundleStep) -> State | Status | None:
    """Where to go on after a step, or why the start ends; None where its point is settled."""
    state, solution = taken.state, taken.mastered.solution
    if taken.kind is Kind.FAILED:
        return _cope(problem, workshop, state, solution)
    if taken.kind is not Kind.STUCK:
        return state
    after = remedy(problem, state, solution.gap, workshop.journal.clock)
    return Status.ITERATION_LIMIT if after is not None and workshop.steps.is_brief and _takes_long(problem, state, after) else after


def _unless_dear(workshop: Workshop, after: State | Status | None) -> State | Status | None:
    """Where to go on; a start that has met a feasible point is left where its masters have taken more than they may."""
    is_left = isinstance(after, State) and after.best is not None and workshop.steps.is_dear
    return Status.ITERATION_LIMIT if is_left else after


def _takes_long(problem: Problem, before: State, after: State) -> bool:
    """Whether the next master takes longer than all that came before it together: one with exact units, or one with many integers to a smaller gap."""
    if after.max_exact:
        return True
    is_tighter = after.model.gap < before.model.gap and before.best is not None
    # Neighbourhoods with exact units do more there.
    return is_tighter and not problem.is_narrow and problem.embedded.host.num_integers > MANY_INTEGERS and has_small_networks(problem)


def is_settled(problem: Problem, w: Array, settled: Sequence[Array]) -> bool:
    """Whether an earlier start has ended with the same integers and network inputs: what is left is convex, and done."""
    if not len(settled):
        return False
    decided = problem.embedded.host.integer.copy()
    decided[problem.embedded.input_columns] = True
    # A long search has settled thousands of points.
    others = np.array(settled)[:, decided]
    return bool((np.abs(w[decided] - others) <= SAME_POINT + SAME_POINT * np.abs(others)).all(axis=1).any())


def _cope(problem: Problem, workshop: Workshop, state: State, solution: Solution) -> State | Status:
    """After a solution that is of no use."""
    may_widen, clock = not state.model.region.is_full, workshop.journal.clock
    verdict = judge(solution, state.penalty, state.num_failed, may_widen, lambda: workshop.host_is_infeasible(state.point), clock)
    if isinstance(verdict, Status):
        return verdict
    if verdict is Cure.GROW:
        return replace(state, penalty=state.penalty.grown())
    if verdict is Cure.WIDEN:
        # A start that violates the host's own rows may have none of its points nearby.
        return redrawn(problem, state, LARGEST_RADIUS, clock)
    workshop.master.reopen()
    # A smaller box has less curvature and gentler cuts.
    return redrawn(problem, replace(state, num_failed=state.num_failed + 1), AFTER_FAILURE * state.model.region.radius, clock)


def _settle(problem: Problem, state: State) -> Outcome:
    feasible = state.point.is_feasible(problem.options.feasibility_tol)
    return Outcome(Status.LOCALLY_SOLVED if feasible else Status.LOCALLY_INFEASIBLE, state.point, state.best)
