"""Projected gradient descent with a quadratic penalty on the neural rows, for continuous hosts (appendix B.3 of the paper).

    P(w) = F(w) + rho / 2 * sum of squared violations of the neural rows,    w <- project(w - alpha * gradient of P)

The projection is onto the rows and bounds of the host, a QP. Between a feasible and an infeasible iterate that follow one another
the segment is searched for a better feasible point.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.baselines.recorder import START_FAILED, Recorder, open_recorder
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.embedded.measurements import kept_affine, num_measurements, pull_back, sum_parts, sweep
from dcembed.embedded.point import Point
from dcembed.errors import InputError
from dcembed.options import Options
from dcembed.program.program import Program
from dcembed.result import Result, Status
from dcembed.run.arguments import read_embeddings, read_options, read_starts
from dcembed.run.clock import Clock, hear_interrupts
from dcembed.run.search import attempt, failure
from dcembed.solvers import choose_backend
from dcembed.solvers.base import Session, SessionOptions
from dcembed.tolerances import MAX_SOLVER_FAILURES

Array = np.ndarray

# The paper's alpha and rho; `Options.initial_penalty` replaces rho.
STEP = 0.1
PENALTY = 100.0
# Halvings of the segment between a feasible and an infeasible iterate.
NUM_HALVINGS = 10


def solve(
    program: Program,
    embeddings: Sequence[Embedding] | Embedding,
    start: Array | Sequence[Array] | None = None,
    options: Options | Mapping[str, object] | None = None,
) -> Result:
    """Descend from each start until the time limit, which the starts share; without a limit, `max_iterations` steps from each.

    Parameters are those of `dcembed.solve`. Hosts with integers are refused: a gradient step does not keep them.
    """
    options = read_options(options)
    embeddings = read_embeddings(program, embeddings)
    if program.integer.any():
        raise InputError(
            f"Projected gradient descent takes continuous hosts only, but this one has {program.num_integers} integer columns. "
            "Use dcembed.solve or another baseline for it."
        )
    starts = read_starts(start, program.num_columns)
    clock = Clock(options.time_limit)
    with hear_interrupts(clock):
        recorder = open_recorder(program, embeddings, options, clock)
        projection = _Projection(recorder.embedded.host, recorder)
        recorder.begin("projected gradient descent", projection.solver, program.num_columns, program.num_rows)
        try:
            status = _run(recorder, projection, starts)
        finally:
            projection.close()
            recorder.close()
    return recorder.result(status)


def _run(recorder: Recorder, projection: _Projection, starts: list[Array]) -> Status:
    if not starts:
        found = recorder.default_start()
        if found.x is None:
            return START_FAILED.get(found.status, Status.NUMERICAL_ERROR)
        starts = [recorder.embedded.lift(found.x)]
    function = _Penalized(recorder.embedded, recorder.options.initial_penalty or PENALTY)
    # Each start has its share of what time is left.
    statuses = [_descend(recorder, projection, function, w, number, len(starts) - number) for number, w in enumerate(starts)]
    return statuses[-1]


def _descend(recorder: Recorder, projection: _Projection, function: _Penalized, w: Array, number: int, num_left: int) -> Status:
    point = recorder.offer_start(w, number)
    num_failed = 0
    for _ in _steps(recorder, num_left):
        target = projection.solve(point.w - STEP * function.gradient(point.w))
        if target is None:
            if ended := recorder.clock.ended():
                return ended
            recorder.note_failure("projection failed", function.penalty)
            num_failed += 1
            if num_failed == MAX_SOLVER_FAILURES:
                return Status.NUMERICAL_ERROR
            continue
        num_failed = 0
        last, point = point, recorder.offer(recorder.embedded.lift(target), "projected", function.penalty)
        if recorder.incumbent.accepts(last) != recorder.incumbent.accepts(point):
            _search_segment(recorder, *((last, point) if recorder.incumbent.accepts(last) else (point, last)))
        if np.array_equal(last.w, point.w):
            return Status.LOCALLY_SOLVED if recorder.incumbent.is_feasible else Status.LOCALLY_INFEASIBLE
    return recorder.clock.ended() or (Status.ITERATION_LIMIT if np.isinf(recorder.options.time_limit) else Status.TIME_LIMIT)


def _steps(recorder: Recorder, num_left: int) -> Iterator[None]:
    """Until the share of this start is over; without a time limit, a number of steps."""
    limit = recorder.options.time_limit
    if np.isinf(limit):
        for _ in range(recorder.options.max_iterations):
            if recorder.clock.ended():
                return
            yield
        return
    until = recorder.clock.seconds + (limit - recorder.clock.seconds) / num_left
    while recorder.clock.seconds < until and not recorder.clock.ended():
        yield


def _search_segment(recorder: Recorder, feasible: Point, infeasible: Point) -> None:
    """Halve the segment towards the infeasible end. Rows and bounds of the host hold on all of it, and all points are measured."""
    inside, outside = 0.0, 1.0
    for _ in range(NUM_HALVINGS):
        middle = (inside + outside) / 2
        if recorder.clock.ended():
            return
        w = feasible.w + middle * (infeasible.w - feasible.w)
        if recorder.incumbent.accepts(recorder.try_point(w)):
            inside = middle
        else:
            outside = middle


@dataclass(eq=False)
class _Penalized:
    """The penalized objective of an embedded program."""

    embedded: EmbeddedProgram
    penalty: float

    def __post_init__(self) -> None:
        self._affine = kept_affine(self.embedded)[0]

    def gradient(self, w: Array) -> Array:
        """Gradient of P on the linear piece at w."""
        restrictions = self.embedded.restrictions
        value, slope = self._measure(w)
        excess = np.maximum(restrictions.linear @ w + value[1:] - restrictions.rhs, 0.0)
        neural = slope.T @ np.concatenate([[1.0], self.penalty * excess])
        return self.embedded.host.gradient(w) + neural + self.penalty * (restrictions.linear.T @ excess)

    def _measure(self, w: Array) -> tuple[Array, sp.csr_array]:
        """Values of all measurements (s + 1,) and their gradients (s + 1, n)."""
        size = num_measurements(self.embedded)
        value, slope = np.zeros(size), self._affine
        for measured in self.embedded.networks:
            swept = sweep(measured, w, _difference(measured))
            value += np.bincount(measured.parts.measurement, swept.value, minlength=size)
            slope = slope + sum_parts(measured, size) @ pull_back(measured, swept.gradient)
        return value, sp.csr_array(slope)


def _difference(measured: MeasuredNetwork) -> list[Array]:
    """Weights of the units in the measurements themselves, G - H."""
    return [g - h for g, h in zip(measured.split.convex, measured.split.concave, strict=True)]


class _Projection:
    """The nearest point of a host, by a QP where it has rows."""

    def __init__(self, host: Program, recorder: Recorder) -> None:
        options = recorder.options
        self._host, self._recorder = host, recorder
        self._session: Session | None = None
        self.solver = "clipping"
        if host.num_rows:
            backend = choose_backend("QP", options.solver)
            self.solver = backend.name
            n = host.num_columns
            distance = Program(np.zeros(n), sp.eye_array(n), rows=host.rows, row_lb=host.row_lb, row_ub=host.row_ub, lb=host.lb, ub=host.ub)
            self._session = backend.open(distance, SessionOptions(options.threads, options.seed, options.solver_options))

    def solve(self, target: Array) -> Array | None:
        """The point of the host that is nearest to `target`, None where the solver gave none."""
        if self._session is None:
            return np.clip(target, self._host.lb, self._host.ub)
        session = self._session
        session.set_cost(-target, 0.0)
        solution = attempt(lambda: session.solve(self._recorder.clock.limits()), failure)
        return np.clip(solution.x, self._host.lb, self._host.ub) if solution.x is not None else None

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
