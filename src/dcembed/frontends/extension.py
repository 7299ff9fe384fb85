"""Columns behind those of the user's model, by which a front end writes what a `Program` has no word for.

They exist in the extraction only. All of them follow from the user's own columns, so a point of the user's is completed, and one of the
program cut off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.verify import predict, verify
from dcembed.frontends.case_bounds import bound_cases
from dcembed.frontends.cases import Cases, stack_rows
from dcembed.frontends.curves import Curve
from dcembed.frontends.norms import Norm, check_norm, norm_cone
from dcembed.frontends.switches import Switches
from dcembed.program.derive import add_columns, add_rows, derive, widened
from dcembed.program.program import Program
from dcembed.result import Result


@dataclass(frozen=True)
class CurveColumn:
    """An added column: the value of a curve at the column `place`, with a cost."""

    name: str
    place: int
    curve: Curve
    cost: float = 0.0


@dataclass(frozen=True, eq=False)
class Extension:
    """What is added to a program of `num_columns` columns.

    Parameters
    ----------
    num_columns
        Of the user's model.
    curves
        Columns n, n + 1, ...: one each.
    parts
        Constraints over these and the user's columns; each brings its binaries, which follow in this order.
    norms
        Columns of the user's that are 2-norms.
    sense
        1 where the objective is minimized, -1 where it is maximized.
    """

    num_columns: int
    curves: tuple[CurveColumn, ...] = ()
    parts: tuple[Cases | Switches, ...] = ()
    norms: tuple[Norm, ...] = ()
    sense: float = 1.0

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.curves or self.parts or self.norms)

    def complete(self, x: Array) -> Array:
        """A point of the user's columns (or of all) with everything that follows from it."""
        if self.is_empty:
            return x
        w = np.concatenate([x[: self.num_columns], np.zeros(len(self.curves))])
        for norm in self.norms:
            w[norm.column] = np.linalg.norm(w[list(norm.members)])
        for number, added in enumerate(self.curves):
            w[self.num_columns + number] = added.curve.value(w[added.place], self.sense)
        return np.concatenate([w, *(part.choose(w) for part in self.parts)])

    def complete_start(self, start: Any, embeddings: Sequence[Embedding], width: int) -> Any:
        """One start of the user's, or several; what is no point of the model's columns is left, to be refused by `solve`.

        The point of a result is one of the program, complete as it is.
        """
        if isinstance(start, list | tuple) and start and (np.ndim(start[0]) > 0 or any(isinstance(point, Result) for point in start)):
            return [self.complete_start(point, embeddings, width) for point in start]
        if isinstance(start, Result):
            return start
        if self.is_empty or start is None or np.shape(start) != (self.num_columns,):
            return start
        point = np.concatenate([np.asarray(start, dtype=np.float64), np.zeros(width - self.num_columns)])
        return self.complete(predict(embeddings, point))

    def complete_result(self, result: Result) -> Result:
        """The result with what follows from its point, where that is no worse a point."""
        if result.x is None or self.is_empty:
            return result
        x = self.complete(result.x)
        measured = verify(result.program, result.embeddings, x)
        if measured.violation > max(result.violation, result.feasibility_tol):
            return result
        # Only a norm is the user's own column; of earlier points nothing else is looked at.
        points = [x if x is None else self.complete(x) for x in result.incumbent_points] if self.norms else result.incumbent_points
        return replace(result, x=x, objective=measured.objective, violation=measured.violation, incumbent_points=points)


NO_EXTENSION = Extension(0)


def extend(program: Program, embeddings: tuple[Embedding, ...], extension: Extension) -> tuple[Program, tuple[Embedding, ...]]:
    """The program and its embeddings with what is added; InputError names a norm that is not convex in it."""
    if extension.is_empty:
        return program, embeddings
    first = program.num_columns + len(extension.curves)
    names = [*(program.column_names or [""] * program.num_columns), *(added.name for added in extension.curves)]
    wider = add_columns(
        program,
        np.full(len(extension.curves), -np.inf),
        np.full(len(extension.curves), np.inf),
        np.array([added.cost for added in extension.curves], dtype=np.float64),
    )
    starts = np.cumsum([first, *(part.num_binaries for part in extension.parts)])
    count = int(starts[-1]) - first
    names += [f"{part.name} case {i}" for part in extension.parts for i in range(part.num_binaries)]
    wider = add_columns(wider, np.zeros(count), np.ones(count), integer=np.ones(count, dtype=bool))
    wider = derive(wider, column_names=tuple(names), column_numbers=None)
    placed = list(zip(extension.parts, starts[:-1].tolist(), strict=True))
    blocks = [_rows(part, start, wider.num_columns) for part, start in placed]
    wider = add_rows(
        wider,
        sp.csr_array(sp.vstack([sp.csr_array((0, wider.num_columns)), *(matrix for matrix, _, _ in blocks)])),
        np.concatenate([np.zeros(0), *(lb for _, lb, _ in blocks)]),
        np.concatenate([np.zeros(0), *(ub for _, _, ub in blocks)]),
        [part.name for part, (_, lb, _) in zip(extension.parts, blocks, strict=True) for _ in lb],
    )
    added = [item for part, start in placed for item in part.indicators(start, wider.num_columns)]
    cones = [norm_cone(norm, wider.num_columns) for norm in extension.norms]
    wider = derive(wider, indicators=(*wider.indicators, *added), cones=(*wider.cones, *cones))
    embedded = tuple(embedding.widened(wider.num_columns) for embedding in embeddings)
    for norm in extension.norms:
        check_norm(norm, wider, embedded)
    return bound_cases(wider, embedded, [part for part in extension.parts if isinstance(part, Cases)]), embedded


def _rows(part: Cases | Switches, first: int, num_columns: int) -> tuple[sp.csr_array, Array, Array]:
    if isinstance(part, Switches):
        matrix, lb, ub = part.rows(first)
        return widened(matrix, matrix.shape[0], num_columns), lb, ub
    return stack_rows(part.rows(first), num_columns)
