"""Starts that have begun and are not over: here one after the other, elsewhere several at a time.

They are heard of in the order in which they have begun, whoever is done first, so that the search is the same however long each one takes;
better points that they meet count at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dcembed.copies import replace
from dcembed.crew.crew import GRACE_SECONDS, POLL_SECONDS, Errand, is_accident
from dcembed.crew.task import Missing, Shared
from dcembed.embedded.point import measure_point
from dcembed.engine.outcome import Outcome
from dcembed.engine.problem import Problem
from dcembed.engine.search.orders import Order, Report, failed, follow, follow_elsewhere
from dcembed.errors import DcembedError
from dcembed.run.journal import Journal

# How often a start is sent out at most, if the process that makes it dies.
MAX_TRIES = 3


@dataclass(frozen=True, eq=False)
class Begun:
    """A start that has begun: its order, and the errand on which it is, None for none; `seconds` is when that was sent."""

    order: Order
    errand: Errand | None = None
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class UnderWay:
    """Starts in the order in which they have begun."""

    shared: Shared
    journal: Journal
    queue: tuple[Begun, ...] = ()

    @property
    def problem(self) -> Problem:
        """The problem that all starts are of."""
        problem: Problem = self.shared.value
        return problem

    @property
    def numbers(self) -> list[int]:
        """Of the starts."""
        return [begun.order.steps.start for begun in self.queue]

    def begun(self, order: Order) -> UnderWay:
        """With one more start, which is sent out where somebody is there for it."""
        return replace(self, queue=(*self.queue, Begun(order))).sent_out()

    def sent_out(self) -> UnderWay:
        """With everything sent out that was not: others may have come."""
        crew = self.journal.crew
        if crew.is_alone or not crew.is_there() or not crew.can_send(self.shared):
            return self
        return replace(self, queue=tuple(begun if begun.errand is not None else self._send(begun) for begun in self.queue))

    def _send(self, begun: Begun) -> Begun:
        errand = self.journal.crew.send(follow_elsewhere, self.shared, (begun.order,), self.journal.clock)
        return replace(begun, errand=errand, seconds=self.journal.clock.seconds)

    def first(self) -> tuple[Order, Outcome, UnderWay]:
        """The start that has begun first, how it ended, and what is under way beside it."""
        begun, rest = self.queue[0], replace(self, queue=self.queue[1:])
        if begun.errand is not None:
            return begun.order, self._waited_for(begun, begun.errand), rest
        with rest.sending_out() as sent:
            outcome = follow(self.problem, begun.order, self.journal)
        return begun.order, outcome, sent[-1]

    @contextmanager
    def sending_out(self) -> Iterator[list[UnderWay]]:
        """While a start is made here: at each of its steps others are sent out, as soon as somebody is there. The last of the list is how it is now."""
        sent = [self]

        def meanwhile() -> None:
            sent[:] = [sent[-1].sent_out()]

        self.journal.meanwhile = meanwhile if self.queue and not self.journal.crew.is_alone else None
        try:
            yield sent
        finally:
            self.journal.meanwhile = None

    def _waited_for(self, begun: Begun, errand: Errand) -> Outcome:
        """The outcome of a start elsewhere; one that nobody brings to its end is made here, or given up if it ends its process."""
        journal = self.journal
        with journal.log.working("waiting"):
            report = self._report(errand)
        if isinstance(report, Report):
            begun.order.steps.number = report.num_steps
            journal.take_over(report.history, report.notes, begun.seconds)
            if report.outcome.backend is not None:
                journal.use(report.outcome.backend)
            return report.outcome
        if ended := journal.clock.ended():
            return replace(failed(self.problem, begun.order), status=ended)
        if report is None:
            journal.log.note(f"start {begun.order.steps.start}: its process has ended {MAX_TRIES} times; it is left out.")
            return failed(self.problem, begun.order)
        return follow(self.problem, begun.order, journal)

    def _report(self, errand: Errand) -> Report | Missing | None:
        """What comes back of a start: Missing for nothing that helps, None if it ends every process that makes it."""
        journal, crew, missing = self.journal, self.journal.crew, Missing("")
        deadline: float | None = None
        while deadline is None or time.monotonic() < deadline:
            self.hear()
            if deadline is None and journal.clock.ended() is not None:
                crew.exchange.stop()
                deadline = time.monotonic() + GRACE_SECONDS
            answer = crew.answer(errand, POLL_SECONDS)
            if isinstance(answer, Report):
                self.hear()
                return answer
            if answer is None:
                continue
            if isinstance(answer, DcembedError):
                raise answer
            if isinstance(answer, BaseException):
                crew.hear_of(answer)
                if not is_accident(answer):
                    # It happens here, too, or comes from there and does not matter.
                    return missing
            if errand.num_tries >= MAX_TRIES:
                return missing if isinstance(answer, Missing) else None
            again = crew.send_again(errand, journal.clock)
            if again is None:
                return missing
            errand = again
        self.hear()
        return missing

    def hear(self) -> None:
        """Take up the points that have been met elsewhere."""
        journal = self.journal
        orders = {begun.errand.number: begun.order for begun in self.queue if begun.errand is not None}
        for number, w in journal.crew.exchange.found():
            if w.shape == (journal.embedded.host.num_columns,):
                order = orders.get(number, self.queue[0].order if self.queue else None)
                if order is not None:
                    journal.work_on(order.origin, order.steps.start)
                journal.offer(measure_point(journal.embedded, w))

    def given_up(self) -> UnderWay:
        """Nobody waits for these any more; what they have met is kept."""
        for begun in self.queue:
            if begun.errand is not None:
                self.journal.crew.call_back(begun.errand)
        self.hear()
        return replace(self, queue=())
