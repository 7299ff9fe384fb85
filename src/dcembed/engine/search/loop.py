"""The search over starts: the user's, the optimum of the host alone, then good and different points of the host, until it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.point import Point
from dcembed.engine.columns.columns import Columns, open_columns
from dcembed.engine.moves.chooser import Chooser, Kind, resized
from dcembed.engine.moves.narrowing import narrow, seen_from_outside
from dcembed.engine.moves.suggestion import Suggestion
from dcembed.engine.moves.table import MOVES, open_chooser
from dcembed.engine.moves.terrain import Terrain
from dcembed.engine.outcome import Outcome, best_of
from dcembed.engine.problem import Problem, carried_by, solver_for
from dcembed.engine.scouting.scout import SAME_PLACE, Scout
from dcembed.engine.search.ending import Ending, find_ending, run_dry, stop
from dcembed.engine.search.flat import is_flat
from dcembed.engine.search.host_point import find_host_point, without_host_point
from dcembed.engine.search.patience import Patience, heard
from dcembed.engine.search.progress import Progress
from dcembed.engine.start import run_start
from dcembed.engine.workshop import Steps
from dcembed.program.derive import without_objective
from dcembed.program.tightening import Box
from dcembed.result import Status
from dcembed.run.host import HostProblem, open_host
from dcembed.run.journal import Journal
from dcembed.run.penalty import estimate_penalty
from dcembed.run.space import Space
from dcembed.run.starts import measure_start

# Where others follow, a start is left after so many steps: most have settled by then, and a better basin is worth more than a polished
# point. After so many starts the best, if it was left, is taken up again for as many steps as it has had; before the search ends, for as
# many as it needs.
PROBE_STEPS, NUM_OTHERS = 30, 3
# Where a bound is asked for, it is tried to close the gap after so many starts.
ATTEMPTED = 2
# The same where points of blocks are combined; and every so manieth start is not such a combination then.
NUM_COMBINED, SCOUTED = 12, 8
# What a step inside of a neighbourhood counts beside one of the whole problem.
NARROW_WORK = 0.3
# After so many starts that have met nothing feasible every other one begins with a penalty so many times the estimated one: from a point
# that all but holds, the objective leads away.
NUM_LOOSE, FIRMNESS = 3, 100.0


# After so many starts in a row without anything better the choice is among all kinds of starts, moves from what was found among them.
STALLED = 10
# The same with "until-limit", where there is all the time to come back to other starts; with integers moves come as soon as there is a point
# to move from, and the best is taken up again less often: neighbourhoods get further than masters of the whole problem.
STALLED_SOON, NUM_OTHERS_LONG = 2, 24


@dataclass(frozen=True, eq=False)
class Turn:
    """A start, new or taken up again: plain data.

    Parameters
    ----------
    point, steps
        Where it begins, and the numbers of its steps.
    origin
        What it comes from.
    box
        Inside which it stays, most integers being held; None where it may go anywhere.
    missed
        The kinds of starts that were asked before it, and had nothing to suggest.
    """

    point: Point
    steps: Steps
    origin: str
    box: Box | None = None
    missed: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Search:
    """What the starts of a run come from and go to."""

    problem: Problem
    journal: Journal
    host: HostProblem
    scout: Scout
    terrain: Terrain
    given: tuple[Array, ...]
    columns: Columns | None = None

    @property
    def num_first(self) -> int:
        """Starts that come before all others: the user's, and what columns make of them."""
        return len(self.given) + (self.columns is not None)

    @property
    def has_integers(self) -> bool:
        """Whether something is integer."""
        return bool(self.problem.embedded.integer.any())


def search(problem: Problem, journal: Journal, attempt: Callable[[], None] | None = None) -> Ending:
    """Run from start after start until one of the endings is reached.

    `attempt` tries to prove that the best point is optimal; where that is so, the search is over.
    """
    with _open(problem, journal) as here:
        progress = Progress(problem.options.max_iterations, chooser=_open_chooser(here))
        while True:
            if attempt is not None and len(progress.outcomes) == ATTEMPTED and progress.num_others:
                attempt()
                if journal.is_closed:
                    return Ending(progress.status, f"the bound is reached after {len(progress.outcomes)} starts", is_final=True)
            turn = find_ending(problem.options, progress, here.num_first, problem.box, journal.clock) or _next_turn(here, progress)
            if isinstance(turn, Ending) and not turn.is_final:
                turn = _taking_up(progress, progress.max_steps) or turn
            if isinstance(turn, Ending):
                return replace(turn, hint=None if here.columns is None else here.columns.hint())
            progress = _go(here, progress, turn)


@contextmanager
def _open(problem: Problem, journal: Journal) -> Iterator[Search]:
    solver, options = replace(problem.solver, note=journal.log.note), problem.options
    host = open_host(problem.embedded, problem.box, solver)
    corners = replace(solver_for(problem, without_objective(problem.embedded.host).problem_class), note=journal.log.note)
    space = Space(problem.embedded, problem.box)
    scout = Scout(space, corners, options.seed, options.feasibility_tol, journal.clock)
    terrain = Terrain(problem, space, journal.clock.limits)
    given = tuple(map(problem.embedded.lower, journal.arguments.starts))
    journal.work_on("given")
    with closing(host.session), closing(scout):
        yield Search(problem, journal, host, scout, terrain, given, open_columns(problem, journal, given))


def _open_chooser(here: Search) -> Chooser:
    """The kinds of starts among which a search chooses that has stalled."""
    return open_chooser(here.terrain, ("scout",) if here.columns is None else ("scout", "columns"))


def _next_turn(here: Search, progress: Progress) -> Turn | Ending:
    """The best start if it was left and several others have been made since; else a further one."""
    if progress.num_others >= _num_others(here) and (best := progress.best_if_left) is not None:
        return _taking_up(progress, 2 * progress.outcomes[best].num_steps) or _begun(here, progress)
    return _begun(here, progress)


def _num_others(here: Search) -> int:
    """Starts between which the best, if it was left, is taken up again."""
    if here.columns is not None:
        return NUM_COMBINED
    return NUM_OTHERS_LONG if _goes_on(here) and here.has_integers else NUM_OTHERS


def _begun(here: Search, progress: Progress) -> Turn | Ending:
    """A new start, at a better point where no network has a slope at the one that was found."""
    suggested = _chosen(here, progress) if progress.is_stalled else _usual(here, progress)
    if isinstance(suggested, Ending):
        return suggested
    number, origin = len(progress.outcomes), suggested.origin
    point = measure_start(here.problem.embedded, suggested.w)
    here.journal.start(number, point, origin, is_own=origin not in MOVES)
    if suggested.box is None:
        here.scout.hear_start(point.w)
    left = point if origin in MOVES else _left(here, point, number)
    return Turn(left, _steps(here, progress, suggested), origin, suggested.box, suggested.missed)


def _steps(here: Search, progress: Progress, suggested: Suggestion) -> Steps:
    """How far a new start may go: not to its end where others follow."""
    number, limit = len(progress.outcomes), progress.max_steps
    if not _probes(here):
        return Steps(number, limit)
    # Where a problem falls apart, its integers are chosen by combination; a start has the rest to do.
    is_apart = here.columns is not None and here.has_integers and suggested.box is None
    is_on_foot, is_brief = suggested.is_on_foot or is_apart, suggested.box is not None or _goes_on(here)
    return Steps(number, min(PROBE_STEPS, limit), is_probe=True, is_on_foot=is_on_foot, is_brief=is_brief)


def _taking_up(progress: Progress, max_steps: int) -> Turn | None:
    """The best start, if it was left, with so many steps in all."""
    number = progress.best_if_left
    if number is None:
        return None
    left = progress.outcomes[number]
    steps = Steps(number, min(max_steps, progress.max_steps), left.num_steps, is_probe=max_steps < progress.max_steps)
    return Turn(left.best or left.point, steps, progress.origins[number])


def _chosen(here: Search, progress: Progress) -> Suggestion | Ending:
    """Where the usual starts bring nothing better any more: a start of the kind that has brought most for its work, or is worth a try."""
    rng = np.random.default_rng([here.problem.options.seed, len(progress.outcomes)])
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
        return _combined(here)
    if kind.name == "scout":
        return _scouted(here, progress)
    try:
        with here.journal.log.working(f"making a start: {kind.name}"):
            return MOVES[kind.name](here.terrain, progress.verified, kind.size, rng)
    except MemoryError:
        here.journal.log.note(f"out of memory in a start by {kind.name}.")
        return None


def _usual(here: Search, progress: Progress) -> Suggestion | Ending:
    """A combination of points of blocks where one is due, else a start of the whole problem."""
    combined = _combined(here) if _combines(here, progress) else None
    return combined if combined is not None else _next_start(here, progress)


def _next_start(here: Search, progress: Progress) -> Suggestion | Ending:
    """The user's starts, then the optimum of the host alone, then what the scout finds."""
    number = len(progress.outcomes) - progress.origins.count("columns")
    if number < len(here.given):
        return Suggestion(here.given[number], "given")
    if number == len(here.given):
        # Where no solver carries the host, that is said now.
        here.host.session.open()
        with here.journal.log.working("solving the host without its neural rows"):
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
    number = len(progress.outcomes)
    if number == (0 if here.has_integers else 1):
        return here.columns is not None
    return here.columns is not None and number >= here.num_first and number % SCOUTED != 0


def _combined(here: Search) -> Suggestion | None:
    """A combination of points of blocks."""
    if here.columns is None:
        return None
    here.journal.work_on("columns")
    try:
        with here.journal.log.working("combining points of blocks"):
            w = here.columns.next()
    except MemoryError:
        here.journal.log.note("out of memory in the combination of points of blocks.")
        return None
    return None if w is None else Suggestion(w, "columns", is_on_foot=True)


def _scouted(here: Search, progress: Progress) -> Suggestion | None:
    """What the scout finds."""
    with here.journal.log.working("looking for another start"):
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


def _go(here: Search, progress: Progress, turn: Turn) -> Progress:
    """Run a start, and write down how it ended."""
    problem, earlier, steps = here.problem, progress.outcomes, turn.steps
    is_new, taken = steps.start == len(earlier), steps.number
    settled = [outcome.point.w for outcome in earlier if outcome.is_settled]
    carried = carried_by(problem, earlier[-1].backend if earlier else None)
    here.journal.work_on(turn.origin)
    outcome = _run(here, firmed(carried, progress, turn), turn, settled)
    chooser = _heard(here, progress, turn, outcome, steps.number - taken)
    if turn.box is not None:
        outcome = seen_from_outside(outcome)
    if not is_new:
        outcome = replace(outcome, best=best_of((earlier[steps.start].best, outcome.best), problem.options.feasibility_tol))
    if turn.origin not in MOVES:
        here.journal.reach(steps.start, outcome.best)
    if turn.box is None:
        here.scout.hear_end(outcome.point.w)
    if here.columns is not None:
        here.columns.hear(outcome.point)
        here.columns.hear(outcome.best)
    patience = heard(progress.patience, outcome.point, outcome.best, steps.number - taken, problem.options.objective_tol, is_new)
    outcomes = (*earlier[: steps.start], outcome, *earlier[steps.start + 1 :])
    return replace(
        progress,
        outcomes=outcomes,
        patience=patience,
        num_others=progress.num_others + 1 if is_new else 0,
        origins=(*progress.origins, turn.origin) if is_new else progress.origins,
        verified=progress.verified.heard(here.terrain.space, outcome.best),
        chooser=chooser,
        is_stalled=progress.is_stalled or (len(outcomes) > here.num_first and _is_stalled(here, patience)),
    )


def _is_stalled(here: Search, patience: Patience) -> bool:
    """Whether the usual starts have had their chance: a search that is one pass makes no others."""
    if not _goes_on(here):
        return _probes(here) and patience.num_fruitless >= STALLED
    is_known = here.has_integers and here.columns is None and np.isfinite(patience.objective)
    return _probes(here) and (is_known or patience.num_fruitless >= STALLED_SOON)


def _goes_on(here: Search) -> bool:
    """Whether the search goes on until the limit."""
    return here.problem.options.search == "until-limit"


def _heard(here: Search, progress: Progress, turn: Turn, outcome: Outcome, num_steps: int) -> Chooser:
    """What a start tells of its kind: whether it brought something better, and whether its neighbourhood or kick was large enough."""
    tolerance, best = here.problem.options.objective_tol, progress.best
    is_better = outcome.best is not None and (
        best is None or outcome.best.objective < best.objective - tolerance * max(1.0, abs(best.objective))
    )
    # Without a box a kick was too small where it led back to the best point.
    is_back = best is not None and np.allclose(
        here.terrain.space.places(outcome.point.w), here.terrain.space.places(best.w), atol=SAME_PLACE
    )
    is_exhausted = is_back if turn.box is None else outcome.is_settled
    work = num_steps * (1.0 if turn.box is None else NARROW_WORK)
    return progress.chooser.missed(turn.missed).heard(turn.origin, is_better, work, resized(is_better, is_exhausted))


def firmed(problem: Problem, progress: Progress, turn: Turn) -> Problem:
    """The problem with a firm penalty for every other start, as long as nothing feasible was met; the user's own penalty stays."""
    is_due = progress.best is None and turn.steps.start >= NUM_LOOSE and turn.steps.start % 2 == 1
    if problem.options.initial_penalty is not None or not is_due:
        return problem
    estimated = estimate_penalty(problem.embedded, turn.point)
    limit = problem.options.max_penalty or np.inf
    return replace(problem, options=replace(problem.options, initial_penalty=min(FIRMNESS * estimated, limit)))


def _run(here: Search, carried: Problem, turn: Turn, settled: list[Array]) -> Outcome:
    """A start; one that runs out of memory is over, the others are not."""
    try:
        if turn.box is None:
            return run_start(carried, turn.point, turn.steps, settled, here.journal)
        # Inside of a neighbourhood nothing has been settled.
        return run_start(narrow(carried, turn.box), turn.point, turn.steps, (), here.journal)
    except MemoryError:
        here.journal.log.note(f"start {turn.steps.start}: out of memory.")
        best = best_of((turn.point,), here.problem.options.feasibility_tol)
        return Outcome(Status.NUMERICAL_ERROR, turn.point, best, num_steps=turn.steps.number)


def _probes(here: Search) -> bool:
    """Whether starts are left after some steps, since others follow."""
    options = here.problem.options
    return options.search != "converge" and options.num_starts != 1


def _left(here: Search, point: Point, number: int) -> Point:
    """The point, or a better one if no network has a slope there."""
    if not is_flat(here.problem.embedded, point, here.problem.options.feasibility_tol):
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
