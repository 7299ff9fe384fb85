"""A trust-region sequential method on plain tangents.

Value and gradient of a network are one forward and one backward pass, and the master has the size of the host. A step is taken when
the merit falls by some share of what the tangents promise; the box grows with steps that hit it and keep their promise, and shrinks
with those that bring too little of it. The walk ends where the tangents promise nothing, or where they have promised too much several times
in a row: there are kinks, and what is left is for a model that knows them.
"""

from __future__ import annotations

import numpy as np

from dcembed.copies import replace
from dcembed.embedded.point import Point
from dcembed.engine.outcome import Walk
from dcembed.engine.problem import Problem
from dcembed.engine.region import LARGEST_RADIUS, Region, runs_away
from dcembed.engine.tangent.problem import tangent_problem
from dcembed.engine.tangent.settled import Look, look
from dcembed.engine.tangent.state import SMALLEST_RADIUS, State, begin
from dcembed.engine.tangent.step import try_step
from dcembed.engine.tangent.tried import Tried
from dcembed.engine.workshop import Workshop, open_part
from dcembed.run.clock import Clock
from dcembed.solvers.base import SolveStatus
from dcembed.status import Status

# A step is taken if it brings more than the poor share of the promise. The box shrinks if it does not bring the fair one, and may grow if it
# brings the good one.
POOR_SHARE, FAIR_SHARE, GOOD_SHARE = 0.05, 0.25, 0.5
GROWTH, SHRINKAGE = 2.0, 0.3
# A promise below this, relative to max(1, |F|), is none.
PROMISE_TOL = 1e-8
# Steps in a row that are not taken before the walk ends.
MAX_REJECTED = 2
# A model that knows the curvature comes true in a box that is small enough.
MAX_REJECTED_CURVED = 8


def run_tangents(problem: Problem, workshop: Workshop, start: Point, radius: float = np.inf) -> Walk:
    """Walk from a point, with its integers held and a first box no larger than `radius`, until the tangents promise nothing they keep."""
    held, is_given = tangent_problem(problem, start.w), workshop.steps.number == 0 or workshop.steps.is_on_foot
    with open_part(held, workshop) as own:
        return _walk(held, own, begin(held, start, radius, is_given))


def _walk(problem: Problem, workshop: Workshop, state: State) -> Walk:
    clock = workshop.journal.clock
    for _ in workshop.steps:
        if status := clock.ended():
            return _end(problem, state, status)
        tried = try_step(problem, workshop, state)
        workshop.record("tangent", state.point, tried.candidate, tried.penalty, tried.solution)
        looked = look(problem, tried) if problem.options.search == "local" else Look(False)
        if looked.is_settled:
            return Walk(tried.state.best or state.point, tried.state.best, state.fruitful_radius, Status.LOCALLY_SOLVED)
        after: State | Status | None
        after = _cope(tried, clock) if tried.candidate is None else _advance(tried, tried.candidate)
        if not isinstance(after, State):
            return _end(problem, tried.state, after)
        state = replace(after, slope=looked.slope) if after.point is tried.candidate else after
        if runs_away(state.point.w, problem.box):
            return _end(problem, state, Status.UNBOUNDED)
    return _end(problem, state, Status.ITERATION_LIMIT)


def _end(problem: Problem, state: State, status: Status | None) -> Walk:
    best = None if state.point.is_feasible(problem.options.feasibility_tol) else state.best
    return Walk(best or state.point, state.best, state.fruitful_radius, status)


def _advance(tried: Tried, candidate: Point) -> State | None:
    """The next point and box; None where nothing is left for the tangents to gain."""
    state, region = tried.state, tried.state.region
    if state.is_outside:
        # Merits of points outside of the host say nothing; masters are inside.
        return replace(state, point=candidate, region=region.around(candidate.w, region.radius), is_outside=False, slope=None)
    if tried.promise <= PROMISE_TOL * max(1.0, abs(state.point.objective)):
        return None
    radius = _next_radius(tried, candidate)
    if tried.improvement > POOR_SHARE * tried.promise:
        around = region.around(candidate.w, radius)
        return replace(state, point=candidate, region=around, fruitful_radius=region.radius, num_rejected=0, slope=None)
    most = MAX_REJECTED_CURVED if tried.is_funnelled else MAX_REJECTED
    if radius < SMALLEST_RADIUS or state.num_rejected + 1 == most:
        return None
    return replace(state, region=region.around(state.point.w, radius), num_rejected=state.num_rejected + 1)


def _next_radius(tried: Tried, candidate: Point) -> float:
    """Larger where the box was in the way of a good step, smaller after one that was not fair."""
    region = tried.state.region
    if tried.improvement <= FAIR_SHARE * tried.promise:
        return SHRINKAGE * min(region.radius, _length(region, candidate, tried.state.point) or region.radius)
    grows = region.is_hit(candidate.w) and tried.improvement >= GOOD_SHARE * tried.promise
    return GROWTH * region.radius if grows else region.radius


def _length(region: Region, candidate: Point, point: Point) -> float:
    """The largest step of a column in its range."""
    columns = region.columns
    return float((np.abs(candidate.w - point.w)[columns] / region.width).max(initial=0.0))


def _cope(tried: Tried, clock: Clock) -> State | Status | None:
    """After a solution that is of no use: tangents are for what is easy, the rest of the start can do without them."""
    state, solution = tried.state, tried.solution
    if solution.status in (SolveStatus.TIME_LIMIT, SolveStatus.INTERRUPTED):
        return clock.ended() or Status.TIME_LIMIT
    if solution.status is SolveStatus.INFEASIBLE and not state.region.is_full:
        # A start that violates the host's own rows may have none of its points nearby.
        return replace(state, region=state.region.around(state.point.w, LARGEST_RADIUS))
    return None
