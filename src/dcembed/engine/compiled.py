"""`dcembed.compile`: the same structure, solved again and again with other numbers.

Control, rolling horizons and what-if studies differ from one solve to the next in costs, bounds and right-hand sides. What follows from the
structure (the elimination of predictions, the patterns of derivatives, the blocks that a problem falls into) is computed once; what
follows from numbers that have changed is computed again, and `CompiledProblem.rebuilt` says so.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dcembed.arrays import Array
from dcembed.copies import replace
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.embedding import AffineInputs, Embedding, read_embeddings
from dcembed.embedded.measurements import slopes
from dcembed.embedded.point import measure_point
from dcembed.embedded.refresh import refresh, what_is_lost
from dcembed.engine.problem import Problem, build_problem
from dcembed.engine.search.ending import Ending
from dcembed.engine.shelf import Shelf
from dcembed.engine.solve import report, run
from dcembed.engine.tangent.curvature import bend
from dcembed.engine.tangent.problem import tangent_problem
from dcembed.engine.workshop import open_solvers
from dcembed.errors import InputError
from dcembed.options import Options
from dcembed.program.change import change
from dcembed.program.derive import minimized, revalue
from dcembed.program.matrices import MatrixLike
from dcembed.program.program import Program
from dcembed.reading import as_numbers, show
from dcembed.result import Result
from dcembed.run.arguments import Arguments, read_options, read_starts
from dcembed.run.clock import Clock, RunEnded
from dcembed.run.journal import Journal, open_journal
from dcembed.run.settling import settle
from dcembed.support.lifting import lift_problem


def compile(
    program: Program, embeddings: Sequence[Embedding] | Embedding, options: Options | Mapping[str, object] | None = None
) -> CompiledProblem:
    """Prepare a problem that is solved many times with other numbers.

    Parameters
    ----------
    program, embeddings
        As for `dcembed.solve`. Their structure stays: columns, rows, entries, integers, networks.
    options
        Of all solves, as for `dcembed.solve`; each solve may change some. For a good start that is known, as in control, `search="local"`
        is fastest.

    Returns
    -------
    A `CompiledProblem`. Close it, or use it in a `with` statement, to release what solvers hold.

    Examples
    --------
    >>> import dcembed, numpy as np
    >>> network = dcembed.build_mlp([np.array([[1.0], [-1.0]]), np.array([[1.0, 1.0]])], [np.zeros(2), np.zeros(1)])
    >>> program = dcembed.Program(cost=[0.1, 1.0], lb=[-2.0, -np.inf], ub=[2.0, np.inf])
    >>> with dcembed.compile(program, dcembed.Embedding(network, [0], [1]), {"verbose": False, "search": "local"}) as problem:
    ...     for least in (0.5, 1.0):
    ...         result = problem.solve(lb=[least, -np.inf])
    ...         print(round(result.objective, 6), problem.rebuilt)
    0.55 ('bounds that rows imply',)
    1.1 ('bounds that rows imply',)
    """
    return CompiledProblem(program, embeddings, options)


@dataclass(frozen=True, eq=False)
class _Kept:
    """What the last solve has left: the problem, and with which of its settings it was eliminated."""

    problem: Problem
    with_switches: bool


def _prepare(program: Program, embeddings: Sequence[Embedding], options: Options, shelf: Shelf) -> _Kept:
    """Eliminate, and find and open now what would else be found and opened in the first solve: patterns of derivatives, and sessions."""
    problem = build_problem(eliminate(program, embeddings, options.switches), options)
    embedded = problem.embedded
    w = np.clip(np.zeros(embedded.host.num_columns), embedded.host.lb, embedded.host.ub)
    embedded.gradients(slopes(embedded, w))
    if (curve := bend(embedded, w, None)) is not None:
        embedded.bent(curve.matrix)
    settle(embedded, measure_point(embedded, w))
    shelved = replace(problem, shelf=shelf)
    with open_solvers(shelved, problem.solver), ExitStack() as inner:
        if problem.has_tangents:
            held = tangent_problem(shelved, w)
            inner.enter_context(open_solvers(held, held.solver))
    return _Kept(problem, options.switches)


class CompiledProblem:
    """A problem that is solved many times with other numbers, made by `dcembed.compile`.

    Parameters
    ----------
    program, embeddings, options
        What it was compiled from. Every solve changes these, not what the last one has changed.
    """

    def __init__(
        self, program: Program, embeddings: Sequence[Embedding] | Embedding, options: Options | Mapping[str, object] | None = None
    ) -> None:
        self.options = read_options(options)
        self.embeddings = tuple(read_embeddings(program, embeddings, "compile"))
        self.program = program
        self._minimized = minimized(program)
        self._rebuilt: tuple[str, ...] = ()
        self._taken: tuple[str, ...] = ()
        self._shelf = Shelf()
        lift = lift_problem(self._minimized, self.embeddings)
        self._kept: _Kept | None = _prepare(lift.program, lift.embeddings, self.options, self._shelf)
        self._is_busy = threading.Lock()
        self._is_closed = False

    @property
    def rebuilt(self) -> tuple[str, ...]:
        """What the last solve could not take from the one before it, and why."""
        return self._rebuilt

    @property
    def taken(self) -> tuple[str, ...]:
        """What the last solve has taken from those before it that was found in them, and does not follow from the structure alone."""
        return self._taken

    def solve(
        self,
        *,
        cost: ArrayLike | None = None,
        offset: float | None = None,
        quadratic: MatrixLike | None = None,
        concave: MatrixLike | None = None,
        row_lb: ArrayLike | None = None,
        row_ub: ArrayLike | None = None,
        lb: ArrayLike | None = None,
        ub: ArrayLike | None = None,
        inputs_offset: ArrayLike | Sequence[ArrayLike | None] | Mapping[int, ArrayLike] | None = None,
        start: Result | Array | Sequence[Any] | None = None,
        options: Options | Mapping[str, object] | None = None,
    ) -> Result:
        """Solve the problem with some of its numbers changed.

        Parameters
        ----------
        cost, offset, quadratic, concave, row_lb, row_ub, lb, ub
            In place of those of the program; None for its own. Whatever was given to an earlier solve is forgotten.
        inputs_offset
            In place of the constants of `AffineInputs`: an array where there is one embedding, else a list with one (or None) for each
            embedding, or a mapping from their numbers.
        start
            As for `dcembed.solve`, or a `Result`, whose point is taken.
        options
            `Options` in place of those of the problem, or a mapping of some to change.

        Returns
        -------
        A `Result`. Its point is measured against the changed problem, which is `result.program` and `result.embeddings`.
        """
        numbers = {
            "cost": cost,
            "offset": offset,
            "quadratic": quadratic,
            "concave": concave,
            "row_lb": row_lb,
            "row_ub": row_ub,
            "lb": lb,
            "ub": ub,
        }
        with self._alone():
            return self._solve(self._arguments(numbers, inputs_offset, start, options))

    def close(self) -> None:
        """Release what solvers hold; there are no further solves."""
        with self._alone():
            self._is_closed, self._kept = True, None
            self._shelf.close()

    def __enter__(self) -> CompiledProblem:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self._is_closed:
            self.close()

    def __repr__(self) -> str:
        return f"CompiledProblem({self.program!r}, {len(self.embeddings)} embedding{'' if len(self.embeddings) == 1 else 's'})"

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One solve at a time."""
        if not self._is_busy.acquire(blocking=False):
            raise InputError(
                "This compiled problem is being solved, in another thread or around a callback, and one solve at a time is what it takes. "
                "Wait for it, or compile the problem once for each thread."
            )
        try:
            if self._is_closed:
                raise InputError("This compiled problem has been closed. Compile it again.")
            yield
        finally:
            self._is_busy.release()

    def _arguments(self, numbers: Mapping[str, Any], inputs_offset: Any, start: Any, options: Any) -> Arguments:
        program = change(self.program, numbers)
        embeddings = _with_offsets(self.embeddings, inputs_offset)
        chosen, lift = self._options(options), lift_problem(program, embeddings)
        starts = [lift.complete(point) for point in read_starts(_points(start), program.num_columns)]
        least = self._as_minimization(program) if lift.is_plain else minimized(lift.program)
        return Arguments(lift.program, least, list(lift.embeddings), starts, chosen, lift)

    def _options(self, options: Any) -> Options:
        if options is None:
            return self.options
        if isinstance(options, Mapping) and all(isinstance(name, str) for name in options):
            # Names are checked where all options are given.
            Options(**options)
            return dataclasses.replace(self.options, **options)
        return read_options(options)

    def _as_minimization(self, program: Program) -> Program:
        """The changed program as a minimization, with the matrices of the one before where they are the same."""
        if not program.maximize:
            return program
        if program.quadratic is not self.program.quadratic or program.concave is not self.program.concave:
            return minimized(program)
        same = {name: getattr(program, name) for name in ("lb", "ub", "row_lb", "row_ub")}
        return revalue(self._minimized, cost=-program.cost, offset=-program.offset, **same)

    def _solve(self, arguments: Arguments) -> Result:
        options, kept = arguments.options, self._kept
        lost = _find_lost(kept, arguments)
        known = kept.problem if lost is None and kept is not None else None
        # Whatever ends this solve early leaves nothing half done behind.
        self._kept, self._taken = None, ()
        with open_journal(arguments, write=lambda clock: _write(arguments, known, clock)) as journal:
            problem = build_problem(journal.embedded, options, lambda: journal.clock.ended() is not None, known)
            self._rebuilt = _find_rebuilt(problem, known, lost)
            for what in self._rebuilt:
                journal.log.note(f"computed again: {what}.")
            if problem.is_whole:
                self._kept = _Kept(problem, options.switches)
            ending = self._run(problem, journal)
        return report(journal, ending)

    def _run(self, problem: Problem, journal: Journal) -> Ending:
        """Run, and say what was taken from earlier runs and what of that had to be made anew."""
        self._shelf.next_solve()
        try:
            ending = run(replace(problem, shelf=self._shelf), journal)
        except BaseException:
            self._shelf.forget()
            raise
        covers, num_points = self._shelf.covers, self._shelf.num_points
        kept = {"points of blocks": num_points, "covers of networks": covers.num_taken}
        self._taken = tuple(f"{what} ({number:,})" for what, number in kept.items() if number)
        again = (f"covers of networks ({covers.num_made:,})",) if covers.num_made else ()
        self._rebuilt += again
        for words in (*(f"taken from the last solve: {what}." for what in self._taken), *(f"computed again: {what}." for what in again)):
            journal.log.note(words)
        return ending


def _find_lost(kept: _Kept | None, arguments: Arguments) -> str | None:
    """Why the problem is eliminated again; None where that of the last solve has only other numbers."""
    if kept is None:
        return "the last solve ended before it was done"
    if kept.with_switches != arguments.options.switches:
        return "switches are read in the one solve and not in the other"
    if not arguments.lift.is_plain:
        return "regions of data and ensembles are written as rows again"
    return what_is_lost(kept.problem.embedded, arguments.minimized, arguments.embeddings, kept.with_switches)


def _write(arguments: Arguments, known: Problem | None, clock: Clock) -> EmbeddedProgram:
    """The problem as methods take it: with other numbers where it is known, else eliminated again, without switches if the time ends meanwhile."""
    program, embeddings = arguments.minimized, arguments.embeddings
    if known is not None:
        return refresh(known.embedded, program, embeddings)
    try:
        return eliminate(program, embeddings, arguments.options.switches, clock.check)
    except RunEnded:
        return eliminate(program, embeddings)


def _find_rebuilt(problem: Problem, known: Problem | None, lost: str | None) -> tuple[str, ...]:
    """What was not taken from the problem before, in words."""
    if known is None:
        return (f"elimination, bounds and blocks ({lost})",)
    rebuilt = []
    if problem.box is not known.box:
        rebuilt.append("bounds that rows imply")
    if problem.subproblem.epigraph is not known.subproblem.epigraph:
        rebuilt.append("epigraph")
    return tuple(rebuilt)


def _with_offsets(embeddings: Sequence[Embedding], offsets: Any) -> list[Embedding]:
    """The embeddings with other constants in their inputs."""
    if offsets is None:
        return list(embeddings)
    listed = _listed_offsets(offsets, len(embeddings))
    return [
        embedding if number not in listed else _with_offset(embedding, number, listed[number])
        for number, embedding in enumerate(embeddings)
    ]


def _listed_offsets(offsets: Any, number: int) -> dict[int, Any]:
    """The constants that are given, by the numbers of their embeddings."""
    if isinstance(offsets, Mapping):
        listed = dict(offsets)
    elif number == 1 and not (isinstance(offsets, list | tuple) and len(offsets) == 1):
        listed = {0: offsets}
    elif isinstance(offsets, list | tuple) and len(offsets) == number:
        listed = dict(enumerate(offsets))
    else:
        raise InputError(
            f"solve: inputs_offset is a list with one array, or None, for each of the {number} embeddings, or a mapping from their numbers; "
            f"received {show(offsets)}."
        )
    unknown = [key for key in listed if not (isinstance(key, int | np.integer) and 0 <= key < number)]
    if unknown:
        raise InputError(f"solve: inputs_offset names embedding {unknown[0]!r}; embeddings are numbered from 0 to {number - 1}.")
    return {int(key): value for key, value in listed.items() if value is not None}


def _with_offset(embedding: Embedding, number: int, offset: Any) -> Embedding:
    inputs = embedding.inputs
    if not isinstance(inputs, AffineInputs):
        raise InputError(
            f"solve: inputs_offset names embedding {number}, whose inputs are column numbers and have no constants. "
            "Embed it with AffineInputs(matrix, offset)."
        )
    array = as_numbers(offset, f"solve: inputs_offset of embedding {number}")
    shape = inputs.offset.shape
    if array.size != inputs.offset.size or array.shape not in (shape, (array.size,), (1, array.size)):
        raise InputError(
            f"solve: inputs_offset of embedding {number} has shape {array.shape}, expected {shape}: the evaluations are those that the problem was "
            "compiled with. Compile another one for another number."
        )
    if not np.isfinite(array).all():
        raise InputError(f"solve: inputs_offset of embedding {number} has NaN or infinite entries.")
    if np.array_equal(array.reshape(shape), inputs.offset):
        return embedding
    return embedding.with_offset(array.reshape(shape))


def _points(start: Any) -> Any:
    """Starts with the points of results in their places; a result without one gives none."""
    if isinstance(start, Result):
        return start.x
    if isinstance(start, list | tuple) and any(isinstance(each, Result) for each in start):
        points = [each.x if isinstance(each, Result) else each for each in start]
        return [point for point in points if point is not None] or None
    return start
