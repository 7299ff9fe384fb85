"""Relax-and-walk after Tong, Cai and Serra (2024, arXiv 2401.03451), for networks in the objective over a polyhedron.

Relax: the linear relaxation of the exact encoding is solved, its inputs are where a walk begins; then its units are fixed on or off one
after the other, stage by stage and in random order, and every relaxation that has a solution is the beginning of another walk. Walk: with
all units fixed as they are at a point, the encoding is a linear program over the linear region of that point; from its solution a small
step leads into a better neighbouring region, as long as there is one.

Reconstructed from the abstract and public descriptions of the method, without the authors' code. What these leave open is decided here:
a unit is fixed at random, in proportion to how far on and off the last relaxation has it, and the other way where that is infeasible;
a pass ends after a few such cases; the step into the next region is the best point of the host within a small box by the slope at the
solution or just behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

import numpy as np

from dcembed.arrays import Array
from dcembed.baselines.recorder import Recorder, open_recorder
from dcembed.baselines.refusals import refuse_nonconvex, refuse_smooth
from dcembed.embedded.big_m import default_bounds
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.encoding import Encoding, encode
from dcembed.embedded.measurements import slopes
from dcembed.embedded.point import Point, measure_plainly
from dcembed.embedded.verify import predict
from dcembed.errors import InputError
from dcembed.options import Options
from dcembed.program.program import Program
from dcembed.result import Result
from dcembed.run.arguments import read_arguments
from dcembed.run.stopping import agree
from dcembed.solvers import choose_backend
from dcembed.solvers.base import Backend, SolveStatus
from dcembed.solvers.failover import LastingSession, Solver
from dcembed.status import Status

# Fixings that turn out infeasible before a pass ends: those behind them say little.
MAX_INFEASIBLE = 5
# The least chance that a unit is fixed on, and off.
LEAST_CHANCE = 0.1
# The size of a step into the next region, as a share of the range of a column, or of its size where that is infinite.
STEP = 1e-3


def solve(
    program: Program,
    embeddings: Sequence[Embedding] | Embedding,
    start: Result | Array | Sequence[Result | Array] | None = None,
    options: Options | Mapping[str, object] | None = None,
) -> Result:
    """Walk from the starts, then from relaxations until the time limit, in at most `max_iterations` passes over the units.

    Parameters are those of `dcembed.solve`. Hosts with integers, curved constraints or neural rows are refused.
    """
    arguments = read_arguments(program, embeddings, start, options)
    refuse_nonconvex(program, "Relax-and-walk")
    refuse_smooth(arguments.embeddings, "Relax-and-walk")
    with open_recorder(arguments) as recorder:
        _check(recorder)
        points = [recorder.offer_start(w, number) for number, w in enumerate(arguments.starts)]
        with closing(_Walker(recorder)) as walker:
            status = _run(recorder, walker, points)
            recorder.journal.use(walker.backend)
    return recorder.journal.result(status)


def _check(recorder: Recorder) -> None:
    program, num_rows = recorder.embedded.program, recorder.embedded.restrictions.num_restrictions
    cure = "Use dcembed.solve or another baseline for it."
    if program.integer.any():
        raise InputError(f"Relax-and-walk takes continuous hosts only, but this one has {program.num_integers} integer columns. {cure}")
    if num_rows:
        raise InputError(
            f"Relax-and-walk takes networks in the objective only, but this problem has {num_rows} neural restrictions. {cure}"
        )
    if program.quadratic_constraints or program.cones:
        raise InputError(f"Relax-and-walk takes polyhedra only, but this host has quadratic or cone constraints. {cure}")


def _run(recorder: Recorder, walker: _Walker, starts: list[Point]) -> Status:
    rng = np.random.default_rng(recorder.options.seed)
    for number, point in enumerate(starts):
        walker.walk(recorder.offer_start(measure_plainly(recorder.embedded, point).x, number))
    for number in range(recorder.options.max_iterations):
        for w in walker.relax(rng):
            walker.walk(recorder.offer_start(w, len(starts) + number))
        if ended := recorder.clock.ended():
            return ended
        if not recorder.incumbent.is_feasible:
            return walker.failure
        if not walker.unit.size:
            # Without open units there is one region.
            return Status.LOCALLY_SOLVED
    return Status.ITERATION_LIMIT


class _Walker:
    """The relaxed encoding and the host alone inside their solvers, edited from one region to the next."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder, embedded = recorder, recorder.embedded
        self._encoding = encode(embedded.program, embedded.embeddings, default_bounds(embedded.program, embedded.embeddings))
        self.unit, self._cut = self._encoding.open_columns()
        self._passes = _stages(self._encoding)
        self.failure = Status.NUMERICAL_ERROR
        relaxation = self._encoding.relaxation()
        solver = Solver(
            choose_backend(relaxation.problem_class, recorder.options.solver), recorder.session_options, recorder.journal.log.note
        )
        self._session, self._host = LastingSession(relaxation, solver), LastingSession(embedded.host, solver)
        recorder.begin("relax-and-walk", solver.backend, relaxation.num_columns, relaxation.num_rows)

    @property
    def backend(self) -> Backend:
        """The solver in use."""
        return self._session.solver.backend

    def relax(self, rng: np.random.Generator) -> Iterator[Array]:
        """One pass over the open units: all columns of the program at the solution of every relaxation on the way."""
        size = self.unit.size
        on, off, num_infeasible = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool), 0
        columns = self._solve(on, off)
        if columns is None:
            return
        yield self._point(columns)
        for unit in np.concatenate([np.zeros(0, dtype=np.int64), *(rng.permutation(stage) for stage in self._passes)]):
            if num_infeasible == MAX_INFEASIBLE or self._recorder.clock.ended():
                return
            high, low = columns[self.unit[unit]], columns[self._cut[unit]]
            chance = high / (high + low) if high + low > 0 else 0.5
            on[unit] = rng.random() < np.clip(chance, LEAST_CHANCE, 1 - LEAST_CHANCE)
            off[unit] = not on[unit]
            found = self._solve(on, off)
            if found is None:
                num_infeasible += 1
                on[unit], off[unit] = off[unit], on[unit]
            elif not np.array_equal(self._point(found), self._point(columns)):
                columns = found
                yield self._point(columns)

    def walk(self, point: Point) -> None:
        """From region to region while the objective falls."""
        recorder = self._recorder
        while not recorder.clock.ended():
            values = self._encoding.values(predict(recorder.embedded.embeddings, measure_plainly(recorder.embedded, point).x))
            on = values[self.unit] >= values[self._cut]
            columns = self._solve(on, ~on)
            if columns is None:
                return
            solved = recorder.offer(self._point(columns), "linear region")
            best = solved if solved.objective < point.objective else point
            following = self._step(best, solved.w - point.w)
            if following is None or agree(following.objective, point.objective, recorder.options.objective_tol):
                return
            point = following

    def _step(self, point: Point, direction: Array) -> Point | None:
        """A better point of the host close by, which then lies in another region; None if none was found."""
        recorder, host = self._recorder, self._recorder.embedded.host
        width = np.where(np.isfinite(host.ub - host.lb), host.ub - host.lb, np.maximum(1.0, np.abs(point.w)))
        lb, ub = np.maximum(host.lb, point.w - STEP * width), np.minimum(host.ub, point.w + STEP * width)
        largest = np.abs(direction / np.where(width > 0, width, 1.0)).max(initial=0.0)
        behind = point.w + STEP * direction / largest if largest > 0 else point.w
        found = []
        for place in (np.clip(behind, host.lb, host.ub), point.w):
            self._host.set_bounds(lb, ub)
            self._host.set_cost(host.cost + slopes(recorder.embedded, place)[[0]].toarray()[0], host.offset)
            solution = self._host.solve(recorder.clock.limits())
            if solution.x is not None:
                found.append(recorder.try_point(np.clip(solution.x, lb, ub)))
        better = [one for one in found if recorder.incumbent.accepts(one) and one.objective < point.objective]
        return min(better, key=lambda one: one.objective) if better else None

    def _solve(self, on: Array, off: Array) -> Array | None:
        """The relaxation with some units fixed on and off, each of shape (number of open units,); None if there is no solution."""
        ub = self._encoding.ub.copy()
        ub[self._cut[on]] = 0.0
        ub[self.unit[off]] = 0.0
        self._session.set_bounds(self._encoding.lb, ub)
        solution = self._session.solve(self._recorder.clock.limits())
        if solution.status is SolveStatus.FAILED:
            self._session.reopen()
        self.failure = {SolveStatus.INFEASIBLE: Status.INFEASIBLE, SolveStatus.UNBOUNDED: Status.UNBOUNDED}.get(
            solution.status, self.failure
        )
        return solution.x

    def _point(self, columns: Array) -> Array:
        """The columns of the program, within their bounds; predictions follow when it is measured."""
        program = self._encoding.program
        return np.clip(columns[: program.num_columns], program.lb, program.ub)

    def close(self) -> None:
        """Release the solvers."""
        self._session.close()
        self._host.close()


def _stages(encoding: Encoding) -> list[Array]:
    """The numbers of the open units by stage, all evaluations and embeddings together: the first stages first."""
    depth = max((len(stages) for stages in encoding.units), default=0)
    numbers: list[list[Array]] = [[] for _ in range(depth)]
    first = 0
    for stages in encoding.units:
        for index, stage in enumerate(stages):
            size = int(stage.is_open.sum())
            numbers[index].append(first + np.arange(size))
            first += size
    return [np.concatenate(own) for own in numbers]
