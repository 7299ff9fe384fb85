"""Sides of rows that a binary may switch: one binary and no other integer, and predictions or inputs of networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.program.program import Program
from dcembed.sparse import row_numbers


@dataclass(frozen=True, eq=False)
class Sides:
    """One side each of some rows of a program: matrix @ w + big * w[column] <= rhs.

    Parameters
    ----------
    row, is_upper
        Which row, and which of its sides; shape (s,), as are all but the matrix.
    matrix
        The coefficients on all columns but the binary, shape (s, n).
    column, big
        The binary and its coefficient.
    rhs
        The right-hand side.
    """

    row: Array
    is_upper: Array
    matrix: sp.csr_array
    column: Array
    big: Array
    rhs: Array

    @property
    def on(self) -> Array:
        """The value of the binary at which the row says more."""
        return (self.big > 0).astype(np.int64)

    @property
    def off(self) -> Array:
        """The other value."""
        return 1 - self.on

    @property
    def rhs_on(self) -> Array:
        """The right-hand side of matrix @ w at the one value."""
        rhs: Array = self.rhs - self.big * self.on
        return rhs

    @property
    def rhs_off(self) -> Array:
        """And at the other."""
        rhs: Array = self.rhs - self.big * self.off
        return rhs

    def pick(self, some: Array) -> Sides:
        """Some of them, by a mask or by their numbers."""
        return Sides(self.row[some], self.is_upper[some], self.matrix[some], self.column[some], self.big[some], self.rhs[some])


def find_sides(program: Program, embeddings: Sequence[Embedding]) -> tuple[Sides, Array]:
    """The sides of a program that a binary may switch, and which of them have predictions in them."""
    rows, row_of = program.rows, row_numbers(program.rows)
    is_output, is_input = _used_columns(program, embeddings)
    has_output = _count(program, is_output) > 0
    is_candidate = has_output | (_count(program, is_input & ~program.integer) > 0)
    # An equality says something at either value.
    is_candidate &= (_count(program, program.integer) == 1) & (program.row_lb < program.row_ub)
    is_binary = program.integer & (program.lb == 0.0) & (program.ub == 1.0)
    entry = np.flatnonzero(is_candidate[row_of] & is_binary[rows.indices] & (rows.data != 0.0))
    upper, lower = (entry[np.isfinite(side[row_of[entry]])] for side in (program.row_ub, program.row_lb))
    sides = _sides(program, np.concatenate([upper, lower]), np.repeat([1.0, -1.0], [upper.size, lower.size]))
    return sides, has_output[sides.row]


def _sides(program: Program, entry: Array, sign: Array) -> Sides:
    """The sides, upper ones with sign 1, of the rows in which these entries are the binaries."""
    rows, size = program.rows, entry.size
    row, column, big = row_numbers(rows)[entry], rows.indices[entry].astype(np.int64), sign * rows.data[entry]
    binary = sp.csr_array((big, (np.arange(size), column)), shape=(size, program.num_columns))
    signs = sp.csr_array((sign, (np.arange(size), np.arange(size))), shape=(size, size))
    matrix = sp.csr_array(signs @ rows[row] - binary)
    matrix.eliminate_zeros()
    rhs = np.where(sign > 0, program.row_ub[row], -program.row_lb[row])
    return Sides(row, sign > 0, matrix, column, big, rhs)


def _count(program: Program, mask: Array) -> Array:
    """How many columns of a mask each row has."""
    used = (program.rows.data != 0.0) & mask[program.rows.indices]
    return np.bincount(row_numbers(program.rows), used, minlength=program.num_rows)


def _used_columns(program: Program, embeddings: Sequence[Embedding]) -> tuple[Array, Array]:
    """Masks of the columns of predictions, and of those that inputs depend on."""
    outputs, inputs = np.zeros(program.num_columns, dtype=bool), np.zeros(program.num_columns, dtype=bool)
    for embedding in embeddings:
        outputs[embedding.outputs] = True
        inputs[embedding.affine_inputs(program.num_columns).matrix.indices] = True
    return outputs, inputs
