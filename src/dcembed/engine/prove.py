"""Prove how good a point is at best, and improve it where a better one is met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from dcembed.arrays import Array
from dcembed.bounds.certify import certify
from dcembed.bounds.covers import Covers
from dcembed.bounds.hint import Hint
from dcembed.crew.task import Shared
from dcembed.embedded.embedding import Embedding
from dcembed.engine.columns.columns import open_columns
from dcembed.engine.improve import improve, settled
from dcembed.engine.problem import Problem, build_problem
from dcembed.engine.solve import announce
from dcembed.options import Options
from dcembed.program.program import Program
from dcembed.result import Result
from dcembed.run.arguments import read_arguments, read_options
from dcembed.run.journal import Journal, open_journal
from dcembed.run.starts import measure_start
from dcembed.status import Status


def prove(
    program: Program,
    embeddings: Sequence[Embedding] | Embedding,
    point: Result | Array | None = None,
    time_limit: float | None = None,
    options: Options | Mapping[str, object] | None = None,
) -> Result:
    """Bound the optimum of a program with embedded networks, beginning with a point and the bound that is known.

    Parameters
    ----------
    program, embeddings
        As for `solve`.
    point
        The result of a `solve` or `prove` of the same problem, whose point and bound are taken up; a point of length n; or None.
    time_limit
        Seconds; that of the options by default.
    options
        `Options`, or a mapping of their names. `gap_tol` is the relative gap at which the proof ends.

    Returns
    -------
    A `Result` with the best point, `bound` and `gap`. Its status is OPTIMAL if the gap is closed.

    Examples
    --------
    The hat max(x, 0) - 2 max(x - 1, 0) has its maximum 1 at x = 1.

    >>> import dcembed
    >>> hat = dcembed.build_mlp([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -1.0], None])
    >>> program = dcembed.Program(cost=[0.0, 1.0], lb=[0.0, -9.0], ub=[3.0, 9.0], maximize=True)
    >>> result = dcembed.prove(program, dcembed.Embedding(hat, [0], [1]), point=[1.0, 1.0], options={"verbose": False})
    >>> result.status.name, round(result.bound, 3)
    ('OPTIMAL', 1.0)
    """
    read = read_options(options)
    chosen = replace(read, prove=True, time_limit=read.time_limit if time_limit is None else time_limit)
    arguments = read_arguments(program, embeddings, point, chosen)
    with open_journal(arguments, chosen.switches) as journal:
        problem = build_problem(journal.embedded, chosen, lambda: journal.clock.ended() is not None)
        announce(problem, journal)
        for number, w in enumerate(arguments.starts):
            journal.start(number, measure_start(journal.embedded, journal.embedded.lower(w)), "given")
        if not journal.is_closed:
            better, hint = partial(improve, problem, journal), _learn(problem, journal)
            with settled(problem, journal):
                certify(journal, problem.box, problem.solver, journal.clock, Covers(), hint, better)
    return journal.result(_status(journal, point), reason="what could be proved is proved" if journal.clock.ended() is None else "")


def _learn(problem: Problem, journal: Journal) -> Hint | None:
    """Prices of the rows that tie blocks together, and points of blocks, where the problem falls apart."""
    columns = open_columns(Shared(problem), journal, tuple(map(journal.embedded.lower, journal.arguments.starts)))
    if columns is None:
        return None
    columns.next()
    return columns.hint()


def _status(journal: Journal, point: Result | Array | None) -> Status:
    """Why the proof ended; the journal knows whether the gap is closed."""
    ended = journal.clock.ended()
    if ended is not None:
        return ended
    return point.status if isinstance(point, Result) and point.status is not Status.OPTIMAL else Status.ITERATION_LIMIT
