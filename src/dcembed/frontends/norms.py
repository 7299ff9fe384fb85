"""A column y that is the 2-norm of others. y >= ||v|| is a cone; y == ||v|| is not convex.

But where the model only wants y small, a point with y above the norm stays feasible and gets no worse if y is put at the norm. So the cone
is exact there, and y gets its value after the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.errors import InputError
from dcembed.program.cones import ConeConstraint
from dcembed.program.program import Program


@dataclass(frozen=True)
class Norm:
    """w[column] is the 2-norm of w[members]."""

    name: str
    column: int
    members: tuple[int, ...]


def norm_cone(norm: Norm, num_columns: int) -> ConeConstraint:
    """w[column] >= ||w[members]||."""
    columns = [norm.column, *norm.members]
    matrix = sp.csr_array((np.ones(len(columns)), (np.arange(len(columns)), columns)), shape=(len(columns), num_columns))
    return ConeConstraint(matrix, np.zeros(len(columns)), [len(columns)], [norm.name])


def check_norm(norm: Norm, program: Program, embeddings: Sequence[Embedding]) -> None:
    """InputError unless the program only wants the norm small; `norm` is one of its cones."""
    for reason in _hindrances(norm, program, embeddings):
        raise InputError(
            f"optimize: the general constraint '{norm.name}' says that {program.column_label(norm.column)} is a 2-norm, which is not convex. "
            f"dcembed takes it where the model only wants it small, but {reason}. Norms 1 and inf are taken everywhere."
        )


def _hindrances(norm: Norm, program: Program, embeddings: Sequence[Embedding]) -> Iterator[str]:
    y = norm.column
    if program.sense * program.cost[y] < 0:
        yield "the objective wants it large"
    if program.lb[y] > 0 or program.integer[y]:
        yield "it is an integer variable" if program.integer[y] else "its lower bound is above 0"
    for row in _against(sp.csr_array(program.rows[:, [y]]).toarray()[:, 0], program.row_lb, program.row_ub):
        yield f"{program.row_label(row)} bounds it from below"
    held = program.indicator_rows
    for number in _against(sp.csr_array(held.matrix[:, [y]]).toarray()[:, 0], held.lb, held.ub):
        yield f"{program.indicator_label(number)} bounds it from below"
    curved = program.quadratic is not None and y in program.quadratic.indices
    curved |= any(y in c.quadratic.indices or c.coefficients[0, y] < 0 for c in program.quadratic_constraints)
    if curved or sum(y in cone.matrix.indices for cone in program.cones) > 1:
        yield "something quadratic or another norm depends on it"
    if any(y in embedding.outputs or y in embedding.affine_inputs(program.num_columns).matrix.indices for embedding in embeddings):
        yield "a network depends on it or predicts it"


def _against(coefficients: Array, lb: Array, ub: Array) -> list[int]:
    """Rows that a smaller value of the column could violate."""
    return list(map(int, np.flatnonzero(((coefficients > 0) & np.isfinite(lb)) | ((coefficients < 0) & np.isfinite(ub)))))
