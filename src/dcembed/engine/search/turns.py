"""Which start comes next: the user's, the optimum of the host alone, good and different points of the host, combinations, moves."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dcembed.arrays import Array
from dcembed.copies import replace
from dcembed.embedded.point import Point
from dcembed.engine.moves.chooser import Kind
from dcembed.engine.moves.suggestion import Suggestion
from dcembed.engine.moves.table import MOVES
from dcembed.engine.outcome import is_forgotten
from dcembed.engine.search.ending import Ending, run_dry, stop
from dcembed.engine.search.flat import is_flat
from dcembed.engine.search.ground import Search
from dcembed.engine.search.host_point import find_host_point, without_host_point
from dcembed.engine.search.orders import Order
from dcembed.engine.search.progress import Progress
from dcembed.engine.workshop import DEAR_PIVOTS, Steps
from dcembed.run.penalty import estimate_penalty
from dcembed.run.starts import measure_start

# Where others follow, a start is left after so many steps: most have settled by then, and a better basin is worth more than a polished
# point. After so many starts the best, if it was left, is taken up again for as many steps as it has had; before the search ends, for as
# many as it needs.
PROBE_STEPS, NUM_OTHERS = 30, 3
# The same where points of blocks are combined; and every so manieth start is not such a combination then.
NUM_COMBINED, SCOUTED = 12, 8
# With "until-limit" and integers, and where masters are dear, the best is taken up again less often: neighbourhoods get further than masters of the whole problem.
NUM_OTHERS_LONG = 24
# After so many starts that have met nothing feasible every other one begins with a penalty so many times the estimated one: from a point
# that all but holds, the objective leads away.
NUM_LOOSE, FIRMNESS = 3, 100.0
# Points where starts have settled that a further one is told of, the latest.
MAX_SETTLED = 64


def next_turn(here: Search, progress: Progress, under_way: Iterable[int] = ()) -> Order | Ending:
    """The best start if it was left and several others have been made since; else a further one.

    `under_way` has the numbers of the starts that are not over.
    """
    best = progress.best_if_left
    if progress.num_others >= _num_others(here, progress) and best is not None and best not in set(under_way):
        is_first = here.walks_first and not progress.has_taken_up
        again = taking_up(progress, max(PROBE_STEPS, 2 * progress.outcomes[best].num_steps), is_brief=is_first)
        if again is not None:
            return _informed(here, progress, again)
    return _begun(here, progress)


def _num_others(here: Search, progress: Progress) -> int:
    """Starts between which the best, if it was left, is taken up again."""
    if here.columns is not None:
        return NUM_COMBINED
    if here.walks_first and not progress.has_taken_up:
        return here.num_first + 1
    return NUM_OTHERS_LONG if here.has_integers and (here.goes_on or here.walks_first or progress.is_dear) else NUM_OTHERS


def _begun(here: Search, progress: Progress) -> Order | Ending:
    """A new start, at a better point where no network has a slope at the one that was found."""
    suggested = _chosen(here, progress) if progress.is_stalled else _usual(here, progress)
    if isinstance(suggested, Ending):
        return suggested
    number, origin = progress.num_begun, suggested.origin
    point = measure_start(here.problem.embedded, suggested.w)
    here.journal.start(number, point, origin, is_own=origin not in MOVES)
    if suggested.box is None:
        here.scout.hear_start(point.w)
    left = point if origin in MOVES else _left(here, point, number)
    order = Order(left, _steps(here, progress, suggested), origin, box=suggested.box, missed=suggested.missed, gives_up=here.goes_on)
    return _informed(here, progress, order)


def _steps(here: Search, progress: Progress, suggested: Suggestion) -> Steps:
    """How far a new start may go: not to its end where others follow."""
    number, limit = progress.num_begun, progress.max_steps
    if not here.probes:
        return Steps(number, limit)
    # Where a problem falls apart, its integers are chosen by combination; a start has the rest to do.
    is_apart = here.columns is not None and here.has_integers and suggested.box is None
    # Masters of the whole problem are for the best of the first starts, and where they are dear, for none.
    waits = suggested.box is None and here.problem.has_tangents and (progress.is_dear or (here.walks_first and number <= here.num_first))
    is_on_foot, is_brief = suggested.is_on_foot or is_apart or waits, suggested.box is not None or here.goes_on
    max_pivots = DEAR_PIVOTS if suggested.box is None else np.inf
    return Steps(number, min(PROBE_STEPS, limit), is_probe=True, is_on_foot=is_on_foot, is_brief=is_brief, max_pivots=max_pivots)


def taking_up(progress: Progress, max_steps: int, is_brief: bool = False) -> Order | None:
    """The best start, if it was left, with so many steps in all."""
    number = progress.best_if_left
    if number is None:
        return None
    left = progress.outcomes[number]
    is_probe = max_steps < progress.max_steps
    max_pivots = max(left.num_pivots, DEAR_PIVOTS) if is_probe else np.inf
    steps = Steps(number, min(max_steps, progress.max_steps), left.num_steps, is_probe=is_probe, is_brief=is_brief, max_pivots=max_pivots)
    return Order(left.best or left.point, steps, progress.origins[number])


def _chosen(here: Search, progress: Progress) -> Suggestion | Ending:
    """Where the usual starts bring nothing better any more: a start of the kind that has brought most for its work, or is worth a try."""
    rng = np.random.default_rng([here.problem.options.seed, progress.num_begun])
    missed: tuple[str, ...] = ()
    for kind in progress.chooser.order(rng):
        suggested = _suggested(here, progress, kind, rng)
        if suggested is not None:
            return replace(suggested, missed=missed)
        missed = (*missed, kind.name)
    return _stopped(here, progress)


def _suggested(here: Search, progress: Progress, kind: Kind, rng: np.random.Generator) -> Suggestion | None:
    """A start of a kind; None where it has none."""
    if here.journal.clock.ended():
        return None
    if kind.name == "columns":
        return _combined(here, progress)
    if kind.name == "scout":
        return _scouted(here, progress)
    try:
        with here.journal.log.working(kind.name):
            return MOVES[kind.name](here.terrain, progress.verified, kind.size, rng)
    except MemoryError:
        here.journal.log.note(f"out of memory in a start by {kind.name}.")
        return None


def _usual(here: Search, progress: Progress) -> Suggestion | Ending:
    """A combination of points of blocks where one is due, else a start of the whole problem."""
    combined = _combined(here, progress) if _combines(here, progress) else None
    return combined if combined is not None else _next_start(here, progress)


def _next_start(here: Search, progress: Progress) -> Suggestion | Ending:
    """The user's starts, then the optimum of the host alone, then what the scout finds."""
    number = progress.num_begun - progress.origins.count("columns")
    if number < len(here.given):
        return Suggestion(here.given[number], "given")
    if number == len(here.given):
        # Where no solver carries the host, that is said now.
        here.host.session.open()
        with here.journal.log.working("host alone"):
            solution = find_host_point(here.problem, here.host, here.journal)
        if solution.x is not None:
            return Suggestion(solution.x, "host")
        if number == 0:
            begun = without_host_point(here.problem, solution, here.journal)
            return begun if isinstance(begun, Ending) else Suggestion(begun, "host")
    return _scouted(here, progress) or _stopped(here, progress)


def _combines(here: Search, progress: Progress) -> bool:
    """Whether a combination of points of blocks is due.

    It comes first where there are integers, which it chooses; else second, since tangents of the whole problem move all blocks at once. After the
    user's starts most starts are combinations.
    """
    number = progress.num_begun
    if number == (0 if here.has_integers else 1):
        return here.columns is not None
    return here.columns is not None and number >= here.num_first and number % SCOUTED != 0


def _combined(here: Search, progress: Progress) -> Suggestion | None:
    """A combination of points of blocks."""
    if here.columns is None:
        return None
    here.journal.work_on("columns", progress.num_begun)
    try:
        with here.journal.log.working("joining blocks"):
            w = here.columns.next()
    except MemoryError:
        here.journal.log.note("out of memory in the combination of points of blocks.")
        return None
    return None if w is None else Suggestion(w, "columns", is_on_foot=True)


def _scouted(here: Search, progress: Progress) -> Suggestion | None:
    """What the scout finds."""
    with here.journal.log.working("next start"):
        w = _look(here, progress)
    return None if w is None else Suggestion(w, "scout")


def _stopped(here: Search, progress: Progress) -> Ending:
    """Nothing suggests a further start: the time is over, or all was tried."""
    if stopped := here.journal.clock.ended():
        return stop(here.problem.options, progress, stopped)
    return run_dry(progress)


def _look(here: Search, progress: Progress) -> Array | None:
    best = progress.best
    try:
        return here.scout.next(best.w if best is not None else None, _penalty(here, progress.outcomes[0].point))
    except MemoryError:
        here.journal.log.note("out of memory in the search for another start.")
        return None


def _informed(here: Search, progress: Progress, order: Order) -> Order:
    """The start with what those before it have shown: where they have settled, in which solver, and whether a firm penalty is due."""
    outcomes = progress.outcomes
    settled = tuple(outcome.point.w for outcome in outcomes if outcome.is_settled and not is_forgotten(outcome))[-MAX_SETTLED:]
    backend = outcomes[-1].backend if outcomes else None
    return replace(order, settled=settled, backend=backend, penalty=_firm_penalty(here, progress, order))


def _firm_penalty(here: Search, progress: Progress, order: Order) -> float | None:
    """A firm penalty for every other start, as long as nothing feasible was met; the user's own penalty stays."""
    options, number = here.problem.options, order.steps.start
    is_due = progress.best is None and number >= NUM_LOOSE and number % 2 == 1
    if options.initial_penalty is not None or not is_due:
        return None
    return min(FIRMNESS * estimate_penalty(here.problem.embedded, order.point), options.max_penalty or np.inf)


def _left(here: Search, point: Point, number: int) -> Point:
    """The point, or a better one if no network has a slope there; a local search does not look for one."""
    if here.is_local or not is_flat(here.problem.embedded, point, here.problem.options.feasibility_tol):
        return point
    w = here.scout.leave(point, _penalty(here, point))
    if w is None:
        return point
    here.journal.log.note(f"start {number}: no network has a slope there; going on from the best of many points drawn.")
    left = measure_start(here.problem.embedded, w)
    here.journal.offer(left)
    return left


def _penalty(here: Search, point: Point) -> float:
    return here.problem.options.initial_penalty or estimate_penalty(here.problem.embedded, point)
