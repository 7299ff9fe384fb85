"""One start as plain data, so that whoever makes it gets the same outcome: this process, another one, or another machine."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dcembed.arrays import Array
from dcembed.crew.watch import Watch
from dcembed.embedded.lift import unlifted
from dcembed.embedded.point import Point
from dcembed.engine.moves.narrowing import narrow
from dcembed.engine.outcome import Outcome, best_of
from dcembed.engine.problem import Problem, carried_by
from dcembed.engine.start import run_start
from dcembed.engine.workshop import Steps
from dcembed.program.tightening import Box
from dcembed.result import Iteration
from dcembed.run.arguments import Arguments
from dcembed.run.clock import Clock
from dcembed.run.journal import Journal, Step
from dcembed.solvers.base import Backend
from dcembed.status import Status

# A start that has found feasible points is left where others have found a better one, and it would not reach that if it went on
# improving for as many steps as it may, as fast as it did in its last ones.
LAST_STEPS = 6


@dataclass(frozen=True, eq=False)
class Order:
    """A start.

    Parameters
    ----------
    point
        Where it begins.
    steps
        The numbers of its steps.
    origin
        What it comes from.
    settled
        Points where earlier starts have ended, at which this one has nothing to add.
    box
        Inside which it stays, None for the whole problem.
    backend
        The solver that carried the last start, None to begin with the first choice.
    penalty
        The first penalty, None to estimate it.
    missed
        The kinds of starts that were asked before it, and had nothing to suggest.
    gives_up
        Whether it is left where it has no hope to become better than what others have found.
    """

    point: Point
    steps: Steps
    origin: str = ""
    settled: tuple[Array, ...] = ()
    box: Box | None = None
    backend: Backend | None = None
    penalty: float | None = None
    missed: tuple[str, ...] = ()
    gives_up: bool = False


@dataclass(frozen=True, eq=False)
class Report:
    """What came of a start in another process: the outcome, its steps with times from its own beginning, and what a person should know."""

    outcome: Outcome
    num_steps: int
    history: tuple[Iteration, ...]
    notes: tuple[str, ...]


def follow(problem: Problem, order: Order, journal: Journal) -> Outcome:
    """Make a start; one that runs out of memory is over, the others are not, and one that the time does not reach opens no solver."""
    if (ended := journal.clock.ended()) is not None:
        return replace(failed(problem, order), status=ended)
    carried = carried_by(problem, order.backend)
    if order.penalty is not None:
        carried = replace(carried, options=replace(carried.options, initial_penalty=order.penalty))
    journal.work_on(order.origin, order.steps.start)
    try:
        if order.box is None:
            return run_start(carried, order.point, order.steps, order.settled, journal)
        # Inside of a neighbourhood nothing has been settled.
        return run_start(narrow(carried, order.box), order.point, order.steps, (), journal)
    except MemoryError:
        journal.log.note(f"start {order.steps.start}: out of memory.")
        return failed(problem, order)


def failed(problem: Problem, order: Order) -> Outcome:
    """A start that came to nothing."""
    best = best_of((order.point,), problem.options.feasibility_tol)
    return Outcome(Status.NUMERICAL_ERROR, order.point, best, num_steps=order.steps.number)


def follow_elsewhere(problem: Problem, watch: Watch, order: Order) -> Report:
    """The task of another process: make a start, and tell of better points as soon as they are met."""
    program, embeddings = problem.embedded.program, problem.embedded.embeddings
    options = replace(problem.options, verbose=False, log_file=None)
    arguments = Arguments(program, program, list(embeddings), [], options, unlifted(program, embeddings))
    journal = Messenger(arguments, problem, watch, order)
    outcome = follow(problem, order, journal)
    if journal.has_given_up and outcome.status is Status.INTERRUPTED:
        outcome = replace(outcome, status=Status.ITERATION_LIMIT)
    return Report(outcome, order.steps.number, tuple(journal.history), tuple(journal.log.notes))


class Messenger(Journal):
    """The journal of one start in another process. What is better than all that it knows of goes to the run at once."""

    def __init__(self, arguments: Arguments, problem: Problem, watch: Watch, order: Order) -> None:
        super().__init__(arguments, problem.embedded, Clock(watch.left, watch))
        self._watch, self._order = watch, order
        self._improvements: list[float] = []
        self.has_given_up = False

    def offer(self, point: Point) -> None:
        """Keep a point, and send it if nobody has a better one."""
        before = self.incumbent.point
        super().offer(point)
        best = self.incumbent.point
        if best is not None and best is not before and self.incumbent.is_feasible and best.objective <= self._watch.best:
            self._watch.send(best.w)

    def step(self, step: Step) -> None:
        """Write down a step; where there is no hope, the start is left."""
        super().step(step)
        best = self.incumbent.point
        self._improvements.append(best.objective if best is not None and self.incumbent.is_feasible else np.inf)
        if self._order.gives_up and is_hopeless(self._improvements, self._watch.best, self._order.steps.left):
            self.has_given_up = True
            self.clock.stop()


def is_hopeless(reached: list[float], best: float, num_left: int) -> bool:
    """Whether a start whose best objective after each of its steps is given will not be better than `best` in so many steps more.

    Examples
    --------
    >>> is_hopeless([9.0, 8.0, 7.0, 6.9, 6.8, 6.7, 6.6], best=1.0, num_left=20)
    True
    >>> is_hopeless([9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0], best=1.0, num_left=20)
    False
    """
    if len(reached) <= LAST_STEPS or not np.isfinite(reached[-1 - LAST_STEPS]):
        return False
    rate = (reached[-1 - LAST_STEPS // 2] - reached[-1]) / (LAST_STEPS // 2)
    return reached[-1] - num_left * rate > best
