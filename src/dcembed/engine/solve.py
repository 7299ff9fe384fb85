"""`dcembed.solve`: check, eliminate, run from each start, measure, report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

from dcembed.arrays import Array
from dcembed.bounds.certify import attempt, certify
from dcembed.bounds.covers import Covers
from dcembed.embedded.embedding import Embedding
from dcembed.engine.contradiction import explain
from dcembed.engine.improve import improve, settled
from dcembed.engine.problem import Problem, build_problem
from dcembed.engine.runaway import name_runaways
from dcembed.engine.search.ending import Ending
from dcembed.engine.search.loop import search
from dcembed.options import Options
from dcembed.program.program import Program
from dcembed.result import Result
from dcembed.run.arguments import read_arguments
from dcembed.run.journal import Journal, count_sizes, open_journal
from dcembed.status import Status
from dcembed.words import PYTHON, Words


def solve(
    program: Program,
    embeddings: Sequence[Embedding] | Embedding,
    start: Result | Array | Sequence[Result | Array] | None = None,
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
        neural rows is optimal. Values of output columns are ignored: they are predicted. Starts of our own follow, as many as
        `Options.search` and `Options.max_starts` say. A `Result` to go on from, or several, may stand among or in place of points: the answer
        is never worse than its point, and its bound is taken up where it is about the same problem, by its numbers.
    options
        `Options`, or a mapping of their names.

    Returns
    -------
    A `Result`; whatever happened, `result.x` is the best point found and its objective and violation are measured.
    """
    return solve_for(PYTHON, program, embeddings, start, options)


def solve_for(
    words: Words,
    program: Program,
    embeddings: Sequence[Embedding] | Embedding,
    start: Result | Array | Sequence[Result | Array] | None = None,
    options: Options | Mapping[str, object] | None = None,
) -> Result:
    """What `solve` does, for a problem that was written in a tool of these words."""
    arguments = read_arguments(program, embeddings, start, options, words)
    with open_journal(arguments, arguments.options.switches) as journal:
        problem = build_problem(journal.embedded, arguments.options, lambda: journal.clock.ended() is not None)
        ending = run(problem, journal)
    return report(journal, ending)


def run(problem: Problem, journal: Journal) -> Ending:
    """Search, and prove what can be proved of what was found, as far as the options ask for it."""
    chosen = journal.arguments.options
    announce(problem, journal)
    if journal.is_closed:
        return Ending(Status.OPTIMAL, "the result to go on from leaves nothing to prove", is_final=True)
    covers = Covers() if problem.shelf is None else problem.shelf.covers
    with journal.limited_to(chosen.search_seconds) if chosen.prove else nullcontext():
        ending = search(problem, journal, partial(_attempt, problem, journal, covers) if chosen.prove else None)
        if ending.status is Status.HOST_INFEASIBLE:
            ending = explain(problem, journal, ending)
    seconds = chosen.proof_seconds(journal.clock.seconds)
    if seconds > 0 and not journal.is_closed:
        better = partial(improve, problem, journal)
        with settled(problem, journal):
            certify(journal, problem.box, problem.solver, journal.clock.part(seconds), covers, ending.hint, better)
    return ending


def report(journal: Journal, ending: Ending) -> Result:
    """The result of a run that ended like this."""
    reason = ending.reason
    if journal.arguments.options.prove:
        reason = reason.replace("the time limit was reached", "the search's share of the time was over")
    best = journal.incumbent.point
    if ending.status is Status.UNBOUNDED and best is not None:
        lift = journal.arguments.lift
        reason = "; ".join(filter(None, [reason, name_runaways(*lift.given, lift.cut(best.x))]))
    return journal.result(Status.INTERRUPTED if journal.clock.is_stopped else ending.status, reason=reason)


def _attempt(problem: Problem, journal: Journal, covers: Covers) -> None:
    with settled(problem, journal):
        attempt(journal, problem.box, problem.solver, journal.clock, covers)


def announce(problem: Problem, journal: Journal) -> None:
    """Show what is to be solved, and how."""
    epigraph, options = problem.subproblem.epigraph, problem.options
    models = (*(["tangents"] if problem.has_tangents else []), options.formulation, options.decomposition)
    method = f"penalty convex-concave procedure, {' + '.join(models)}"
    sizes = count_sizes(problem.embedded, epigraph.num_columns, epigraph.num_rows, problem.subproblem.num_slacks)
    if problem.blocks is not None:
        sizes = replace(sizes, blocks=problem.blocks.num_blocks, links=problem.blocks.num_links)
    journal.announce(method, problem.solver.backend, sizes)
