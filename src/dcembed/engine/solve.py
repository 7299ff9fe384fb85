"""`dcembed.solve`: check, eliminate, iterate from each start, measure, report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from dcembed.embedded.elimination import eliminate
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.point import measure_point
from dcembed.embedded.shared_epigraph import build_shared
from dcembed.embedded.two_path_epigraph import build_two_path
from dcembed.embedded.verify import predict
from dcembed.engine.bundle.lazy_epigraph import build_lazy
from dcembed.engine.bundle.loop import run_bundle
from dcembed.engine.ccp.loop import run_ccp
from dcembed.engine.choice import choose
from dcembed.engine.run import Run
from dcembed.options import Options
from dcembed.program.derive import minimized
from dcembed.program.program import Program
from dcembed.result import Result, Sizes, Status, build_result
from dcembed.run.arguments import read_embeddings, read_options, read_starts
from dcembed.run.clock import Clock, hear_interrupts
from dcembed.run.completion import find_start, random_start
from dcembed.run.incumbent import Incumbent
from dcembed.run.log import RunLog
from dcembed.run.search import attempt, count_sizes, failure
from dcembed.solvers import choose_backend
from dcembed.solvers.base import SessionOptions, Solution, SolveStatus
from dcembed.solvers.failover import open_problems

Array = np.ndarray

FORMULATIONS = {"lazy": build_lazy, "shared": build_shared, "two-path": build_two_path}

# The first of these that occurred is the status of the run.
_RANK = (
    Status.INTERRUPTED,
    Status.TIME_LIMIT,
    Status.LOCALLY_SOLVED,
    Status.ITERATION_LIMIT,
    Status.UNBOUNDED,
    Status.NUMERICAL_ERROR,
    Status.LOCALLY_INFEASIBLE,
    Status.HOST_INFEASIBLE,
)

# Outcomes that another start may better.
_LOCAL = (Status.LOCALLY_SOLVED, Status.LOCALLY_INFEASIBLE)

_START_FAILED = {
    SolveStatus.INFEASIBLE: Status.HOST_INFEASIBLE,
    SolveStatus.UNBOUNDED: Status.UNBOUNDED,
    SolveStatus.TIME_LIMIT: Status.TIME_LIMIT,
    SolveStatus.INTERRUPTED: Status.INTERRUPTED,
}


def solve(
    program: Program,
    embeddings: Sequence[Embedding] | Embedding,
    start: Array | Sequence[Array] | None = None,
    options: Options | Mapping[str, object] | None = None,
) -> Result:
    """Find a good feasible point of a program with embedded networks, and measure it.

    Parameters
    ----------
    program
        The host.
    embeddings
        Networks whose predictions are columns of the host.
    start
        A point of length n, several of them (used one after the other), or None to begin where the host without its
        neural rows is optimal. Values of output columns are ignored: they are predicted.
    options
        `Options`, or a mapping of their names.

    Returns
    -------
    A `Result`; whatever happened, `result.x` is the best point found and its objective and violation are measured.
    """
    options = read_options(options)
    embeddings = read_embeddings(program, embeddings)
    starts = read_starts(start, program.num_columns)
    clock = Clock(options.time_limit)
    with hear_interrupts(clock):
        run = _open_run(program, embeddings, options, clock)
        try:
            status = _run_starts(run, starts)
        finally:
            run.session.close()
            run.host.session.close()
    result = build_result(
        status,
        run.incumbent.point.x if run.incumbent.point is not None else None,
        program,
        embeddings,
        options.feasibility_tol,
        incumbents=[(seconds, program.sense * objective) for seconds, objective in run.incumbent.trace],
        incumbent_points=run.incumbent.points,
        history=[replace(record, objective=program.sense * record.objective) for record in run.history],
        seconds=clock.seconds,
        solver=run.backend.name,
        sizes=_sizes(run),
    )
    run.log.summary(result)
    return result


def _open_run(program: Program, embeddings: list[Embedding], options: Options, clock: Clock) -> Run:
    embedded = eliminate(minimized(program), embeddings)
    options = choose(options, embedded)
    backend = choose_backend(embedded.host.problem_class, options.solver)
    session_options = SessionOptions(options.threads, options.seed, options.solver_options)
    log = RunLog(options.verbose, program.sense)
    epigraph = FORMULATIONS[options.formulation](embedded)
    backend, session_options, subproblem, session, host = open_problems(embedded, epigraph, backend, session_options, log)
    run = Run(
        embedded=embedded,
        options=options,
        backend=backend,
        session_options=session_options,
        subproblem=subproblem,
        session=session,
        host=host,
        clock=clock,
        log=log,
        incumbent=Incumbent(options.feasibility_tol),
    )
    method = f"penalty convex-concave procedure, {options.formulation} + {options.decomposition}"
    run.log.header(_sizes(run), method, program.problem_class, backend.name)
    return run


def _run_starts(run: Run, starts: list[Array]) -> Status:
    """Run from each given start, or from starts of our own: where the host alone is best, then at random."""
    if starts:
        return _report([_run_start(run, w, number) for number, w in _until_ended(run, starts)])
    solution = _find_start(run)
    if solution.x is None:
        return _START_FAILED.get(solution.status, Status.NUMERICAL_ERROR)
    rng = np.random.default_rng(run.options.seed)
    statuses = [_run_start(run, run.embedded.lift(solution.x), 0)]
    while statuses[-1] in _LOCAL and len(statuses) < run.options.max_starts and not run.clock.ended():
        w = random_start(run.host, rng, run.clock.limits())
        if w is None:
            break
        statuses.append(_run_start(run, run.embedded.lift(w), len(statuses)))
    return _report(statuses)


def _until_ended(run: Run, starts: list[Array]) -> Iterator[tuple[int, Array]]:
    for number, w in enumerate(starts):
        if number == 0 or not (run.clock.is_over or run.clock.is_stopped):
            yield number, w


def _run_start(run: Run, w: Array, number: int) -> Status:
    point = measure_point(run.embedded, run.embedded.lower(predict(run.embedded.embeddings, w)))
    is_new = run.incumbent.offer(point, run.clock.seconds)
    run.log.start(number, run.clock.seconds, point.objective, point.violation, run.incumbent, is_new)
    return run_bundle(run, point, number) if run.options.formulation == "lazy" else run_ccp(run, point, number)


def _report(statuses: list[Status]) -> Status:
    """What the run reports when its starts ended differently."""
    return min(statuses, key=_RANK.index)


def _find_start(run: Run) -> Solution:
    with run.log.working("solving the host without its neural rows"):
        return attempt(lambda: find_start(run.host, run.clock.limits()), failure)


def _sizes(run: Run) -> Sizes:
    epigraph = run.subproblem.epigraph
    return count_sizes(run.embedded, epigraph.num_columns, epigraph.num_rows, run.embedded.restrictions.num_slacks)
