"""What the starts of one run of the engine share, and the steps that both loops are made of."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dcembed.embedded.point import Point, measure_point
from dcembed.engine.penalty import Penalty
from dcembed.engine.subproblem import Subproblem, limit_columns, open_session
from dcembed.run.completion import find_start
from dcembed.run.search import Search, attempt, completed, failure, record_iteration
from dcembed.solvers.base import Backend, Session, SessionOptions, Solution, SolveStatus

Array = np.ndarray


@dataclass(eq=False, kw_only=True)
class Run(Search):
    """A search whose steps are subproblems of one session."""

    backend: Backend
    session_options: SessionOptions
    subproblem: Subproblem
    session: Session
    # Points that a start has ended at; another start that meets one of them has nothing to add.
    solved: list[Array] = field(default_factory=list)


def take_candidate(run: Run, solution: Solution, penalty: Penalty) -> tuple[Point | None, bool]:
    """Measure the solver's point and offer it, completed where that helps; whether the incumbent improved."""
    if solution.x is None or not np.isfinite(solution.x).all():
        return None, False
    candidate = measure_point(run.embedded, solution.x[: run.embedded.host.num_columns])
    is_new = run.incumbent.offer(candidate, run.clock.seconds)
    better = completed(run, candidate)
    if better is not None:
        is_new |= run.incumbent.offer(better, run.clock.seconds)
        if run.incumbent.accepts(better) and better.merit(penalty.value) <= candidate.merit(penalty.value):
            candidate = better
    return candidate, is_new


def host_is_infeasible(run: Run) -> bool:
    """A subproblem has slacks on its neural rows, so it is infeasible only with the host; solvers err, so ask again."""
    return attempt(lambda: find_start(run.host, run.clock.limits()), failure).status is SolveStatus.INFEASIBLE


def reopen(run: Run, penalty: Penalty) -> None:
    """A fresh session after a failure."""
    run.session.close()
    run.session = open_session(run.subproblem, run.backend, run.session_options)
    limit_columns(run.subproblem, run.session, run.subproblem.host.lb, run.subproblem.host.ub, penalty.slack_ub)


def record_step(
    run: Run, start: int, number: int, last: Point, candidate: Point | None, penalty: Penalty, solution: Solution, is_new: bool
) -> None:
    """Note a subproblem: from `last` to what the solver made of it."""
    message = solution.message or solution.status.value
    record_iteration(run, start, number, last, candidate, penalty.value, message, is_new, penalty.is_hard)
