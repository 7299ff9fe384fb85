"""The journal of a run: every method writes down what it does, and nothing that is written there is lost.

The best point, the history and the live log are kept here and nowhere else. A method tells the journal of each point it has measured
and of each step it has made. The engine asks it for nothing but the time, so that one start does not depend on another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from dcembed.crew.crew import Crew, open_crew
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.point import Point, measure_plainly, measure_point
from dcembed.errors import DcembedError
from dcembed.gap import relative_gap
from dcembed.result import Iteration, Result, Sizes, build_result
from dcembed.run.arguments import Arguments
from dcembed.run.checkpoint import open_checkpoint
from dcembed.run.clock import Clock, RunEnded, hear_interrupts
from dcembed.run.incumbent import Incumbent
from dcembed.run.log import RunLog
from dcembed.run.settling import settle
from dcembed.run.table import Standing
from dcembed.saving.problem import is_same_problem
from dcembed.solvers.base import Backend
from dcembed.status import Status

# Starts whose objectives are this near to the best, relatively, agree with it.
AGREEMENT = 1e-3


@dataclass(frozen=True, eq=False)
class Step:
    """One step of a method.

    Parameters
    ----------
    start, number
        From which start, and the how manieth from there.
    last
        The point it was made from.
    candidate
        What came of it; None for nothing.
    penalty, is_hard
        The penalty, and whether no slack was allowed at all.
    message
        What the solver said.
    kind
        Which step of the method it was.
    """

    start: int
    number: int
    last: Point | None
    candidate: Point | None
    penalty: float
    message: str
    is_hard: bool = False
    kind: str = ""


class Journal:
    """What happens in a run. Inside, everything is minimized; what people see has the sense of their program."""

    def __init__(self, arguments: Arguments, embedded: EmbeddedProgram, clock: Clock) -> None:
        self.arguments, self.embedded, self.clock = arguments, embedded, clock
        options = arguments.options
        self.log = RunLog(options.verbose, options.prove is not False, options.log_file, lambda: self._standing)
        self._checkpoint = open_checkpoint(arguments.options.checkpoint, *arguments.lift.given, self.log.note)
        self.incumbent = Incumbent(arguments.options.feasibility_tol, arguments.lift.cut)
        # Who does work that is independent of other work: nobody but this process, unless the run has others.
        self.crew = Crew()
        # What is to be done at every step, if anything.
        self.meanwhile: Callable[[], None] | None = None
        self.history: list[Iteration] = []
        # (seconds, bound) of every improvement of the bound.
        self.bounds: list[tuple[float, float]] = []
        # The objective of the best feasible point of each start, inf for none.
        self._reached: dict[int, float] = {}
        self._solver = ""
        # What the method has announced; None where it has not.
        self._sizes: Sizes | None = None
        # What the points that are offered now come from, and the number of the start that they are of.
        self._origin, self._start = "", 0
        self._is_announced = False
        # Improving points that belong to the steps and starts noted so far.
        self._num_shown = 0
        # Improving points whose columns there was no room for, when the history was last looked through.
        self._num_left_out = 0

    def announce(self, method: str, solver: Backend | str, sizes: Sizes) -> None:
        """Show what the method is, what it solves with, and how large its problem is."""
        self._sizes, self._is_announced = sizes, True
        name = solver if isinstance(solver, str) else solver.name
        self.log.header(sizes, method, self.arguments.program.problem_class, name)
        self.use(solver)

    def use(self, solver: Backend | str) -> None:
        """Note which solver, or what in its place, is at work."""
        if isinstance(solver, str):
            self._solver = solver
            return
        self._solver = solver.name
        options = self.arguments.options
        if options.threads > 1 and not solver.has_threads:
            self.log.note(f"{solver.name} works on one thread; threads={options.threads} makes no difference to it.")
        elif options.threads > options.threads_each:
            there = "there are processors" if options.workers is None else f"the processors have for each of {options.workers} workers"
            self.log.note(f"threads={options.threads} is more than {there}; {options.threads_each} are used.")

    def start(self, number: int, point: Point, origin: str = "", is_own: bool = True) -> None:
        """A starting point, and what it comes from; one that was made from good points is not the start's own, and agrees with nothing."""
        self.work_on(origin, number)
        self.offer(point)
        self.reach(number, point if is_own else None)
        is_new = self._has_news()
        if self._is_announced and not self.log.is_quiet:
            self.log.start(number, self.clock.seconds, self._sense * point.objective, point.violation, self._standing, origin, is_new)

    def work_on(self, origin: str, start: int | None = None) -> None:
        """What comes from now on is owed to this: a kind of starts, and the start of this number where it is one."""
        self._origin, self._start = origin, self._start if start is None else start

    def take_up(self, result: Result) -> None:
        """Go on from an earlier result: its point, exactly as it is, and its bound where it is about the same problem.

        The point is there before anything else is done, so whatever ends the run, its answer is no worse.
        """
        if result.x is not None:
            point = measure_point(self.embedded, self.embedded.lower(self.arguments.lift.complete(result.x)))
            self.work_on("given")
            self._keep(measure_plainly(self.embedded, point))
        if result.bound == -result.program.sense * np.inf:
            return
        if is_same_problem((result.program, result.embeddings), self.arguments.lift.given):
            self.certify(self._sense * result.bound)
        else:
            self.log.note("The result to go on from is about another problem: its point is a start, its bound is not taken up.")

    def offer(self, point: Point) -> None:
        """A point that was measured: it is kept if it is the best so far, without what it owes to the feasibility tolerance.

        What is kept has been measured plainly, from the program and the networks; what cannot be kept need not be.
        """
        if point.columns is None and not self.incumbent.wants(point):
            return
        point = measure_plainly(self.embedded, point)
        if self.incumbent.accepts(point) and self.incumbent.is_improved_by(point, self._start):
            point = measure_plainly(self.embedded, settle(self.embedded, point))
        self._keep(point)

    def _keep(self, point: Point) -> None:
        """Keep a point that was measured plainly if it is the best so far."""
        before = self.incumbent.point
        self.incumbent.offer(point, self.clock.seconds, self._origin, self._start)
        if self.incumbent.point is not before:
            self._write_down()
        if self.incumbent.is_feasible and self.incumbent.point is not None:
            self.crew.exchange.tell(self.incumbent.point.objective)

    @property
    def num_starts(self) -> int:
        """Starts so far."""
        return len(self._reached)

    def reach(self, start: int, point: Point | None) -> None:
        """A point that a start has come to: how many starts agree is counted by the best feasible one of each."""
        best = self._reached.get(start, np.inf)
        is_better = point is not None and self.incumbent.accepts(point) and point.objective < best
        self._reached[start] = point.objective if point is not None and is_better else best

    @contextmanager
    def limited_to(self, seconds: float) -> Iterator[None]:
        """Let a part of the run take no more than so many seconds."""
        whole = self.clock
        self.clock = whole.part(seconds)
        try:
            yield
        finally:
            self.clock = whole

    def certify(self, bound: float, message: str = "") -> None:
        """A proof that no feasible point has a smaller objective, all being minimized; inf proves that there is none.

        The message says what has proved it, for the log. What is no better than what is known, -inf and NaN change nothing. Neither does a proof that there is no feasible point where there
        is one: it holds without tolerances, and the point with them.
        """
        if bound > self.bound and not (bound == np.inf and self.incumbent.is_feasible):
            self.bounds.append((self.clock.seconds, float(bound)))
            self._write_down()
            if self._is_announced:
                self.log.bound(self.clock.seconds, self._standing, message)

    @property
    def bound(self) -> float:
        """The best certified bound on what is minimized; -inf for none, inf where there is no feasible point."""
        return self._known_bounds[-1][1] if self._known_bounds else -np.inf

    @property
    def gap(self) -> float:
        """The relative gap between the best feasible point and the bound; inf where one of the two is not known."""
        best = self.incumbent.point
        return relative_gap(best.objective, self.bound) if best is not None and self.incumbent.is_feasible else np.inf

    @property
    def is_closed(self) -> bool:
        """Whether nothing is left to prove: the best point is optimal to the gap tolerance, or there is no feasible point."""
        return self.gap <= self.arguments.options.gap_tol or self.bound == np.inf

    def step(self, step: Step) -> None:
        """A step that was made; the user's callback may end the run here."""
        last, candidate = step.last, step.candidate
        record = Iteration(
            start=step.start,
            number=step.number,
            seconds=self.clock.seconds,
            objective=self._sense * candidate.objective if candidate else np.nan,
            violation=candidate.violation if candidate else np.inf,
            merit=candidate.merit(step.penalty) if candidate else np.nan,
            point_merit=last.merit(step.penalty) if last else np.nan,
            penalty=np.inf if step.is_hard else step.penalty,
            step=float(np.abs(candidate.w - last.w).max(initial=0.0)) if candidate and last else np.nan,
            solver_status=step.message,
            is_incumbent=self._has_news(),
            kind=step.kind,
            best=self._best,
            point=self.incumbent.points[-1] if self.incumbent.points else None,
            origin=self._origin,
        )
        self._write(record)

    def take_over(self, history: Iterable[Iteration], notes: Iterable[str], begun: float) -> None:
        """The steps that another process has made, all being minimized there, and what it has to say; `begun` is when it began."""
        for note in notes:
            self.log.note(note)
        for record in history:
            seconds, objective = begun + record.seconds, self._sense * record.objective
            point = self.incumbent.points[-1] if self.incumbent.points else None
            self._write(replace(record, seconds=seconds, objective=objective, is_incumbent=self._has_news(), best=self._best, point=point))

    def _write(self, record: Iteration) -> None:
        self._remember(record)
        if self.meanwhile is not None:
            self.meanwhile()
        if not self.log.is_quiet:
            self.log.iteration(record, self._standing)
        callback = self.arguments.options.callback
        if callback is not None and callback(record):
            self.clock.stop()

    def _remember(self, record: Iteration) -> None:
        """Write a step down, without points that the incumbent has no room for any more."""
        if self.incumbent.num_left_out > self._num_left_out:
            kept, self._num_left_out = {id(point) for point in self.incumbent.points}, self.incumbent.num_left_out
            self.history = [each if id(each.point) in kept else replace(each, point=None) for each in self.history]
        self.history.append(record)

    def result(self, status: Status, preparation_seconds: float = 0.0, reason: str = "", is_said: bool = True) -> Result:
        """The best point, measured once more, and the bound; whatever ended the run, a closed gap makes the point optimal.

        What is not said has no closing lines in the log.
        """
        arguments, best = self.arguments, self.incumbent.point
        result = build_result(
            self._proved(status),
            arguments.lift.cut(best.x) if best is not None else None,
            *arguments.lift.given,
            arguments.options.feasibility_tol,
            bound=self._sense * self.bound,
            gap_tol=arguments.options.gap_tol,
            bounds=[(seconds, self._sense * bound) for seconds, bound in self._known_bounds],
            agreement=self._agreement,
            num_starts=self.num_starts,
            incumbents=[(seconds, self._sense * objective) for seconds, objective in self.incumbent.trace],
            incumbent_points=self.incumbent.points,
            origins=self.incumbent.origins,
            history=self.history,
            seconds=self.clock.seconds,
            solver=self._solver,
            sizes=self._sizes or count_sizes(self.embedded, 0, 0),
            preparation_seconds=preparation_seconds,
            reason=reason,
            notes=self.log.notes,
            words=arguments.words,
        )
        result = self._with_warnings(result)
        if self._checkpoint is not None:
            result = self._checkpoint.finish(result)
        if is_said:
            self.log.summary(result)
        return result

    def _with_warnings(self, result: Result) -> Result:
        """The result with a note where its answer is outside of everything that the networks have seen."""
        report = result.support
        if report is None or not report.warnings:
            return result
        for words in report.warnings:
            self.log.note(words)
        return replace(result, notes=self.log.notes)

    def _write_down(self) -> None:
        """Let the checkpoint have what is best so far; whoever reads it measures it."""
        if self._checkpoint is None:
            return
        arguments, best = self.arguments, self.incumbent.point
        self._checkpoint.hear(
            Result(
                status=Status.INTERRUPTED,
                x=arguments.lift.cut(best.x) if best is not None else None,
                objective=self._sense * best.objective if best is not None else np.nan,
                violation=best.violation if best is not None else np.inf,
                is_feasible=self.incumbent.is_feasible,
                incumbents=[(seconds, self._sense * objective) for seconds, objective in self.incumbent.trace[-1:]],
                incumbent_points=self.incumbent.points[-1:],
                origins=self.incumbent.origins[-1:],
                bound=self._sense * self.bound,
                bounds=[(seconds, self._sense * bound) for seconds, bound in self._known_bounds[-1:]],
                gap_tol=arguments.options.gap_tol,
                num_starts=self.num_starts,
                history=[],
                seconds=self.clock.seconds,
                solver=self._solver,
                sizes=self._sizes or count_sizes(self.embedded, 0, 0),
                program=arguments.lift.given[0],
                embeddings=arguments.lift.given[1],
                feasibility_tol=arguments.options.feasibility_tol,
                reason="the run was still under way when this was written",
            )
        )

    def _proved(self, status: Status) -> Status:
        """The status that the bound proves, else the one that the method ended with."""
        if not self.is_closed or status in (Status.HOST_INFEASIBLE, Status.OUTSIDE_SUPPORT):
            return status
        return Status.OPTIMAL if self.incumbent.is_feasible else Status.INFEASIBLE

    @property
    def _known_bounds(self) -> list[tuple[float, float]]:
        """The bounds without a proof of infeasibility that a feasible point, found later, has refuted."""
        return [entry for entry in self.bounds if entry[1] < np.inf] if self.incumbent.is_feasible else self.bounds

    @property
    def _agreement(self) -> int:
        """Starts that ended as well as the best feasible point."""
        best = self.incumbent.point
        if best is None or not self.incumbent.is_feasible:
            return 0
        return sum(relative_gap(best.objective, objective, sense=-1.0) <= AGREEMENT for objective in self._reached.values())

    @property
    def _sense(self) -> float:
        return self.arguments.program.sense

    @property
    def _best(self) -> float:
        point = self.incumbent.point
        return self._sense * point.objective if point is not None and self.incumbent.is_feasible else np.nan

    @property
    def _standing(self) -> Standing:
        point = self.incumbent.point
        return Standing(self._best, self._sense * self.bound, self.gap, point.violation if point is not None else np.inf)

    def _has_news(self) -> bool:
        """Whether the best feasible point has improved since it was last shown."""
        before, self._num_shown = self._num_shown, len(self.incumbent.trace)
        return self._num_shown > before


@contextmanager
def open_journal(
    arguments: Arguments, with_switches: bool = False, write: Callable[[Clock], EmbeddedProgram] | None = None
) -> Iterator[Journal]:
    """Start the clock, hear Ctrl-C, and write the problem as methods take it, with its switches read as indicators if they want that.

    An error that ends the run, the callback's or one of ours, takes the result so far with it as `error.result`. Who has a problem written already, or most
    of it, gives a function that does the rest.
    """
    clock = Clock(arguments.options.time_limit, arguments.options.stop)
    with hear_interrupts(clock):
        embedded, options = _eliminated(arguments, with_switches, clock) if write is None else write(clock), arguments.options
        journal = Journal(arguments, embedded, clock)
        try:
            with open_crew(options.workers, options.executor, journal.log.note) as journal.crew:
                for result in arguments.results:
                    journal.take_up(result)
                yield journal
        except BaseException as error:
            if not hasattr(error, "result"):
                # A mistake in what was given speaks for itself: closing lines would only hide it.
                is_said = not isinstance(error, DcembedError) or journal.incumbent.point is not None
                reason = f"{type(error).__name__}: {error}"
                error.result = journal.result(Status.INTERRUPTED, reason=reason, is_said=is_said)  # type: ignore[attr-defined]
            raise
        finally:
            journal.log.end()


def _eliminated(arguments: Arguments, with_switches: bool, clock: Clock) -> EmbeddedProgram:
    """The problem as methods take it; switches are left unread where the time ends meanwhile."""
    try:
        return eliminate(arguments.minimized, arguments.embeddings, with_switches, clock.check)
    except RunEnded:
        return eliminate(arguments.minimized, arguments.embeddings)


def count_sizes(embedded: EmbeddedProgram, added_columns: int, added_rows: int, slacks: int = 0, added_binaries: int = 0) -> Sizes:
    """What the problem has, and what a method adds to it."""
    return Sizes(
        host_columns=embedded.program.num_columns,
        host_rows=embedded.program.num_rows,
        integers=embedded.program.num_integers,
        networks=len(embedded.networks),
        evaluations=sum(measured.num_blocks for measured in embedded.networks),
        hidden_units=sum(measured.num_blocks * measured.network.num_hidden for measured in embedded.networks),
        neural_rows=embedded.restrictions.num_restrictions,
        added_columns=added_columns,
        added_rows=added_rows,
        slacks=slacks,
        added_binaries=added_binaries,
        switches=embedded.num_switches,
        implied_rows=embedded.num_implied,
    )
