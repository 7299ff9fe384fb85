"""What is done when a solver gives no usable solution: one policy for every loop."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from dcembed.run.clock import Clock
from dcembed.run.penalty import Penalty
from dcembed.solvers.base import Solution, SolveStatus
from dcembed.status import Status
from dcembed.tolerances import MAX_SOLVER_FAILURES

USABLE = (SolveStatus.OPTIMAL, SolveStatus.FEASIBLE)


class Cure(Enum):
    """What a loop does before it solves again."""

    GROW = "a larger penalty"
    WIDEN = "the whole box: the host may have no point in this one"
    REOPEN = "a fresh session, and a smaller box if there is one"


def judge(
    solution: Solution, penalty: Penalty, num_failed: int, may_widen: bool, host_is_infeasible: Callable[[], bool], clock: Clock
) -> Status | Cure:
    """How the start ends, or what to try, after a solution that is of no use; `num_failed` others came right before."""
    if solution.status in (SolveStatus.TIME_LIMIT, SolveStatus.INTERRUPTED):
        return clock.ended() or Status.TIME_LIMIT
    if solution.status is SolveStatus.UNBOUNDED:
        return Status.UNBOUNDED if penalty.is_largest else Cure.GROW
    if solution.status is SolveStatus.INFEASIBLE:
        if host_is_infeasible():
            return Status.HOST_INFEASIBLE
        if may_widen:
            return Cure.WIDEN
    return Status.NUMERICAL_ERROR if num_failed + 1 >= MAX_SOLVER_FAILURES else Cure.REOPEN
