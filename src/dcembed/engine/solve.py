"""`dcembed.solve`: check, eliminate, run from each start, measure, report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.engine.outcome import Outcome
from dcembed.engine.problem import Problem, build_problem, carried_by
from dcembed.engine.start import run_start
from dcembed.options import Options
from dcembed.program.program import Program
from dcembed.result import Result, Status
from dcembed.run.arguments import read_arguments
from dcembed.run.host import open_host
from dcembed.run.journal import Journal, count_sizes, open_journal
from dcembed.run.starts import find_start, measure_start, no_start, random_starts, report


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
    arguments = read_arguments(program, embeddings, start, options)
    with open_journal(arguments) as journal:
        problem = build_problem(journal.embedded, arguments.options)
        _announce(problem, journal)
        status = _run_given(problem, journal, arguments.starts) if arguments.starts else _run_own(problem, journal)
    return journal.result(status)


def _announce(problem: Problem, journal: Journal) -> None:
    epigraph, options = problem.subproblem.epigraph, problem.options
    method = f"penalty convex-concave procedure, {options.formulation} + {options.decomposition}"
    sizes = count_sizes(problem.embedded, epigraph.num_columns, epigraph.num_rows, problem.subproblem.num_slacks)
    journal.announce(method, problem.solver.backend, sizes)


def _run_given(problem: Problem, journal: Journal, starts: list[Array]) -> Status:
    """Run from each of the user's starts."""
    outcomes: list[Outcome] = []
    for w in starts:
        if outcomes and journal.clock.ended():
            break
        outcomes.append(_run(problem, journal, problem.embedded.lower(w), outcomes))
    return report(outcome.status for outcome in outcomes)


def _run_own(problem: Problem, journal: Journal) -> Status:
    """Run where the host alone is best, then at random points of it."""
    host = open_host(problem.embedded, problem.box, replace(problem.solver, note=journal.log.note))
    with closing(host.session):
        host.session.open()
        with journal.log.working("solving the host without its neural rows"):
            solution = find_start(host, journal.clock.limits())
        if solution.x is None:
            return no_start(solution)
        outcomes = [_run(problem, journal, solution.x, [])]
        further = random_starts(host, problem.options.seed, problem.options.max_starts - 1, journal.clock)
        # What is no local answer (a limit, a failure) ends the run.
        while outcomes[-1].is_settled and not journal.clock.ended() and (w := next(further, None)) is not None:
            outcomes.append(_run(problem, journal, w, outcomes))
    return report(outcome.status for outcome in outcomes)


def _run(problem: Problem, journal: Journal, w: Array, earlier: Sequence[Outcome]) -> Outcome:
    """Run from a point of the host."""
    point, number = measure_start(problem.embedded, w), len(earlier)
    journal.start(number, point)
    settled = [outcome.point.w for outcome in earlier if outcome.is_settled]
    carried = carried_by(problem, earlier[-1].backend if earlier else None)
    return run_start(carried, point, number, settled, journal)
