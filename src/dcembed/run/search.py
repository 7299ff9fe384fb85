"""What every run keeps, of the engine and of the baselines alike, and what it does with each point it meets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.point import Point, measure_point
from dcembed.errors import DcembedError
from dcembed.options import Options
from dcembed.result import Iteration, Sizes
from dcembed.run.clock import Clock
from dcembed.run.completion import HostProblem, can_complete, complete
from dcembed.run.incumbent import Incumbent
from dcembed.run.log import RunLog
from dcembed.solvers.base import Solution, SolveStatus

T = TypeVar("T")

# What a solver library may raise when it gives up; the iteration is lost, the run is not.
SOLVER_ERRORS = (RuntimeError, ValueError, ArithmeticError, OSError, MemoryError)


@dataclass(eq=False, kw_only=True)
class Search:
    """The problem, the clock, the best point and what happened so far.

    Parameters
    ----------
    embedded, host
        The problem as points are measured against it, and its host in a solver for completion.
    """

    embedded: EmbeddedProgram
    host: HostProblem
    options: Options
    clock: Clock
    log: RunLog
    incumbent: Incumbent
    history: list[Iteration] = field(default_factory=list)


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


def completed(search: Search, point: Point) -> Point | None:
    """The best point with the network inputs of `point` and true predictions, where that may be feasible and the solver finds it."""
    if not can_complete(search.embedded, point, search.options.feasibility_tol):
        return None
    w = attempt(lambda: complete(search.host, point, search.clock.limits()), lambda error: None)
    return measure_point(search.embedded, w) if w is not None and np.isfinite(w).all() else None


def record_iteration(
    search: Search,
    start: int,
    number: int,
    last: Point | None,
    candidate: Point | None,
    penalty: float,
    message: str,
    is_new: bool,
    is_hard: bool = False,
) -> None:
    """Add an iteration from `last` to `candidate` to the history, show it, and ask the callback whether to go on."""
    record = Iteration(
        start=start,
        number=number,
        seconds=search.clock.seconds,
        objective=candidate.objective if candidate else np.nan,
        violation=candidate.violation if candidate else np.inf,
        merit=candidate.merit(penalty) if candidate else np.nan,
        point_merit=last.merit(penalty) if last else np.nan,
        penalty=np.inf if is_hard else penalty,
        step=float(np.abs(candidate.w - last.w).max(initial=0.0)) if candidate and last else np.nan,
        solver_status=message,
        is_incumbent=is_new,
    )
    search.history.append(record)
    search.log.iteration(record, search.incumbent)
    if search.options.callback is not None and search.options.callback(record):
        search.clock.stop()
