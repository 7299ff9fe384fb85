"""The penalty convex-concave procedure (section 4.1 of the paper) from one starting point."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dcembed.engine.completion import HostProblem, can_complete, complete, find_start
from dcembed.engine.incumbent import Incumbent
from dcembed.engine.interrupt import Clock
from dcembed.engine.log import RunLog
from dcembed.engine.penalty import Penalty, initial_penalty
from dcembed.engine.point import Point, measure_point
from dcembed.engine.subproblem import Subproblem, limit_slacks, open_session, solve, update
from dcembed.options import Options
from dcembed.program.elimination import EmbeddedProgram
from dcembed.program.measurements import linearize
from dcembed.result import Iteration, Status
from dcembed.solvers.base import Backend, Session, SessionOptions, Solution, SolveStatus
from dcembed.tolerances import MAX_SOLVER_FAILURES, STALLED_STEPS

# What a solver library may raise when it gives up; the iteration is lost, the run is not.
SOLVER_ERRORS = (RuntimeError, ValueError, ArithmeticError, OSError, MemoryError)


@dataclass(eq=False)
class Run:
    """What the starts of one run share."""

    embedded: EmbeddedProgram
    options: Options
    backend: Backend
    session_options: SessionOptions
    subproblem: Subproblem
    session: Session
    host: HostProblem
    clock: Clock
    log: RunLog
    incumbent: Incumbent
    history: list[Iteration] = field(default_factory=list)


def run_ccp(run: Run, point: Point, start: int) -> Status:
    """Iterate from `point` until a stopping rule holds; candidates go to `run.incumbent`."""
    options, incumbent = run.options, run.incumbent
    tangents = linearize(run.embedded, point.w)
    penalty = initial_penalty(options, run.embedded, point, tangents)
    best_of_start = point if incumbent.accepts(point) else None
    limit_slacks(run.subproblem, run.session, np.inf)
    num_stalled = num_failed = 0
    for number in range(1, options.max_iterations + 1):
        if ended := _ended(run):
            return ended
        solution = _solve_subproblem(run, point, tangents, penalty)
        if solution.status is SolveStatus.UNBOUNDED:
            _record(run, start, number, point, None, penalty, solution, False)
            if penalty.is_largest:
                return Status.UNBOUNDED
            penalty = penalty.grown()
            continue
        if solution.status in (SolveStatus.TIME_LIMIT, SolveStatus.INTERRUPTED):
            _record(run, start, number, point, None, penalty, solution, False)
            return _ended(run) or Status.TIME_LIMIT
        if solution.status is SolveStatus.INFEASIBLE and _host_is_infeasible(run):
            return Status.HOST_INFEASIBLE

        candidate, is_new = _take_candidate(run, solution, penalty)
        _record(run, start, number, point, candidate, penalty, solution, is_new)
        if candidate is not None and incumbent.accepts(candidate):
            best_of_start = candidate if best_of_start is None or candidate.objective < best_of_start.objective else best_of_start
        if candidate is None or solution.status is SolveStatus.FAILED:
            num_failed += 1
            if num_failed == MAX_SOLVER_FAILURES:
                return Status.NUMERICAL_ERROR
            _reopen(run, penalty)
            continue
        num_failed = 0
        if solution.status is not SolveStatus.OPTIMAL and (ended := _ended(run)):
            return ended

        # The model majorizes the merit, so only an inexact solve can make it worse; the point then stays.
        last, point = point, candidate if candidate.merit(penalty.value) <= point.merit(penalty.value) else point
        if incumbent.accepts(last) and incumbent.accepts(point) and _agree(last.objective, point.objective, options):
            return Status.LOCALLY_SOLVED
        if not incumbent.accepts(point):
            stands = _agree(last.merit(penalty.value), point.merit(penalty.value), options)
            num_stalled = num_stalled + 1 if stands and penalty.is_largest else 0
            if num_stalled == STALLED_STEPS:
                if best_of_start is None:
                    return Status.LOCALLY_INFEASIBLE
                # Feasible points were met on the way: from the best of them the restrictions alone, without slack, stay feasible.
                point, best_of_start, penalty = best_of_start, None, penalty.hardened()
                limit_slacks(run.subproblem, run.session, 0.0)
            penalty = penalty.grown()
        tangents = linearize(run.embedded, point.w)
    return Status.ITERATION_LIMIT


def _ended(run: Run) -> Status | None:
    if run.clock.is_stopped:
        return Status.INTERRUPTED
    return Status.TIME_LIMIT if run.clock.is_over else None


def _agree(one: float, other: float, options: Options) -> bool:
    return abs(one - other) <= options.objective_tol * max(1.0, abs(one))


def _solve_subproblem(run: Run, point: Point, tangents, penalty: Penalty) -> Solution:
    try:
        update(run.subproblem, run.session, tangents, penalty.value)
        with run.log.working("solving the subproblem"):
            return solve(run.subproblem, run.session, run.clock.limits(), point)
    except SOLVER_ERRORS as error:
        return Solution(SolveStatus.FAILED, None, f"{type(error).__name__}: {error}")


def _take_candidate(run: Run, solution: Solution, penalty: Penalty) -> tuple[Point | None, bool]:
    """Measure the solver's point and offer it, completed where that helps; whether the incumbent improved."""
    if solution.x is None or not np.isfinite(solution.x).all():
        return None, False
    candidate = measure_point(run.embedded, solution.x[: run.embedded.host.num_columns])
    is_new = run.incumbent.offer(candidate, run.clock.seconds)
    if can_complete(run.embedded, candidate, run.options.feasibility_tol):
        completed = _completed(run, candidate)
        if completed is not None:
            is_new |= run.incumbent.offer(completed, run.clock.seconds)
            if run.incumbent.accepts(completed) and completed.merit(penalty.value) <= candidate.merit(penalty.value):
                candidate = completed
    return candidate, is_new


def _completed(run: Run, candidate: Point) -> Point | None:
    try:
        w = complete(run.host, candidate, run.clock.limits())
    except SOLVER_ERRORS:
        return None
    return measure_point(run.embedded, w) if w is not None and np.isfinite(w).all() else None


def _host_is_infeasible(run: Run) -> bool:
    """A subproblem has slacks on its neural rows, so it is infeasible only with the host; solvers err, so ask again."""
    try:
        return find_start(run.host, run.clock.limits()).status is SolveStatus.INFEASIBLE
    except SOLVER_ERRORS:
        return False


def _reopen(run: Run, penalty: Penalty) -> None:
    run.session.close()
    run.session = open_session(run.subproblem, run.backend, run.session_options)
    limit_slacks(run.subproblem, run.session, 0.0 if penalty.is_hard else np.inf)


def _record(
    run: Run, start: int, number: int, last: Point, candidate: Point | None, penalty: Penalty, solution: Solution, is_new: bool
) -> None:
    record = Iteration(
        start=start,
        number=number,
        seconds=run.clock.seconds,
        objective=candidate.objective if candidate else np.nan,
        violation=candidate.violation if candidate else np.inf,
        merit=candidate.merit(penalty.value) if candidate else np.nan,
        penalty=np.inf if penalty.is_hard else penalty.value,
        step=float(np.abs(candidate.w - last.w).max(initial=0.0)) if candidate else np.nan,
        solver_status=solution.message or solution.status.value,
        is_incumbent=is_new,
    )
    run.history.append(record)
    run.log.iteration(record, run.incumbent)
    if run.options.callback is not None and run.options.callback(record):
        run.clock.stop()
