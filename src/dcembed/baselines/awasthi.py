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
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.measurements import kept_affine, linearize
from dcembed.embedded.point import Point
from dcembed.embedded.two_path_epigraph import build_two_path, two_path_values
from dcembed.errors import InputError
from dcembed.options import Options
from dcembed.program.derive import add_columns, add_rows
from dcembed.program.program import Program
from dcembed.result import Result, Status
from dcembed.run.arguments import read_arguments
from dcembed.run.stopping import agree
from dcembed.solvers import choose_backend
from dcembed.solvers.base import Solution
from dcembed.solvers.failover import LastingSession, Solver


def solve(
    program: Program,
    embeddings: Sequence[Embedding] | Embedding,
    start: Array | Sequence[Array] | None = None,
    options: Options | Mapping[str, object] | None = None,
) -> Result:
    """Iterate from each start. Parameters are those of `dcembed.solve`; there is no penalty, and one way to split and to hold.

    Predictions may be used in the linear objective only. Integers of the host stay in the subproblems.
    """
    arguments = read_arguments(program, embeddings, start, options)
    with open_recorder(arguments) as recorder:
        num_rows = recorder.embedded.restrictions.num_restrictions
        if num_rows:
            raise InputError(
                f"The algorithm of Awasthi et al. takes a network in a scalar objective only, but this problem has {num_rows} neural "
                "restrictions: predictions in rows, bounds or indicators, or ones that must stay columns (integer, in the quadratic "
                "objective, or inputs of another network). Use dcembed.solve or another baseline for it."
            )
        with closing(_Subproblem(recorder)) as subproblem:
            status = recorder.run_starts(arguments.starts, lambda w, number: _iterate(recorder, subproblem, w, number))
    return recorder.journal.result(status)


class _Subproblem:
    """minimize phi_0(w) + G(w) - H^(w) over the host, G by the columns of both its components."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder, embedded = recorder, recorder.embedded
        self._epigraph, self._kept = build_two_path(embedded), kept_affine(embedded)
        epigraph = self._epigraph
        wide = add_columns(embedded.host, epigraph.lb, np.full(epigraph.num_columns, np.inf))
        self._program = add_rows(wide, epigraph.rows(), epigraph.row_lb, np.full(epigraph.num_rows, np.inf))
        backend = choose_backend(embedded.host.problem_class, recorder.options.solver)
        self._session = LastingSession(self._program, Solver(backend, recorder.session_options, recorder.journal.log.note))
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

    def close(self) -> None:
        """Release the solver."""
        self._session.close()


def _iterate(recorder: Recorder, subproblem: _Subproblem, w: Array, number: int) -> Status:
    """Until two objectives in a row agree."""
    point, embedded = recorder.offer_start(w, number), recorder.embedded
    for _ in range(recorder.options.max_iterations):
        if status := recorder.clock.ended():
            return status
        solution = subproblem.solve(point)
        if solution.x is None:
            recorder.note_failure(solution.message)
            return recorder.how_it_ended(solution)
        candidate = recorder.offer(embedded.lift(solution.x[: embedded.host.num_columns]), solution.message)
        last, point = point, candidate if candidate.objective <= point.objective else point
        if agree(last.objective, point.objective, recorder.options.objective_tol):
            return Status.LOCALLY_SOLVED if recorder.incumbent.is_feasible else Status.LOCALLY_INFEASIBLE
    return Status.ITERATION_LIMIT
