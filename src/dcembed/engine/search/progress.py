"""How far the search has got: the starts that were made, and which of them was left."""

from __future__ import annotations

from dataclasses import dataclass, field

from dcembed.embedded.point import Point
from dcembed.engine.moves.chooser import Chooser
from dcembed.engine.moves.table import MOVES
from dcembed.engine.moves.verified import Verified
from dcembed.engine.outcome import Outcome
from dcembed.engine.search.patience import Patience
from dcembed.result import Status
from dcembed.run.starts import report


@dataclass(frozen=True, eq=False)
class Progress:
    """The starts that were made.

    Parameters
    ----------
    max_steps
        Steps that a start may make in all.
    outcomes
        How each has ended so far.
    patience
        What was done, and what had been done when the best was found.
    num_others
        Starts since one was taken up again.
    origins
        What each comes from.
    verified
        The best feasible points that differ.
    chooser
        What is known of the kinds of starts, among which a search chooses that is stalled.
    is_stalled
        Whether the usual starts have brought nothing better for long.
    """

    max_steps: int
    outcomes: tuple[Outcome, ...] = ()
    patience: Patience = field(default_factory=Patience)
    num_others: int = 0
    origins: tuple[str, ...] = ()
    verified: Verified = field(default_factory=Verified)
    chooser: Chooser = field(default_factory=lambda: Chooser(()))
    is_stalled: bool = False

    @property
    def status(self) -> Status:
        """What the starts amount to."""
        return report(outcome.status for outcome in self.outcomes)

    @property
    def own(self) -> tuple[Outcome, ...]:
        """Outcomes of starts that were not made from points of others: what they agree on says something."""
        return tuple(outcome for outcome, origin in zip(self.outcomes, self.origins, strict=True) if origin not in MOVES)

    @property
    def best(self) -> Point | None:
        """The best feasible point of all starts."""
        met = [outcome.best for outcome in self.outcomes if outcome.best is not None]
        return min(met, key=lambda point: point.objective, default=None)

    @property
    def best_if_left(self) -> int | None:
        """The number of the best start, if it was left before it settled."""
        if not self.outcomes:
            return None
        number, outcome = min(enumerate(self.outcomes), key=lambda each: _rank(each[1]))
        return number if self.is_left(outcome) else None

    def is_left(self, outcome: Outcome) -> bool:
        """Whether a start could go on."""
        return outcome.status is Status.ITERATION_LIMIT and outcome.num_steps < self.max_steps


def _rank(outcome: Outcome) -> tuple[bool, float]:
    """Feasible starts by their objective, then the others by their violation."""
    return (False, outcome.best.objective) if outcome.best is not None else (True, outcome.point.violation)
