"""The penalty convex-concave procedure (section 4.1 of the paper) from one starting point."""

from __future__ import annotations

from dcembed.embedded.measurements import Tangents, linearize
from dcembed.embedded.point import Point
from dcembed.engine.penalty import Penalty, initial_penalty
from dcembed.engine.run import Run, host_is_infeasible, record_step, reopen, take_candidate
from dcembed.engine.subproblem import limit_columns, solve, update
from dcembed.result import Status
from dcembed.run.search import agree
from dcembed.solvers.base import Solution, SolveStatus
from dcembed.solvers.failover import solve_or_switch
from dcembed.tolerances import MAX_SOLVER_FAILURES, STALLED_STEPS


def run_ccp(run: Run, point: Point, start: int) -> Status:
    """Iterate from `point` until a stopping rule holds; candidates go to `run.incumbent`."""
    options, incumbent = run.options, run.incumbent
    tangents = linearize(run.embedded, point.w)
    penalty = initial_penalty(options, run.embedded, point)
    best_of_start = point if incumbent.accepts(point) else None
    _limit_slacks(run, penalty)
    num_stalled = num_failed = 0
    for number in range(1, options.max_iterations + 1):
        if status := run.clock.ended():
            return status
        solution = solve_subproblem(run, point, tangents, penalty)
        if solution.status is SolveStatus.UNBOUNDED:
            record_step(run, start, number, point, None, penalty, solution, False)
            if penalty.is_largest:
                return Status.UNBOUNDED
            penalty = penalty.grown()
            continue
        if solution.status in (SolveStatus.TIME_LIMIT, SolveStatus.INTERRUPTED):
            record_step(run, start, number, point, None, penalty, solution, False)
            return run.clock.ended() or Status.TIME_LIMIT
        if solution.status is SolveStatus.INFEASIBLE and host_is_infeasible(run):
            return Status.HOST_INFEASIBLE

        candidate, is_new = take_candidate(run, solution, penalty)
        record_step(run, start, number, point, candidate, penalty, solution, is_new)
        if candidate is not None and incumbent.accepts(candidate):
            best_of_start = candidate if best_of_start is None or candidate.objective < best_of_start.objective else best_of_start
        if candidate is None or solution.status is SolveStatus.FAILED:
            num_failed += 1
            if num_failed == MAX_SOLVER_FAILURES:
                return Status.NUMERICAL_ERROR
            reopen(run, penalty)
            continue
        num_failed = 0
        if solution.status is not SolveStatus.OPTIMAL and (status := run.clock.ended()):
            return status

        # The model majorizes the merit, so only an inexact solve can make it worse; the point then stays.
        last, point = point, candidate if candidate.merit(penalty.value) <= point.merit(penalty.value) else point
        if incumbent.accepts(last) and incumbent.accepts(point) and agree(last.objective, point.objective, options):
            return Status.LOCALLY_SOLVED
        if not incumbent.accepts(point):
            stands = agree(last.merit(penalty.value), point.merit(penalty.value), options)
            num_stalled = num_stalled + 1 if stands and penalty.is_largest else 0
            if num_stalled == STALLED_STEPS:
                if best_of_start is None:
                    return Status.LOCALLY_INFEASIBLE
                # Feasible points were met on the way: from the best of them the restrictions alone, without slack, stay feasible.
                point, best_of_start, penalty = best_of_start, None, penalty.hardened()
                _limit_slacks(run, penalty)
            penalty = penalty.grown()
        tangents = linearize(run.embedded, point.w)
    return Status.ITERATION_LIMIT


def solve_subproblem(run: Run, point: Point, tangents: Tangents, penalty: Penalty) -> Solution:
    """Linearize at `point` and solve."""

    def once() -> Solution:
        update(run.subproblem, run.session, tangents, penalty.value)
        return solve(run.subproblem, run.session, run.clock.limits(), point)

    with run.log.working("solving the subproblem"):
        return solve_or_switch(run, once, lambda: _limit_slacks(run, penalty))


def _limit_slacks(run: Run, penalty: Penalty) -> None:
    limit_columns(run.subproblem, run.session, run.subproblem.host.lb, run.subproblem.host.ub, penalty.slack_ub)
