"""The difference-of-convex algorithm of Awasthi, Mao, Mohri and Zhong (2024): a network in the objective, and nowhere else.

The objective is split by their recursion (theorem 3.1 of the paper) into G - H; H is linearized at the iterate, G is held by the
columns of both components, layer by layer, and the convex rest is solved over the host until the objective stands still.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing

import numpy as np

from dcembed.arrays import Array
from dcembed.baselines.recorder import Recorder, open_recorder
from dcembed.baselines.refusals import refuse_smooth
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.measurements import kept_affine, linearize
from dcembed.embedded.point import Point
from dcembed.embedded.two_path_epigraph import build_two_path, two_path_values
from dcembed.errors import InputError
from dcembed.options import NUM_STARTS, Options
from dcembed.program.derive import add_columns, add_rows
from dcembed.program.program import Program
from dcembed.result import Result
from dcembed.run.arguments import read_arguments
from dcembed.run.starts import no_start
from dcembed.run.stopping import agree
from dcembed.solvers import choose_backend
from dcembed.solvers.base import Backend, Solution, SolveStatus
from dcembed.solvers.failover import LastingSession, Solver
from dcembed.status import Status
from dcembed.tolerances import MAX_SOLVER_FAILURES


def solve(
    program: Program,
    embeddings: Sequence[Embedding] | Embedding,
    start: Result | Array | Sequence[Result | Array] | None = None,
    options: Options | Mapping[str, object] | None = None,
) -> Result:
    """Iterate from each start. Parameters are those of `dcembed.solve`; there is no penalty, and one way to split and to hold.

    Predictions may be used in the linear objective only. Integers of the host stay in the subproblems.
    """
    arguments = read_arguments(program, embeddings, start, options)
    refuse_smooth(arguments.embeddings, "The method of Awasthi et al.")
    with open_recorder(arguments) as recorder:
        num_rows = recorder.embedded.restrictions.num_restrictions
        if num_rows:
            raise InputError(
                f"The algorithm of Awasthi et al. takes a network in a scalar objective only, but this problem has {num_rows} neural "
                "restrictions: predictions in rows, bounds or indicators, or ones that must stay columns (integer, in the quadratic "
                "objective, or inputs of another network). Use dcembed.solve or another baseline for it."
            )
        with closing(_Subproblem(recorder)) as subproblem:
            num_starts = arguments.options.max_starts or NUM_STARTS
            status = recorder.run_starts(arguments.starts, lambda w, number: _iterate(recorder, subproblem, w, number), num_starts)
            recorder.journal.use(subproblem.backend)
    return recorder.journal.result(status)


class _Subproblem:
    """minimize phi_0(w) + G(w) - H^(w) over the host, G by the columns of both its components."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder, embedded = recorder, recorder.embedded
        self._epigraph, self._kept = build_two_path(embedded), kept_affine(embedded)
        epigraph = self._epigraph
        wide = add_columns(embedded.host, epigraph.lb, np.full(epigraph.num_columns, np.inf))
        program = add_rows(wide, epigraph.rows(), epigraph.row_lb, np.full(epigraph.num_rows, np.inf))
        backend = choose_backend(embedded.host.problem_class, recorder.options.solver)
        self._session = LastingSession(program, Solver(backend, recorder.session_options, recorder.journal.log.note))
        self._session.open()
        recorder.begin(
            "difference-of-convex algorithm, two-path",
            self._session.solver.backend,
            recorder.embedded.program.num_columns + epigraph.num_columns,
            recorder.embedded.program.num_rows + epigraph.num_rows,
        )

    def solve(self, point: Point) -> Solution:
        """Linearize H at a point and solve."""
        embedded, (slope, constant) = self._recorder.embedded, self._kept
        tangents = linearize(embedded, point.w)
        neural = (slope[[0]] - tangents.slope[[0]]).toarray()[0]
        cost = np.concatenate([embedded.host.cost + neural, self._epigraph.kept[[0]].toarray()[0]])
        self._session.set_cost(cost, embedded.host.offset + float(constant[0] - tangents.constant[0]))
        return self._session.solve(self._recorder.clock.limits(), np.concatenate([point.w, two_path_values(embedded, point.w)]))

    @property
    def backend(self) -> Backend:
        """The solver in use."""
        return self._session.solver.backend

    def reopen(self) -> None:
        """A fresh session after a failure."""
        self._session.reopen()

    def close(self) -> None:
        """Release the solver."""
        self._session.close()


def _iterate(recorder: Recorder, subproblem: _Subproblem, w: Array, number: int) -> Status:
    """Until two feasible objectives in a row agree."""
    embedded, accepts = recorder.embedded, recorder.incumbent.accepts
    point, num_failed = recorder.offer_start(w, number), 0
    for _ in range(recorder.options.max_iterations):
        if status := recorder.clock.ended():
            return status
        solution = subproblem.solve(point)
        if solution.x is None:
            recorder.note_failure(solution.message)
            num_failed += 1
            if solution.status is not SolveStatus.FAILED or num_failed == MAX_SOLVER_FAILURES:
                return recorder.clock.ended() or no_start(solution)
            subproblem.reopen()
            continue
        candidate = recorder.offer(embedded.lift(solution.x[: embedded.host.num_columns]), solution.message)
        num_failed = 0
        # The model majorizes the objective; only an inexact solve can make it worse, and a start need not be feasible.
        last, point = point, candidate if not accepts(point) or candidate.objective <= point.objective else point
        if accepts(last) and accepts(point) and agree(last.objective, point.objective, recorder.options.objective_tol):
            return Status.LOCALLY_SOLVED
        if not accepts(last) and not accepts(point) and np.array_equal(last.w, point.w):
            return Status.LOCALLY_INFEASIBLE
    return Status.ITERATION_LIMIT
