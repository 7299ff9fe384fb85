"""What every baseline does with the points it meets: measure, complete, keep the best, write down when.

They are treated exactly like the candidates of `dcembed.solve`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager

from dcembed.arrays import Array
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.point import Point, measure_point
from dcembed.options import Options
from dcembed.program.tightening import tighten
from dcembed.run.arguments import Arguments
from dcembed.run.clock import Clock
from dcembed.run.completion import take
from dcembed.run.host import HostProblem, open_host
from dcembed.run.incumbent import Incumbent
from dcembed.run.journal import Journal, Step, count_sizes, open_journal
from dcembed.run.starts import find_start, measure_start, no_start, random_starts, report, with_predictions
from dcembed.solvers import choose_backend
from dcembed.solvers.base import Backend, SessionOptions
from dcembed.solvers.failover import Solver
from dcembed.status import Status


class Recorder:
    """The journal of a baseline, which counts its steps, and the host that completes its points."""

    def __init__(self, journal: Journal, host: HostProblem) -> None:
        self.journal, self.host = journal, host
        self._start, self._number = 0, 0
        self._last: Point | None = None

    @property
    def embedded(self) -> EmbeddedProgram:
        """The problem, as a minimization."""
        return self.journal.embedded

    @property
    def options(self) -> Options:
        """The settings of the run."""
        return self.journal.arguments.options

    @property
    def clock(self) -> Clock:
        """The time of the run."""
        return self.journal.clock

    @property
    def incumbent(self) -> Incumbent:
        """The best point so far."""
        return self.journal.incumbent

    @property
    def session_options(self) -> SessionOptions:
        """Settings of the sessions of a method."""
        return SessionOptions(self.options.threads, self.options.seed, self.options.solver_options)

    def begin(self, method: str, solver: Backend | str, num_columns: int, num_rows: int, num_binaries: int = 0) -> None:
        """Note and show what the method solves with, and how large its problem is."""
        program = self.embedded.program
        added = num_columns - program.num_columns, num_rows - program.num_rows
        self.journal.announce(method, solver, count_sizes(self.embedded, *added, added_binaries=num_binaries))

    def offer_start(self, w: Array, number: int) -> Point:
        """Measure a starting point (all columns), which begins a new series of steps."""
        point = measure_start(self.embedded, self.embedded.lower(w))
        self._start, self._number, self._last = number, 0, point
        self.journal.start(number, point)
        return point

    def offer(self, w: Array, message: str, penalty: float = 0.0) -> Point:
        """Measure a point of all columns, completed where that can make it feasible, and write it down as a step."""
        point = take(self.journal, self.host, with_predictions(self.embedded, self.embedded.lower(w))).point
        self.journal.reach(self._start, point)
        self._note(point, message, penalty)
        return point

    def try_point(self, w: Array) -> Point:
        """Measure a point given by its kept columns and keep it if it is the best; no step is written down."""
        point = measure_point(self.embedded, w)
        self.journal.offer(point)
        self.journal.reach(self._start, point)
        return point

    def note_failure(self, message: str, penalty: float = 0.0) -> None:
        """A step of which nothing came."""
        self._note(None, message, penalty)

    def run_starts(self, starts: list[Array], iterate: Callable[[Array, int], Status], max_starts: int = 1) -> Status:
        """Iterate from each start while there is time: the user's, or where the host alone is optimal and then at random."""
        points: Iterable[Array] = starts
        if not starts:
            found = find_start(self.host, self.clock.limits())
            if found.x is None:
                return no_start(found)
            further = random_starts(self.host, self.options.seed, max_starts - 1, self.clock)
            points = map(self.embedded.lift, itertools.chain([found.x], further))
        statuses: list[Status] = []
        for number, w in enumerate(points):
            if statuses and self.clock.ended():
                break
            statuses.append(iterate(w, number))
        return self.clock.ended() or report(statuses)

    def _note(self, point: Point | None, message: str, penalty: float) -> None:
        self._number += 1
        self.journal.step(Step(self._start, self._number, self._last, point, penalty, message))
        self._last = point or self._last


@contextmanager
def open_recorder(arguments: Arguments) -> Iterator[Recorder]:
    """A recorder whose completions are solved by the default solver of the host."""
    with open_journal(arguments) as journal:
        embedded, options = journal.embedded, arguments.options
        backend = choose_backend(embedded.host.problem_class)
        solver = Solver(backend, SessionOptions(options.threads, options.seed), journal.log.note)
        host = open_host(embedded, tighten(embedded.host, lambda: journal.clock.ended() is not None), solver)
        with closing(host.session):
            host.session.open()
            yield Recorder(journal, host)
