"""The difference-of-convex algorithm of Liu and Dvorkin (2025) on the complementarity form of the units.

A unit z = max(a, 0) is z >= 0, s = z - a >= 0 and z s = 0. The bilinear part is penalized and split,

    rho * sum z s = rho / 4 * sum (z + s)^2  -  rho / 4 * sum (z - s)^2,

and the second sum is linearized at the last iterate, so each subproblem is a convex QP over the host, all units as columns and
their linear equalities (a mixed-integer QP where the host has integers). The penalty grows when the iterates stand still and
some products are not zero yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.baselines.recorder import Recorder, open_recorder
from dcembed.baselines.refusals import refuse_nonconvex, refuse_smooth
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.encoding import Encoding, encode
from dcembed.embedded.measurements import slopes
from dcembed.embedded.point import Point
from dcembed.embedded.room import require_room_for_units
from dcembed.embedded.unit_bounds import bound_evaluations, column_box
from dcembed.embedded.verify import predict
from dcembed.options import Options
from dcembed.program.derive import derive
from dcembed.program.program import Program
from dcembed.result import Result
from dcembed.run.arguments import read_arguments
from dcembed.run.clock import RunEnded
from dcembed.run.penalty import MAX_PENALTY_RATIO, MAX_STEP, Penalty
from dcembed.run.stopping import agree
from dcembed.solvers import choose_backend
from dcembed.solvers.base import Backend, Solution, SolveStatus
from dcembed.solvers.failover import LastingSession, Solver
from dcembed.status import Status
from dcembed.tolerances import MAX_SOLVER_FAILURES

_FAILED = {
    SolveStatus.INFEASIBLE: Status.INFEASIBLE,
    SolveStatus.UNBOUNDED: Status.UNBOUNDED,
    SolveStatus.TIME_LIMIT: Status.TIME_LIMIT,
    SolveStatus.INTERRUPTED: Status.INTERRUPTED,
}


@dataclass(frozen=True, eq=False)
class _Lifted:
    """The host with all units as columns; `unit` and `cut` are those of the open units."""

    encoding: Encoding
    program: Program
    backend: Backend
    unit: Array
    cut: Array

    def products(self, columns: Array) -> float:
        """The largest z s."""
        return float((columns[self.unit] * columns[self.cut]).max(initial=0.0))


def solve(
    program: Program,
    embeddings: Sequence[Embedding] | Embedding,
    start: Result | Array | Sequence[Result | Array] | None = None,
    options: Options | Mapping[str, object] | None = None,
) -> Result:
    """Iterate from each start. Parameters are those of `dcembed.solve`.

    `initial_penalty` is the first rho, by default scaled to the problem.
    """
    arguments = read_arguments(program, embeddings, start, options)
    refuse_nonconvex(program, "The method of complementarity")
    refuse_smooth(arguments.embeddings, "The method of complementarity")
    listed = ((embedding.network, embedding.num_evaluations) for embedding in arguments.embeddings)
    require_room_for_units(listed, "The method of complementarity", "dcembed.solve does not need them.")
    with open_recorder(arguments) as recorder:
        try:
            status = _run(recorder, arguments.starts)
        except RunEnded as ended:
            status = ended.status
    return recorder.journal.result(status)


def _run(recorder: Recorder, starts: list[Array]) -> Status:
    for number, w in enumerate(starts):
        recorder.offer_start(w, number)
    lifted = _lift(recorder)
    program = lifted.program
    recorder.begin("difference-of-convex algorithm on complementarity", lifted.backend, program.num_columns, program.num_rows)
    return recorder.run_starts(starts, lambda w, number: _iterate(recorder, lifted, w, number))


def _iterate(recorder: Recorder, lifted: _Lifted, w: Array, number: int) -> Status:
    options = recorder.options
    point = recorder.offer_start(w, number)
    columns = lifted.encoding.values(predict(recorder.embedded.embeddings, w))
    value = options.initial_penalty or _estimate_penalty(recorder, lifted, point)
    penalty = Penalty(value, options.penalty_growth, options.max_penalty or MAX_PENALTY_RATIO * value)
    last, num_failed = np.inf, 0
    for _ in range(options.max_iterations):
        if status := recorder.clock.ended():
            return status
        solution = _step(recorder, lifted, columns, penalty.value)
        if solution.x is None:
            recorder.note_failure(solution.message, penalty.value)
            num_failed += 1
            if solution.status in _FAILED or num_failed == MAX_SOLVER_FAILURES:
                return recorder.clock.ended() or _FAILED.get(solution.status, Status.NUMERICAL_ERROR)
            penalty = penalty.grown()
            continue
        num_failed = 0
        columns = solution.x
        n = recorder.embedded.program.num_columns
        recorder.offer(columns[:n], solution.message or solution.status.value, penalty.value)
        merit = _merit(lifted, columns, penalty.value)
        if agree(merit, last, options.objective_tol):
            if lifted.products(columns) <= options.feasibility_tol or penalty.is_largest:
                return Status.LOCALLY_SOLVED if recorder.incumbent.is_feasible else Status.LOCALLY_INFEASIBLE
            penalty, merit = penalty.grown(), np.inf
        last = merit
    return Status.ITERATION_LIMIT


def _lift(recorder: Recorder) -> _Lifted:
    program, embeddings = recorder.embedded.program, recorder.embedded.embeddings
    check = recorder.clock.check
    box = column_box(program, embeddings, check)
    encoding = encode(program, embeddings, [bound_evaluations(embedding, *box, check) for embedding in embeddings])
    unit, cut = encoding.open_columns()
    lifted = encoding.program_with_units()
    # The penalty makes a quadratic program of it, wherever it is linearized.
    curved = derive(lifted, quadratic=_squares(unit, cut, 1.0, lifted.num_columns)) if unit.size else lifted
    return _Lifted(encoding, lifted, choose_backend(curved.problem_class, recorder.options.solver), unit, cut)


def _estimate_penalty(recorder: Recorder, lifted: _Lifted, point: Point) -> float:
    """Change of the objective over a natural step of one column, against the product z s that a unit can typically have."""
    embedded, host = recorder.embedded, recorder.embedded.host
    width = host.ub - host.lb
    width = np.where(np.isfinite(width), np.minimum(width, MAX_STEP), 1.0)
    gradient = host.gradient(point.w) + slopes(embedded, point.w)[[0]].toarray()[0]
    product = lifted.encoding.ub[lifted.unit] * lifted.encoding.ub[lifted.cut]
    product = product[np.isfinite(product)]
    gain = float(np.abs(gradient * width).max(initial=0.0))
    return gain / float(np.median(product)) if gain > 0 and product.size else 1.0


def _step(recorder: Recorder, lifted: _Lifted, columns: Array, penalty: float) -> Solution:
    """Linearize at `columns` and solve."""
    solver = Solver(lifted.backend, recorder.session_options, recorder.journal.log.note)
    with closing(LastingSession(_subproblem(lifted, columns, penalty), solver)) as session:
        return session.solve(recorder.clock.limits(), columns)


def _subproblem(lifted: _Lifted, columns: Array, penalty: float) -> Program:
    """phi_0(w) + rho / 4 * sum (z + s)^2 - rho / 2 * sum (z^ - s^)(z - s), over the host and the equalities of the units."""
    program, quadratic = lifted.program, lifted.program.quadratic
    if lifted.unit.size:
        squares = _squares(lifted.unit, lifted.cut, penalty, program.num_columns)
        quadratic = sp.csr_array(squares + quadratic) if quadratic is not None else squares
    slope = penalty / 2 * (columns[lifted.unit] - columns[lifted.cut])
    cost = program.cost.copy()
    cost[lifted.unit] -= slope
    cost[lifted.cut] += slope
    return derive(program, cost=cost, quadratic=quadratic)


def _squares(unit: Array, cut: Array, penalty: float, size: int) -> sp.csr_array:
    """Q of rho / 4 * sum (z + s)^2 = 1/2 v'Qv."""
    row = np.concatenate([unit, unit, cut, cut])
    column = np.concatenate([unit, cut, unit, cut])
    return sp.csr_array((np.full(row.size, penalty / 2), (row, column)), shape=(size, size))


def _merit(lifted: _Lifted, columns: Array, penalty: float) -> float:
    """Objective plus penalty of the lifted problem, which the iterations decrease at a fixed penalty."""
    program = lifted.encoding.program
    return program.objective(columns[: program.num_columns]) + penalty * float(columns[lifted.unit] @ columns[lifted.cut])
