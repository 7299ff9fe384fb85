"""The search over starts: the user's, the optimum of the host alone, then good and different points of the host, until it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace

from dcembed.arrays import Array
from dcembed.embedded.point import Point
from dcembed.engine.flat import is_flat
from dcembed.engine.outcome import Outcome
from dcembed.engine.problem import Problem, carried_by
from dcembed.engine.start import run_start
from dcembed.engine.workshop import Steps
from dcembed.result import Status
from dcembed.run.host import HostProblem, open_host
from dcembed.run.journal import Journal
from dcembed.run.patience import Patience, heard
from dcembed.run.penalty import estimate_penalty
from dcembed.run.scout import Scout
from dcembed.run.space import Space
from dcembed.run.starts import find_start, measure_start, no_start, report

# After one of these no other start is worth its time.
FINAL = (Status.UNBOUNDED, Status.HOST_INFEASIBLE, Status.TIME_LIMIT, Status.INTERRUPTED)
# Starts of ours in a row that may end at a limit or with a failure before the search does.
MAX_FAILED_STARTS = 3
# Where others follow, a start is left after so many steps: most have settled by then, and a better basin is worth more than a polished
# point. After so many starts the best, if it was left, is taken up again for as many steps as it has had; before the search ends, for as
# many as it needs.
PROBE_STEPS, NUM_OTHERS = 30, 3


@dataclass(frozen=True)
class Ending:
    """How a run ended, and why in a person's words; a final one comes at once, others after the best start has been finished."""

    status: Status
    reason: str
    is_final: bool = False


@dataclass(frozen=True, eq=False)
class Turn:
    """A start, new or taken up again: its point, and the numbers of its steps."""

    point: Point
    steps: Steps


@dataclass(frozen=True, eq=False)
class Progress:
    """The starts that were made."""

    outcomes: tuple[Outcome, ...] = ()
    patience: Patience = field(default_factory=Patience)
    # Starts since one was taken up again.
    num_others: int = 0

    @property
    def status(self) -> Status:
        """What the starts amount to."""
        return report(outcome.status for outcome in self.outcomes)


@dataclass(frozen=True, eq=False)
class Search:
    """What the starts of a run come from and go to."""

    problem: Problem
    journal: Journal
    host: HostProblem
    scout: Scout
    given: tuple[Array, ...]


def search(problem: Problem, journal: Journal) -> Ending:
    """Run from start after start until one of the endings is reached."""
    with _open(problem, journal) as here:
        progress = Progress()
        while True:
            turn = _ending(here, progress) or _next_turn(here, progress)
            if isinstance(turn, Ending) and not turn.is_final:
                turn = _taking_up(here, progress, problem.options.max_iterations) or turn
            if isinstance(turn, Ending):
                return turn
            progress = _go(here, progress, turn)


@contextmanager
def _open(problem: Problem, journal: Journal) -> Iterator[Search]:
    solver, options = replace(problem.solver, note=journal.log.note), problem.options
    host = open_host(problem.embedded, problem.box, solver)
    scout = Scout(Space(problem.embedded, problem.box), solver, options.seed, options.feasibility_tol, journal.clock)
    with closing(host.session), closing(scout):
        yield Search(problem, journal, host, scout, tuple(map(problem.embedded.lower, journal.arguments.starts)))


def _ending(here: Search, progress: Progress) -> Ending | None:
    """Whether the search is over."""
    outcomes, options = progress.outcomes, here.problem.options
    if not outcomes:
        return None
    if stopped := here.journal.clock.ended():
        return _stopped(here, progress, stopped)
    if outcomes[-1].status in FINAL:
        return Ending(progress.status, f"start {len(outcomes) - 1} ended with {outcomes[-1].status.name}", is_final=True)
    if len(outcomes) < len(here.given):
        return None
    failed = outcomes[-MAX_FAILED_STARTS:]
    if len(outcomes) >= MAX_FAILED_STARTS and not any(outcome.is_settled or _is_left(here, outcome) for outcome in failed):
        return Ending(progress.status, f"{MAX_FAILED_STARTS} starts in a row ended with {', '.join({o.status.name: 0 for o in failed})}")
    if options.num_starts is not None and len(outcomes) >= options.num_starts:
        return Ending(progress.status, f"{_count(len(outcomes))}, as many as asked for")
    if options.search == "patient" and progress.patience.is_over:
        return Ending(progress.status, progress.patience.reason)
    return None


def _stopped(here: Search, progress: Progress, status: Status) -> Ending:
    """A time limit that comes while further starts are made takes nothing from a point that is settled, unless it was asked for."""
    best = _best(progress)
    settled = [outcome.point for outcome in progress.outcomes if outcome.status is Status.LOCALLY_SOLVED]
    is_settled = best is not None and any(point.objective <= best.objective for point in settled)
    what = "interrupted" if status is Status.INTERRUPTED else "the time limit was reached"
    reason = f"{what} after {_count(len(progress.outcomes))}"
    if status is Status.TIME_LIMIT and is_settled and here.problem.options.search != "until-limit":
        return Ending(Status.LOCALLY_SOLVED, reason, is_final=True)
    return Ending(status, reason, is_final=True)


def _next_turn(here: Search, progress: Progress) -> Turn | Ending:
    """The best start if it was left and several others have been made since; else a further one."""
    if progress.num_others >= NUM_OTHERS and (best := _best_if_left(here, progress)) is not None:
        return _taking_up(here, progress, 2 * progress.outcomes[best].num_steps) or _begun(here, progress)
    return _begun(here, progress)


def _begun(here: Search, progress: Progress) -> Turn | Ending:
    """A new start, at a better point where no network has a slope at the one that was found."""
    w = _next_start(here, progress)
    if isinstance(w, Ending):
        return w
    number, limit = len(progress.outcomes), here.problem.options.max_iterations
    point = measure_start(here.problem.embedded, w)
    here.journal.start(number, point)
    here.scout.hear_start(point.w)
    return Turn(_left(here, point, number), Steps(number, min(PROBE_STEPS, limit) if _probes(here) else limit))


def _taking_up(here: Search, progress: Progress, max_steps: int) -> Turn | None:
    """The best start, if it was left, with so many steps in all."""
    number = _best_if_left(here, progress)
    if number is None:
        return None
    left = progress.outcomes[number]
    return Turn(left.point, Steps(number, min(max_steps, here.problem.options.max_iterations), left.num_steps))


def _next_start(here: Search, progress: Progress) -> Array | Ending:
    """The user's starts, then the optimum of the host alone, then what the scout finds."""
    number, clock = len(progress.outcomes), here.journal.clock
    if number < len(here.given):
        return here.given[number]
    if number == len(here.given):
        with here.journal.log.working("solving the host without its neural rows"):
            solution = find_start(here.host, clock.limits())
        if solution.x is not None:
            return solution.x
        if number == 0:
            return Ending(no_start(solution), "the solver found no point of the host", is_final=True)
    return _scouted(here, progress)


def _scouted(here: Search, progress: Progress) -> Array | Ending:
    """What the scout finds."""
    with here.journal.log.working("looking for another start"):
        best = _best(progress)
        w = here.scout.next(best.w if best is not None else None, _penalty(here, progress.outcomes[0].point))
    if w is not None:
        return w
    if stopped := here.journal.clock.ended():
        return _stopped(here, progress, stopped)
    number = _count(len(progress.outcomes))
    return Ending(progress.status, f"no further start could be drawn after {number}: all points found were starts or ends before")


def _go(here: Search, progress: Progress, turn: Turn) -> Progress:
    """Run a start, and write down how it ended."""
    problem, earlier, steps = here.problem, progress.outcomes, turn.steps
    is_new, taken = steps.start == len(earlier), steps.number
    settled = [outcome.point.w for outcome in earlier if outcome.is_settled]
    carried = carried_by(problem, earlier[-1].backend if earlier else None)
    outcome = run_start(carried, turn.point, steps, settled, here.journal)
    here.scout.hear_end(outcome.point.w)
    patience = heard(progress.patience, outcome.point, outcome.best, steps.number - taken, problem.options.objective_tol, is_new)
    outcomes = (*earlier[: steps.start], outcome, *earlier[steps.start + 1 :])
    return Progress(outcomes, patience, progress.num_others + 1 if is_new else 0)


def _probes(here: Search) -> bool:
    """Whether starts are left after some steps, since others follow."""
    options = here.problem.options
    return options.search != "converge" and options.num_starts != 1


def _is_left(here: Search, outcome: Outcome) -> bool:
    return outcome.status is Status.ITERATION_LIMIT and outcome.num_steps < here.problem.options.max_iterations


def _best_if_left(here: Search, progress: Progress) -> int | None:
    """The number of the best start if it was left before it settled."""
    if not progress.outcomes:
        return None
    number, outcome = min(enumerate(progress.outcomes), key=lambda each: _rank(each[1]))
    return number if _is_left(here, outcome) else None


def _rank(outcome: Outcome) -> tuple[bool, float]:
    """Feasible starts by their objective, then the others by their violation."""
    return (False, outcome.best.objective) if outcome.best is not None else (True, outcome.point.violation)


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


def _best(progress: Progress) -> Point | None:
    """The best feasible point of all starts."""
    met = [outcome.best for outcome in progress.outcomes if outcome.best is not None]
    return min(met, key=lambda point: point.objective, default=None)


def _count(number: int) -> str:
    return f"{number} start" + ("" if number == 1 else "s")
