"""What the starts of one run share, and the steps that both loops are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from dcembed.engine.completion import HostProblem, can_complete, complete, find_start
from dcembed.engine.incumbent import Incumbent
from dcembed.engine.interrupt import Clock
from dcembed.engine.log import RunLog
from dcembed.engine.penalty import Penalty
from dcembed.engine.point import Point, measure_point
from dcembed.engine.subproblem import Subproblem, limit_columns, open_session
from dcembed.errors import DcembedError
from dcembed.options import Options
from dcembed.program.elimination import EmbeddedProgram
from dcembed.result import Iteration, Sizes, Status
from dcembed.solvers.base import Backend, Session, SessionOptions, Solution, SolveStatus

Array = np.ndarray
T = TypeVar("T")

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
    # Points that a start has ended at; another start that meets one of them has nothing to add.
    solved: list[Array] = field(default_factory=list)


def ended(run: Run) -> Status | None:
    """Why the run must end now, if it must."""
    return run.clock.ended()


def count_sizes(embedded: EmbeddedProgram, added_columns: int, added_rows: int, slacks: int = 0, added_binaries: int = 0) -> Sizes:
    """What the problem has, and what a method adds to it."""
    return Sizes(
        host_columns=embedded.program.num_columns,
        host_rows=embedded.program.num_rows,
        integers=embedded.program.num_integers,
        networks=len(embedded.networks),
        evaluations=sum(measured.num_blocks for measured in embedded.networks),
        hidden_units=sum(measured.num_blocks * measured.network.num_hidden for measured in embedded.networks),
        neural_rows=embedded.restrictions.num_restrictions,
        added_columns=added_columns,
        added_rows=added_rows,
        slacks=slacks,
        added_binaries=added_binaries,
    )


def agree(one: float, other: float, options: Options) -> bool:
    """Whether two objectives are the same to the objective tolerance."""
    return abs(one - other) <= options.objective_tol * max(1.0, abs(one))


def attempt(solve: Callable[[], T], failed: Callable[[Exception], T]) -> T:
    """The result of a solve, or of `failed` if the solver broke down; mistakes of the user are raised."""
    try:
        return solve()
    except DcembedError:
        raise
    except SOLVER_ERRORS as error:
        return failed(error)


def failure(error: Exception) -> Solution:
    """A solver's exception as an answer."""
    return Solution(SolveStatus.FAILED, None, f"{type(error).__name__}: {error}")


def take_candidate(run: Run, solution: Solution, penalty: Penalty) -> tuple[Point | None, bool]:
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
    w = attempt(lambda: complete(run.host, candidate, run.clock.limits()), lambda error: None)
    return measure_point(run.embedded, w) if w is not None and np.isfinite(w).all() else None


def host_is_infeasible(run: Run) -> bool:
    """A subproblem has slacks on its neural rows, so it is infeasible only with the host; solvers err, so ask again."""
    return attempt(lambda: find_start(run.host, run.clock.limits()), failure).status is SolveStatus.INFEASIBLE


def reopen(run: Run, penalty: Penalty) -> None:
    """A fresh session after a failure."""
    run.session.close()
    run.session = open_session(run.subproblem, run.backend, run.session_options)
    limit_columns(run.subproblem, run.session, run.subproblem.host.lb, run.subproblem.host.ub, penalty.slack_ub)


def record_iteration(
    run: Run, start: int, number: int, last: Point, candidate: Point | None, penalty: Penalty, solution: Solution, is_new: bool
) -> None:
    """Add a subproblem to the history, show it, and ask the callback whether to go on."""
    record = Iteration(
        start=start,
        number=number,
        seconds=run.clock.seconds,
        objective=candidate.objective if candidate else np.nan,
        violation=candidate.violation if candidate else np.inf,
        merit=candidate.merit(penalty.value) if candidate else np.nan,
        point_merit=last.merit(penalty.value),
        penalty=np.inf if penalty.is_hard else penalty.value,
        step=float(np.abs(candidate.w - last.w).max(initial=0.0)) if candidate else np.nan,
        solver_status=solution.message or solution.status.value,
        is_incumbent=is_new,
    )
    run.history.append(record)
    run.log.iteration(record, run.incumbent)
    if run.options.callback is not None and run.options.callback(record):
        run.clock.stop()
