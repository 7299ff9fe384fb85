"""The exact mixed-integer encoding (`embedded/big_m.py`) handed to a solver as it is (appendix B.1 of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

import numpy as np

from dcembed.arrays import Array
from dcembed.baselines.recorder import Recorder, open_recorder
from dcembed.baselines.refusals import refuse_nonconvex, refuse_smooth
from dcembed.embedded.big_m import BigM, build_big_m, default_bounds
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.room import require_room_for_units
from dcembed.embedded.unit_bounds import StageBounds
from dcembed.options import Options
from dcembed.program.program import Program
from dcembed.result import Result
from dcembed.run.arguments import Arguments, read_arguments
from dcembed.run.clock import RunEnded
from dcembed.solvers import choose_backend
from dcembed.solvers.base import Backend, Solution, SolveStatus
from dcembed.solvers.failover import LastingSession, Solver
from dcembed.status import Status

_STATUS = {
    SolveStatus.OPTIMAL: Status.OPTIMAL,
    SolveStatus.FEASIBLE: Status.TIME_LIMIT,
    SolveStatus.TIME_LIMIT: Status.TIME_LIMIT,
    SolveStatus.INTERRUPTED: Status.INTERRUPTED,
    SolveStatus.INFEASIBLE: Status.INFEASIBLE,
    SolveStatus.UNBOUNDED: Status.UNBOUNDED,
    SolveStatus.FAILED: Status.NUMERICAL_ERROR,
}


def solve(
    program: Program,
    embeddings: Sequence[Embedding] | Embedding,
    start: Result | Array | Sequence[Result | Array] | None = None,
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

    def build(recorder: Recorder) -> BigM:
        problem, listed = arguments.minimized, arguments.embeddings
        known = bounds if bounds is not None else default_bounds(problem, listed, recorder.clock.check)
        return build_big_m(problem, listed, known)

    return solve_encoding(arguments, build, "big-M", preparation_seconds)


def solve_encoding(arguments: Arguments, build: Callable[[Recorder], BigM], method: str, preparation_seconds: float = 0.0) -> Result:
    """Build an encoding and solve it. `build` may raise RunEnded; `method` is what the log calls it."""
    refuse_nonconvex(arguments.program, "The big-M encoding")
    refuse_smooth(arguments.embeddings, "The big-M encoding")
    require_room_for_units(
        ((embedding.network, embedding.num_evaluations) for embedding in arguments.embeddings), "big-M", "dcembed.solve does not need them."
    )
    with open_recorder(arguments) as recorder:
        # The starts are there before the encoding is.
        for number, w in enumerate(arguments.starts):
            recorder.offer_start(w, number)
        try:
            encoded = build(recorder)
        except RunEnded as ended:
            return recorder.journal.result(ended.status, preparation_seconds)
        backend = choose_backend(encoded.program.problem_class, arguments.options.solver)
        recorder.begin(method, backend, encoded.program.num_columns, encoded.program.num_rows, encoded.num_binaries)
        solution = _run(encoded, backend, recorder)
    return recorder.journal.result(_status(solution, recorder), preparation_seconds)


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
