"""The exact mixed-integer encoding of every unit (appendix B.1 of the paper).

    a = z - s,    0 <= z <= U d,    0 <= s <= -L (1 - d),    d binary

With s = z - a these are the paper's four inequalities. Units whose sign the bounds L <= a <= U settle have no binary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.baselines.encoding import Encoding, encode
from dcembed.baselines.recorder import Recorder, open_recorder
from dcembed.baselines.refusals import refuse_nonconvex, refuse_smooth
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.unit_bounds import StageBounds, bound_evaluations, check_finite, column_box
from dcembed.network.bounds import go_on
from dcembed.options import Options
from dcembed.program.derive import add_columns, add_rows
from dcembed.program.program import Program
from dcembed.result import Result, Status
from dcembed.run.arguments import read_arguments
from dcembed.run.clock import RunEnded
from dcembed.solvers import choose_backend
from dcembed.solvers.base import Backend, Solution, SolveStatus
from dcembed.solvers.failover import LastingSession, Solver

_STATUS = {
    SolveStatus.OPTIMAL: Status.OPTIMAL,
    SolveStatus.FEASIBLE: Status.TIME_LIMIT,
    SolveStatus.TIME_LIMIT: Status.TIME_LIMIT,
    SolveStatus.INTERRUPTED: Status.INTERRUPTED,
    SolveStatus.INFEASIBLE: Status.INFEASIBLE,
    SolveStatus.UNBOUNDED: Status.UNBOUNDED,
    SolveStatus.FAILED: Status.NUMERICAL_ERROR,
}


@dataclass(frozen=True, eq=False)
class BigM:
    """The encoded program: columns [w | z and s | d], rows [host | equalities | z <= U d | s <= -L (1 - d)]."""

    encoding: Encoding
    program: Program

    @property
    def num_binaries(self) -> int:
        """Activation binaries, without the integers of the host."""
        return self.program.num_columns - self.encoding.num_columns

    def values(self, w: Array) -> Array:
        """All columns at the point w, whose predictions are in place."""
        lifted = self.encoding.values(w)
        unit, _ = self.encoding.open_columns()
        return np.concatenate([lifted, (lifted[unit] > 0).astype(np.float64)])


def solve(
    program: Program,
    embeddings: Sequence[Embedding] | Embedding,
    start: Array | Sequence[Array] | None = None,
    options: Options | Mapping[str, object] | None = None,
    bounds: Sequence[StageBounds] | None = None,
    preparation_seconds: float = 0.0,
) -> Result:
    """Solve the exact mixed-integer encoding: with HiGHS where the host is linear, else with SCIP.

    Parameters
    ----------
    program, embeddings, start, options
        As for `dcembed.solve`. The best feasible start is the solver's first incumbent. `objective_tol` is the relative gap.
    bounds
        For each embedding and stage, valid bounds of the pre-activations in all evaluations, each of shape (k, width). By default
        those that follow from the bounds of the columns.
    preparation_seconds
        What the bounds have cost, to be noted in the result.
    """
    arguments = read_arguments(program, embeddings, start, options)
    refuse_nonconvex(program, "The big-M encoding")
    refuse_smooth(arguments.embeddings, "The big-M encoding")
    problem, listed = arguments.minimized, arguments.embeddings
    with open_recorder(arguments) as recorder:
        # The starts are there before the encoding is.
        for number, w in enumerate(arguments.starts):
            recorder.offer_start(w, number)
        try:
            known = bounds if bounds is not None else default_bounds(problem, listed, recorder.clock.check)
        except RunEnded as ended:
            return recorder.journal.result(ended.status, preparation_seconds)
        encoded = build_big_m(problem, listed, known)
        backend = choose_backend(encoded.program.problem_class, arguments.options.solver)
        recorder.begin("big-M", backend, encoded.program.num_columns, encoded.program.num_rows, encoded.num_binaries)
        solution = _run(encoded, backend, recorder)
    return recorder.journal.result(_status(solution, recorder), preparation_seconds)


def default_bounds(program: Program, embeddings: Sequence[Embedding], check: Callable[[], None] = go_on) -> list[StageBounds]:
    """Bounds of all pre-activations from the bounds of the columns; `check` may raise to end it."""
    box = column_box(program, embeddings, check)
    bounds = [bound_evaluations(embedding, *box, check) for embedding in embeddings]
    for embedding, stages in zip(embeddings, bounds, strict=True):
        check_finite(program, embedding, stages, *box)
    return bounds


def build_big_m(program: Program, embeddings: Sequence[Embedding], bounds: Sequence[StageBounds]) -> BigM:
    """The encoding with its binaries, as one program without embeddings."""
    encoding = encode(program, embeddings, bounds)
    unit, cut = encoding.open_columns()
    size, num_open = encoding.num_columns, unit.size
    total, binary = size + num_open, size + np.arange(num_open)
    on = _pairs(unit, np.ones(num_open), binary, -encoding.ub[unit], total)
    off = _pairs(cut, np.ones(num_open), binary, encoding.ub[cut], total)
    binaries = add_columns(encoding.program_with_units(), np.zeros(num_open), np.ones(num_open), integer=np.ones(num_open, dtype=bool))
    pairs = sp.vstack([on, off], format="csr")
    encoded = add_rows(binaries, pairs, np.full(2 * num_open, -np.inf), np.concatenate([np.zeros(num_open), encoding.ub[cut]]))
    return BigM(encoding, encoded)


def _run(encoded: BigM, backend: Backend, recorder: Recorder) -> Solution:
    """Solve the encoding; every improving point goes to the recorder."""
    n = encoded.encoding.program.num_columns
    best = recorder.incumbent.point if recorder.incumbent.is_feasible else None

    def report(x: Array) -> None:
        recorder.offer(x[:n], "improving point")

    session = LastingSession(encoded.program, Solver(backend, recorder.session_options, recorder.journal.log.note))
    with closing(session):
        session.open()
        first = encoded.values(best.x) if best is not None else None
        # What is left now: large encodings take their time to build and to hand over.
        limits = replace(recorder.clock.limits(recorder.options.objective_tol), on_solution=report)
        solution = session.solve(limits, first)
        if solution.x is not None:
            recorder.offer(solution.x[:n], solution.message)
        recorder.journal.certify(np.inf if solution.status is SolveStatus.INFEASIBLE else solution.bound)
        recorder.journal.use(session.solver.backend)
    return solution


def _status(solution: Solution, recorder: Recorder) -> Status:
    if recorder.clock.is_stopped:
        return Status.INTERRUPTED
    return _STATUS[solution.status]


def _pairs(first: Array, first_value: Array, second: Array, second_value: Array, size: int) -> sp.csr_array:
    """Rows with two entries each."""
    row = np.tile(np.arange(first.size), 2)
    entries = np.concatenate([first_value, second_value]), (row, np.concatenate([first, second]))
    return sp.csr_array(entries, shape=(first.size, size))
