"""The arguments of every `solve`, checked and brought into one form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding, read_embeddings
from dcembed.embedded.lift import Lift
from dcembed.errors import InputError
from dcembed.options import Options
from dcembed.program.derive import minimized
from dcembed.program.program import Program
from dcembed.reading import as_numbers, show
from dcembed.result import Result
from dcembed.support.lifting import lift_problem
from dcembed.words import PYTHON, Words


@dataclass(frozen=True, eq=False)
class Arguments:
    """What `solve` was called with.

    Parameters
    ----------
    program
        What is solved, in the user's sense: the user's program, with columns behind its own where regions or ensembles need them.
    minimized
        The same as a minimization, which is what methods work on.
    embeddings, starts, options
        In their one form; starts have all columns.
    results
        Those of the starts that are results: their points are among `starts`, and their bounds may be taken up.
    words
        Of the tool that the problem was written in.
    lift
        The problem as the user wrote it, which results are measured against, and the way back to it.
    """

    program: Program
    minimized: Program
    embeddings: list[Embedding]
    starts: list[Array]
    options: Options
    lift: Lift
    results: tuple[Result, ...] = ()
    words: Words = PYTHON


def read_arguments(
    program: Program,
    embeddings: Sequence[Embedding] | Embedding,
    start: Any,
    options: Options | Mapping[str, object] | None,
    words: Words = PYTHON,
) -> Arguments:
    """Check everything that a `solve` takes."""
    read = read_options(options)
    listed = read_embeddings(program, embeddings, "solve")
    given = start if isinstance(start, list | tuple) else (start,)
    results = tuple(item for item in given if isinstance(item, Result))
    lift = lift_problem(program, listed)
    starts = [lift.complete(point) for point in read_starts(start, program.num_columns)]
    return Arguments(lift.program, minimized(lift.program), list(lift.embeddings), starts, read, lift, results, words)


def read_options(options: Options | Mapping[str, object] | None) -> Options:
    """The options, from a mapping of their names if need be."""
    if options is None:
        return Options()
    if isinstance(options, Options):
        return options
    if isinstance(options, Mapping) and all(isinstance(name, str) for name in options):
        return Options(**options)  # type: ignore[arg-type]
    raise InputError(f"solve: options is an Options or a mapping of option names, received {show(options)}.")


def read_starts(start: Any, n: int) -> list[Array]:
    """The starting points, each of length n; that of a result is its own, if it has one."""
    if start is None:
        return []
    if isinstance(start, Result):
        return read_starts([start], n)
    if isinstance(start, list | tuple) and any(isinstance(point, Result) for point in start):
        points = [point.x if isinstance(point, Result) else point for point in start]
        return read_starts([point for point in points if point is not None] or None, n)
    if isinstance(start, list | tuple) and len({np.size(point) for point in start}) > 1:
        lengths = sorted({np.size(point) for point in start})
        raise InputError(f"solve: every start is a point of {n} columns, received lengths {lengths}.")
    listed = np.atleast_2d(as_numbers(start, "solve: start"))
    if listed.ndim != 2 or listed.shape[1] != n:
        raise InputError(
            f"solve: a start has {listed.shape[-1]} entries but the program has {n} columns. Give one point of shape ({n},) or several."
        )
    if not np.isfinite(listed).all():
        raise InputError(f"solve: start {int(np.flatnonzero(~np.isfinite(listed).all(axis=1))[0])} has NaN or infinite entries.")
    return list(listed)
