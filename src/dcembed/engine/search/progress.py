"""How far the search has got: the starts that were made, and which of them was left."""

from __future__ import annotations

from dataclasses import dataclass, field

from dcembed.copies import replace
from dcembed.embedded.point import Point
from dcembed.engine.moves.chooser import Chooser
from dcembed.engine.moves.table import MOVES
from dcembed.engine.moves.verified import Verified
from dcembed.engine.outcome import Outcome, forget, is_forgotten, num_entries
from dcembed.engine.search.patience import Patience
from dcembed.run.room import KEPT_ENTRIES
from dcembed.run.starts import report
from dcembed.status import Status


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
        What each that has begun comes from.
    verified
        The best feasible points that differ.
    chooser
        What is known of the kinds of starts, among which a search chooses that is stalled.
    is_stalled
        Whether the usual starts have brought nothing better for long.
    is_dear
        Whether a start was left, with a feasible point, for what its masters of the whole problem took.
    has_taken_up
        Whether one was taken up again.
    """

    max_steps: int
    outcomes: tuple[Outcome, ...] = ()
    patience: Patience = field(default_factory=Patience)
    num_others: int = 0
    origins: tuple[str, ...] = ()
    verified: Verified = field(default_factory=Verified)
    chooser: Chooser = field(default_factory=lambda: Chooser(()))
    is_stalled: bool = False
    is_dear: bool = False
    has_taken_up: bool = False

    @property
    def num_begun(self) -> int:
        """Starts that have begun, those among them that are not over."""
        return len(self.origins)

    def without_others(self) -> Progress:
        """The progress without starts that have begun and are not over: nobody waits for them."""
        return replace(self, origins=self.origins[: len(self.outcomes)])

    @property
    def status(self) -> Status:
        """What the starts amount to."""
        return report(outcome.status for outcome in self.outcomes)

    @property
    def own(self) -> tuple[Outcome, ...]:
        """Outcomes of starts that were not made from points of others: what they agree on says something."""
        return tuple(outcome for outcome, origin in zip(self.outcomes, self.origins, strict=False) if origin not in MOVES)

    @property
    def best(self) -> Point | None:
        """The best feasible point of all starts."""
        met = [outcome.best for outcome in self.outcomes if outcome.best is not None]
        return min(met, key=lambda point: point.objective, default=None)

    @property
    def best_if_left(self) -> int | None:
        """The number of the best start, if it was left before it settled and is still known."""
        if not self.outcomes:
            return None
        number, outcome = min(enumerate(self.outcomes), key=lambda each: _rank(each[1]))
        return number if self.is_left(outcome) else None

    def is_left(self, outcome: Outcome) -> bool:
        """Whether a start could go on."""
        return outcome.status is Status.ITERATION_LIMIT and outcome.num_steps < self.max_steps and not is_forgotten(outcome)


def remembered(outcomes: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
    """The outcomes; where their points fill memory, those of all but the first start and the best ones without the columns of their points."""
    sizes = [num_entries(outcome) for outcome in outcomes]
    if sum(sizes) <= KEPT_ENTRIES:
        return outcomes
    # The first start is asked for its point, the last has just ended.
    order = sorted(range(1, len(outcomes)), key=lambda number: (number < len(outcomes) - 1, *_rank(outcomes[number])))
    room, kept = KEPT_ENTRIES - sizes[0], {0, *order[:2]}
    for number in order:
        room -= sizes[number]
        kept |= {number} if room >= 0 else set()
    return tuple(outcome if number in kept else forget(outcome) for number, outcome in enumerate(outcomes))


def _rank(outcome: Outcome) -> tuple[bool, float]:
    """Feasible starts by their objective, then the others by their violation."""
    return (False, outcome.best.objective) if outcome.best is not None else (True, outcome.point.violation)
