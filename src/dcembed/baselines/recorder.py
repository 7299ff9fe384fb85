"""What every baseline does with the points it meets: measure, complete, keep the best, note when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dcembed.embedded.elimination import eliminate
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.point import Point, measure_point
from dcembed.embedded.verify import predict
from dcembed.options import Options
from dcembed.program.program import Program
from dcembed.result import Result, Sizes, Status, build_result
from dcembed.run.clock import Clock
from dcembed.run.completion import find_start, open_host
from dcembed.run.incumbent import Incumbent
from dcembed.run.log import RunLog
from dcembed.run.search import Search, attempt, completed, count_sizes, failure, record_iteration
from dcembed.solvers import choose_backend
from dcembed.solvers.base import SessionOptions, Solution, SolveStatus

Array = np.ndarray

# What a run reports that found no point to start from.
START_FAILED = {
    SolveStatus.INFEASIBLE: Status.HOST_INFEASIBLE,
    SolveStatus.UNBOUNDED: Status.UNBOUNDED,
    SolveStatus.TIME_LIMIT: Status.TIME_LIMIT,
    SolveStatus.INTERRUPTED: Status.INTERRUPTED,
}


@dataclass(eq=False, kw_only=True)
class Recorder(Search):
    """The points of one run of a baseline. They are treated exactly like the candidates of `dcembed.solve`."""

    program: Program
    embeddings: Sequence[Embedding]
    solver: str = ""
    sizes: Sizes | None = None
    _start: int = 0
    _number: int = 0
    _last: Point | None = None

    def begin(self, method: str, solver: str, num_columns: int, num_rows: int, num_binaries: int = 0) -> None:
        """Note and show what the method solves with, and how large its problem is."""
        self.solver = solver
        added_columns, added_rows = num_columns - self.program.num_columns, num_rows - self.program.num_rows
        self.sizes = count_sizes(self.embedded, added_columns, added_rows, added_binaries=num_binaries)
        self.log.header(self.sizes, method, self.program.problem_class, solver)

    def offer_start(self, w: Array, number: int) -> Point:
        """Measure a starting point (all columns), which begins a new series of iterations."""
        point = measure_point(self.embedded, self.embedded.lower(predict(self.embeddings, w)))
        is_new = self.incumbent.offer(point, self.clock.seconds)
        self._start, self._number, self._last = number, 0, point
        if self.sizes is not None:
            self.log.start(number, self.clock.seconds, point.objective, point.violation, self.incumbent, is_new)
        return point

    def offer(self, w: Array, message: str, penalty: float = 0.0, completes: bool = True) -> Point:
        """Measure a point of all columns, completed where that can make it feasible, and note it as an iteration."""
        point = measure_point(self.embedded, self.embedded.lower(predict(self.embeddings, w)))
        is_new = self.incumbent.offer(point, self.clock.seconds)
        better = completed(self, point) if completes else None
        if better is not None:
            is_new |= self.incumbent.offer(better, self.clock.seconds)
        self._note(point, message, penalty, is_new)
        return point

    def try_point(self, w: Array) -> Point:
        """Measure a point given by its kept columns and keep it if it is the best; no iteration is noted."""
        point = measure_point(self.embedded, w)
        self.incumbent.offer(point, self.clock.seconds)
        return point

    def note_failure(self, message: str, penalty: float = 0.0) -> None:
        """A step of which nothing came."""
        self._note(None, message, penalty, False)

    def default_start(self) -> Solution:
        """Where the host without its neural rows is optimal."""
        return attempt(lambda: find_start(self.host, self.clock.limits()), failure)

    def close(self) -> None:
        self.host.session.close()

    def result(self, status: Status, preparation_seconds: float = 0.0) -> Result:
        """The best point, measured once more."""
        best = self.incumbent.point
        result = build_result(
            status,
            best.x if best is not None else None,
            self.program,
            self.embeddings,
            self.options.feasibility_tol,
            incumbents=self.incumbent.trace,
            incumbent_points=self.incumbent.points,
            history=self.history,
            seconds=self.clock.seconds,
            solver=self.solver,
            sizes=self.sizes,
            preparation_seconds=preparation_seconds,
        )
        self.log.summary(result)
        return result

    def _note(self, point: Point | None, message: str, penalty: float, is_new: bool) -> None:
        self._number += 1
        record_iteration(self, self._start, self._number, self._last, point, penalty, message, is_new)
        self._last = point or self._last


def open_recorder(program: Program, embeddings: Sequence[Embedding], options: Options, clock: Clock) -> Recorder:
    """A recorder whose completions are solved by the default solver of the host."""
    embedded = eliminate(program, embeddings)
    backend = choose_backend(embedded.host.problem_class)
    return Recorder(
        program=program,
        embeddings=embeddings,
        options=options,
        clock=clock,
        embedded=embedded,
        host=open_host(embedded, backend, SessionOptions(options.threads, options.seed)),
        log=RunLog(options.verbose),
        incumbent=Incumbent(options.feasibility_tol),
    )
