"""Projected gradient descent with a quadratic penalty on the neural rows, for continuous hosts (appendix B.3 of the paper).

    P(w) = F(w) + rho / 2 * sum of squared violations of the neural rows,    w <- project(w - alpha * gradient of P)

The projection is onto the host without its neural rows: a QP, or a conic problem where it has curved constraints. Between a feasible
and an infeasible iterate that follow one another the segment is searched for a better feasible point.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.baselines.recorder import Recorder, open_recorder
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.measurements import slopes
from dcembed.embedded.point import Point
from dcembed.errors import InputError
from dcembed.options import Options
from dcembed.program.derive import derive, without_objective
from dcembed.program.program import Program
from dcembed.result import Result
from dcembed.run.arguments import read_arguments
from dcembed.solvers import choose_backend
from dcembed.solvers.base import Backend
from dcembed.solvers.failover import LastingSession, Solver
from dcembed.status import Status
from dcembed.tolerances import MAX_SOLVER_FAILURES

# The paper's alpha and rho; `Options.initial_penalty` replaces rho.
STEP = 0.1
PENALTY = 100.0
# Halvings of the segment between a feasible and an infeasible iterate.
NUM_HALVINGS = 10


def solve(
    program: Program,
    embeddings: Sequence[Embedding] | Embedding,
    start: Result | Array | Sequence[Result | Array] | None = None,
    options: Options | Mapping[str, object] | None = None,
) -> Result:
    """Descend from each start until the time limit, which the starts share; without a limit, `max_iterations` steps from each.

    Parameters are those of `dcembed.solve`. Hosts with integers are refused: a gradient step does not keep them.
    """
    arguments = read_arguments(program, embeddings, start, options)
    if program.integer.any():
        raise InputError(
            f"Projected gradient descent takes continuous hosts only, but this one has {program.num_integers} integer columns. "
            "Use dcembed.solve or another baseline for it."
        )
    with open_recorder(arguments) as recorder, closing(_Projection(recorder)) as projection:
        recorder.begin("projected gradient descent", projection.solver, program.num_columns, program.num_rows)
        status = _run(recorder, projection, arguments.starts)
        recorder.journal.use(projection.solver)
    return recorder.journal.result(status)


def _run(recorder: Recorder, projection: _Projection, starts: list[Array]) -> Status:
    function, num_starts = _Penalized(recorder.embedded, recorder.options.initial_penalty or PENALTY), max(len(starts), 1)
    # Each start has its share of what time is left.
    return recorder.run_starts(starts, lambda w, number: _descend(recorder, projection, function, w, number, num_starts - number))


def _descend(recorder: Recorder, projection: _Projection, function: _Penalized, w: Array, number: int, num_left: int) -> Status:
    point = recorder.offer_start(w, number)
    num_failed = 0
    for _ in _steps(recorder, num_left):
        target = projection.solve(point.w - STEP * function.gradient(point))
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


@dataclass(frozen=True, eq=False)
class _Penalized:
    """The penalized objective of an embedded program."""

    embedded: EmbeddedProgram
    penalty: float

    def gradient(self, point: Point) -> Array:
        """Gradient of P on the linear piece at a point."""
        restrictions, w = self.embedded.restrictions, point.w
        excess = np.maximum(restrictions.linear @ w + point.neural[1:] - restrictions.rhs, 0.0)
        neural: Array = slopes(self.embedded, w).T @ np.concatenate([[1.0], self.penalty * excess])
        linear: Array = self.penalty * (restrictions.linear.T @ excess)
        return self.embedded.host.gradient(w) + neural + linear


class _Projection:
    """The nearest point of a host: everything but its objective, which the distance takes the place of."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder, self._host = recorder, recorder.embedded.host
        self._session: LastingSession | None = None
        # Over a box alone the nearest point is known without a solver.
        if self._host.num_rows or self._host.quadratic_constraints or self._host.cones:
            distance = derive(without_objective(self._host), quadratic=sp.eye_array(self._host.num_columns, format="csr"))
            backend = choose_backend(distance.problem_class, recorder.options.solver)
            self._session = LastingSession(distance, Solver(backend, recorder.session_options, recorder.journal.log.note))

    @property
    def solver(self) -> Backend | str:
        """What projects."""
        return "clipping" if self._session is None else self._session.solver.backend

    def solve(self, target: Array) -> Array | None:
        """The point of the host that is nearest to `target`, None where the solver gave none."""
        if self._session is None:
            return np.clip(target, self._host.lb, self._host.ub)
        self._session.set_cost(-target, 0.0)
        solution = self._session.solve(self._recorder.clock.limits())
        return np.clip(solution.x, self._host.lb, self._host.ub) if solution.x is not None else None

    def close(self) -> None:
        """Release the solver."""
        if self._session is not None:
            self._session.close()
