"""How long a run goes on without finding anything better.

Work is counted in steps and starts, not in seconds: the same seed gives the same run on any machine.
"""

from __future__ import annotations

from dataclasses import dataclass

from dcembed.copies import replace
from dcembed.embedded.point import Point

# Starts in a row that may bring nothing better, and how many times the work that it took to find the best may.
MAX_FRUITLESS_STARTS = 20
MAX_FRUITLESS_WORK = 2
# Without a feasible point, a violation counts as better that is smaller by this factor.
LESS_VIOLATED = 0.9


@dataclass(frozen=True)
class Patience:
    """What has been done, and what had been done when the best was found.

    Parameters
    ----------
    num_starts, work
        Starts so far; their steps, each start counted as one more.
    best_start, best_work
        The start that found the best, counted from 0, and the work at its end.
    objective, violation
        Of the best: of the best feasible point, else infinite and the smallest violation.
    """

    num_starts: int = 0
    work: int = 0
    best_start: int = 0
    best_work: int = 0
    objective: float = float("inf")
    violation: float = float("inf")

    @property
    def num_fruitless(self) -> int:
        """Starts since the one that found the best."""
        return self.num_starts - 1 - self.best_start

    @property
    def is_over(self) -> bool:
        """Whether it is time to end."""
        return self.num_fruitless >= MAX_FRUITLESS_STARTS and self.work - self.best_work >= MAX_FRUITLESS_WORK * self.best_work

    @property
    def reason(self) -> str:
        """Why it is over, for a person."""
        return f"nothing better in {self.num_fruitless} starts since start {self.best_start}, with {self.work - self.best_work} steps after {self.best_work}"


def heard(patience: Patience, end: Point, best: Point | None, num_steps: int, objective_tol: float, is_new: bool = True) -> Patience:
    """After a start, new or taken up again, which ended at `end`, met the feasible point `best` (None for none) and made so many steps."""
    after = replace(patience, num_starts=patience.num_starts + is_new, work=patience.work + num_steps + is_new)
    if best is not None:
        is_better = best.objective < patience.objective - objective_tol * max(1.0, abs(best.objective))
        objective, violation = best.objective, 0.0
    else:
        is_better = end.violation < LESS_VIOLATED * patience.violation
        objective, violation = after.objective, end.violation
    if not is_better:
        return after
    return replace(after, objective=objective, violation=violation, best_start=after.num_starts - 1, best_work=after.work)
