"""When a search is over, and what is said about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dcembed.bounds.hint import Hint
from dcembed.embedded.point import Point
from dcembed.engine.outcome import Outcome
from dcembed.engine.region import runs_away
from dcembed.engine.search.progress import Progress
from dcembed.gap import relative_gap
from dcembed.options import Options
from dcembed.program.tightening import Box
from dcembed.run.clock import Clock
from dcembed.run.journal import AGREEMENT
from dcembed.status import Status

# After one of these no other start is worth its time.
FINAL = (Status.HOST_INFEASIBLE, Status.TIME_LIMIT, Status.INTERRUPTED)
# Starts of ours in a row that may end at a limit or with a failure before the search does.
MAX_FAILED_STARTS = 8
# Where a bound is asked for, so many starts in a row that agree with the best are enough: the time is better spent on the proof.
NUM_AGREED = 8


@dataclass(frozen=True, eq=False)
class Ending:
    """How a run ended, and why in a person's words; a final one comes at once, others after the best start has been finished.

    `hint` has what the search has learned about blocks.
    """

    status: Status
    reason: str
    is_final: bool = False
    hint: Hint | None = None


def find_ending(options: Options, progress: Progress, num_given: int, box: Box, clock: Clock) -> Ending | None:
    """Whether the search is over, of which the user has given the first so many starts; `box` has the bounds of the columns."""
    outcomes = progress.outcomes
    if not outcomes:
        return None
    if stopped := clock.ended():
        return stop(options, progress, stopped)
    if outcomes[-1].status in FINAL or _runs_away(outcomes[-1], box):
        return Ending(progress.status, f"start {len(outcomes) - 1} ended with {outcomes[-1].status.name}", is_final=True)
    if len(outcomes) < num_given:
        return None
    failed = outcomes[-MAX_FAILED_STARTS:]
    if len(outcomes) >= MAX_FAILED_STARTS and not any(outcome.is_settled or progress.is_left(outcome) for outcome in failed):
        return Ending(progress.status, f"{MAX_FAILED_STARTS} starts in a row ended with {', '.join({o.status.name: 0 for o in failed})}")
    if options.num_starts is not None and len(outcomes) >= options.num_starts:
        return Ending(progress.status, f"{_count(progress)}, as many as asked for")
    if options.search == "patient" and progress.patience.is_over:
        return Ending(progress.status, progress.patience.reason)
    if options.search == "patient" and options.prove and _agree(progress.own[-NUM_AGREED:], progress.best):
        return Ending(progress.status, f"{NUM_AGREED} starts in a row ended within {AGREEMENT:.1%} of the best")
    return None


def _agree(outcomes: Sequence[Outcome], best: Point | None) -> bool:
    """Whether all of enough starts ended at the best point, or as good as that."""
    if best is None or len(outcomes) < NUM_AGREED:
        return False
    reached = [np.inf if outcome.best is None else outcome.best.objective for outcome in outcomes]
    return all(relative_gap(best.objective, objective, sense=-1.0) <= AGREEMENT for objective in reached)


def stop(options: Options, progress: Progress, status: Status) -> Ending:
    """A time limit that comes while further starts are made takes nothing from a point that is settled, unless it was asked for."""
    best = progress.best
    settled = [outcome.point for outcome in progress.outcomes if outcome.status is Status.LOCALLY_SOLVED]
    is_settled = best is not None and any(_is_as_good(options, point.objective, best.objective) for point in settled)
    what = "interrupted" if status is Status.INTERRUPTED else "the time limit was reached"
    reason = f"{what} after {_count(progress)}"
    if status is Status.TIME_LIMIT and is_settled and options.search != "until-limit":
        return Ending(Status.LOCALLY_SOLVED, reason, is_final=True)
    return Ending(status, reason, is_final=True)


def _runs_away(outcome: Outcome, box: Box) -> bool:
    """Whether a start found feasible points without end, rather than a solver that says so."""
    return outcome.status is Status.UNBOUNDED and outcome.best is not None and runs_away(outcome.best.w, box)


def _is_as_good(options: Options, objective: float, best: float) -> bool:
    return objective <= best + options.objective_tol * max(1.0, abs(best))


def run_dry(progress: Progress) -> Ending:
    """Nothing new can be drawn."""
    drawn = "all points found were starts or ends before"
    return Ending(progress.status, f"no further start could be drawn after {_count(progress)}: {drawn}")


def _count(progress: Progress) -> str:
    number = len(progress.outcomes)
    return f"{number} start" + ("" if number == 1 else "s")
