"""The search over starts: one after the other, or several at a time, until it ends."""

from __future__ import annotations

from collections.abc import Callable

from dcembed.copies import replace
from dcembed.engine.problem import Problem
from dcembed.engine.search.ending import Ending, find_ending
from dcembed.engine.search.ground import Search, choose_among, open_search
from dcembed.engine.search.hearing import hear
from dcembed.engine.search.orders import Order
from dcembed.engine.search.progress import Progress
from dcembed.engine.search.turns import next_turn, taking_up
from dcembed.engine.search.under_way import UnderWay
from dcembed.result import show_count
from dcembed.run.journal import Journal

# Where a bound is asked for, it is tried to close the gap after so many starts.
ATTEMPTED = 2


def search(problem: Problem, journal: Journal, attempt: Callable[[], None] | None = None) -> Ending:
    """Run from start after start until one of the endings is reached.

    `attempt` tries to prove that the best point is optimal. Where that is so, then or after a later start, the search is over.
    """
    with open_search(problem, journal) as here:
        progress, under_way = Progress(problem.options.max_iterations, chooser=choose_among(here)), UnderWay(here.shared, journal)
        dry: Ending | None = None
        while True:
            if attempt is not None and len(progress.outcomes) == ATTEMPTED and progress.num_others:
                attempt()
            if journal.is_closed and progress.outcomes:
                return Ending(progress.status, f"the bound is reached after {show_count(len(progress.outcomes), 'start')}", is_final=True)
            ending = find_ending(problem.options, progress, here.num_first, problem.box, journal.clock)
            if ending is not None:
                progress, under_way = progress.without_others(), under_way.given_up()
            elif dry is None:
                progress, under_way, dry = _begin(here, progress, under_way)
            if not under_way.queue:
                ending = ending or dry
                assert ending is not None
                last = None if ending.is_final else taking_up(progress, progress.max_steps)
                if last is None:
                    return replace(ending, hint=here.columns.hint() if here.columns is not None and problem.options.prove else None)
                under_way, dry = under_way.begun(last), None
            order, outcome, under_way = under_way.first()
            progress = hear(here, progress, order, outcome)
            # What was found dry may be so no longer, now that more is known.
            dry = dry if here.is_one_pass else None


def _begin(here: Search, progress: Progress, under_way: UnderWay) -> tuple[Progress, UnderWay, Ending | None]:
    """Begin as many starts as may be under way; with an ending where there is no further one."""
    while len(under_way.queue) < _room(here, progress) and _may_begin(here, progress):
        turn = next_turn(here, progress, under_way.numbers)
        if isinstance(turn, Ending):
            return progress, under_way, turn
        progress, under_way = _with(progress, turn), under_way.begun(turn)
    return progress, under_way, None


def _with(progress: Progress, order: Order) -> Progress:
    is_new = order.steps.start == progress.num_begun
    return replace(progress, origins=(*progress.origins, order.origin)) if is_new else progress


def _room(here: Search, progress: Progress) -> float:
    """How many starts may be under way.

    A start builds on what those before it have shown. One that begins while others are under way builds on less, but this does not depend on how
    long each one takes. All starts of one pass build on the first alone, whoever makes them, and the user's on nothing.
    """
    if here.is_one_pass:
        return float("inf") if progress.outcomes else max(1, len(here.given))
    return 1 if here.journal.crew.is_alone or not progress.outcomes else here.journal.crew.size + 1


def _may_begin(here: Search, progress: Progress) -> bool:
    """Whether a further start is wanted, of which there may be so many."""
    most = here.problem.options.num_starts
    return most is None or progress.num_begun < max(most, here.num_first) or progress.num_begun == len(progress.outcomes)
