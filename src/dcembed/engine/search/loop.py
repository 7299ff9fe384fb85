"""The search over starts: the user's, the optimum of the host alone, then good and different points of the host, until it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.point import Point
from dcembed.engine.columns.columns import Columns, open_columns
from dcembed.engine.outcome import Outcome, best_of
from dcembed.engine.problem import Problem, carried_by, solver_for
from dcembed.engine.scouting.scout import Scout
from dcembed.engine.search.ending import Ending, find_ending, run_dry, stop
from dcembed.engine.search.flat import is_flat
from dcembed.engine.search.host_point import find_host_point, without_host_point
from dcembed.engine.search.patience import heard
from dcembed.engine.search.progress import Progress
from dcembed.engine.start import run_start
from dcembed.engine.workshop import Steps, kept_session
from dcembed.program.derive import without_objective
from dcembed.result import Status
from dcembed.run.host import HostProblem
from dcembed.run.journal import Journal
from dcembed.run.penalty import estimate_penalty
from dcembed.run.space import Space
from dcembed.run.starts import measure_start
from dcembed.solvers.failover import LastingSession, Solver

# Where others follow, a start is left after so many steps: most have settled by then, and a better basin is worth more than a polished
# point. After so many starts the best, if it was left, is taken up again for as many steps as it has had; before the search ends, for as
# many as it needs.
PROBE_STEPS, NUM_OTHERS = 30, 3
# Where a bound is asked for, it is tried to close the gap after so many starts.
ATTEMPTED = 2
# The same where points of blocks are combined; and every so manieth start is not such a combination then.
NUM_COMBINED, SCOUTED = 12, 8
# After so many starts that have met nothing feasible every other one begins with a penalty so many times the estimated one: from a point
# that all but holds, the objective leads away.
NUM_LOOSE, FIRMNESS = 3, 100.0


@dataclass(frozen=True, eq=False)
class Turn:
    """A start, new or taken up again: its point, the numbers of its steps, and whether it is a combination of points of blocks."""

    point: Point
    steps: Steps
    is_combined: bool = False


@dataclass(frozen=True, eq=False)
class Search:
    """What the starts of a run come from and go to."""

    problem: Problem
    journal: Journal
    host: HostProblem
    scout: Scout
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
        progress = Progress(problem.options.max_iterations)
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
    embedded = problem.embedded
    scout = Scout(
        Space(problem.embedded, problem.box), lambda: _for_corners(problem, journal), options.seed, options.feasibility_tol, journal.clock
    )
    given = tuple(map(problem.embedded.lower, journal.arguments.starts))
    with kept_session(problem, "host", solver, lambda: LastingSession(embedded.open_host, solver)) as session, closing(scout):
        host = HostProblem(embedded, problem.box, session)
        session.set_cost(embedded.host.cost, embedded.host.offset)
        yield Search(problem, journal, host, scout, given, open_columns(problem, journal, given))


def _for_corners(problem: Problem, journal: Journal) -> Solver:
    """A solver for the host without its objective."""
    return replace(solver_for(problem, without_objective(problem.embedded.host).problem_class), note=journal.log.note)


def _next_turn(here: Search, progress: Progress) -> Turn | Ending:
    """The best start if it was left and several others have been made since; else a further one."""
    if progress.num_others >= (NUM_OTHERS if here.columns is None else NUM_COMBINED) and (best := progress.best_if_left) is not None:
        return _taking_up(progress, 2 * progress.outcomes[best].num_steps) or _begun(here, progress)
    return _begun(here, progress)


def _begun(here: Search, progress: Progress) -> Turn | Ending:
    """A new start, at a better point where no network has a slope at the one that was found."""
    combined = _combined(here) if _combines(here, progress) else None
    w = combined if combined is not None else _next_start(here, progress)
    if isinstance(w, Ending):
        return w
    number, limit, is_combined = len(progress.outcomes), progress.max_steps, combined is not None
    point = measure_start(here.problem.embedded, w)
    here.journal.start(number, point)
    here.scout.hear_start(point.w)
    if not _probes(here):
        return Turn(_left(here, point, number), Steps(number, limit), is_combined)
    # Where a problem falls apart, its integers are chosen by combination; a start has the rest to do.
    is_on_foot = is_combined or (here.columns is not None and here.has_integers)
    return Turn(_left(here, point, number), Steps(number, min(PROBE_STEPS, limit), is_probe=True, is_on_foot=is_on_foot), is_combined)


def _taking_up(progress: Progress, max_steps: int) -> Turn | None:
    """The best start, if it was left, with so many steps in all."""
    number = progress.best_if_left
    if number is None:
        return None
    left = progress.outcomes[number]
    return Turn(
        left.best or left.point, Steps(number, min(max_steps, progress.max_steps), left.num_steps, is_probe=max_steps < progress.max_steps)
    )


def _next_start(here: Search, progress: Progress) -> Array | Ending:
    """The user's starts, then the optimum of the host alone, then what the scout finds."""
    number = len(progress.outcomes) - progress.num_combined
    if number < len(here.given):
        return here.given[number]
    if number == len(here.given):
        # Where no solver carries the host, that is said now.
        here.host.session.open()
        with here.journal.log.working("solving the host without its neural rows"):
            solution = find_host_point(here.problem, here.host, here.journal)
        if solution.x is not None:
            return solution.x
        if number == 0:
            return without_host_point(here.problem, solution, here.journal)
    return _scouted(here, progress)


def _combines(here: Search, progress: Progress) -> bool:
    """Whether a combination of points of blocks is due.

    It comes first where there are integers, which it chooses; else second, since tangents of the whole problem move all blocks at once. After the
    user's starts most starts are combinations.
    """
    number = len(progress.outcomes)
    if number == (0 if here.has_integers else 1):
        return here.columns is not None
    return here.columns is not None and number >= here.num_first and number % SCOUTED != 0


def _combined(here: Search) -> Array | None:
    """A combination of points of blocks."""
    if here.columns is None:
        return None
    try:
        with here.journal.log.working("combining points of blocks"):
            return here.columns.next()
    except MemoryError:
        here.journal.log.note("out of memory in the combination of points of blocks.")
        return None


def _scouted(here: Search, progress: Progress) -> Array | Ending:
    """What the scout finds."""
    with here.journal.log.working("looking for another start"):
        w = _look(here, progress)
    if w is not None:
        return w
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
    outcome = _run(here, firmed(carried, progress, turn), turn, settled)
    if not is_new:
        outcome = replace(outcome, best=best_of((earlier[steps.start].best, outcome.best), problem.options.feasibility_tol))
    here.journal.reach(steps.start, outcome.best)
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
        num_combined=progress.num_combined + turn.is_combined,
    )


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
        return run_start(carried, turn.point, turn.steps, settled, here.journal)
    except MemoryError:
        here.journal.log.note(f"start {turn.steps.start}: out of memory.")
        best = best_of((turn.point,), here.problem.options.feasibility_tol)
        return Outcome(Status.NUMERICAL_ERROR, turn.point, best, num_steps=turn.steps.number)


def _probes(here: Search) -> bool:
    """Whether starts are left after some steps, since others follow."""
    options = here.problem.options
    return options.search not in ("converge", "local") and options.num_starts != 1


def _left(here: Search, point: Point, number: int) -> Point:
    """The point, or a better one if no network has a slope there; a local search does not look for one."""
    if here.problem.options.search == "local" or not is_flat(here.problem.embedded, point, here.problem.options.feasibility_tol):
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
