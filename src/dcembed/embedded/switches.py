"""Rows that a large coefficient on a binary switches off, read as the indicators that they are.

    a'w + M z <= b   with z binary   is   z = 1  =>  a'w <= b - M   if a'w <= b holds anyway while z = 0,

and the other way round for a negative M. Whether it holds anyway is decided by bounds: those of columns from all other rows, also
from those that say more about a column while z = 0, and those of predictions from their networks. So the feasible points are the same,
for any M. A row that might cut something off while it is "off" is no switch, and stays as it is.

A neural row is read as an indicator, whose M the engine chooses anew for every model. A row on the inputs of networks alone stays a row
of the host; it is written with the smallest M that the bounds allow, as every indicator of the host is in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.output_ranges import output_ranges
from dcembed.network.bounds import go_on
from dcembed.program.conditional_bounds import ConditionalBounds, find_conditional_bounds
from dcembed.program.derive import add_rows, derive, keep_rows
from dcembed.program.indicators import switch
from dcembed.program.program import IndicatorRows, Program
from dcembed.program.tightening import SAFETY, tighten
from dcembed.sparse import row_numbers

# An M that is larger than it need be by this factor is written anew.
LOOSE = 1.001


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


@dataclass(frozen=True, eq=False)
class Switched:
    """A program with its switches read.

    Parameters
    ----------
    program
        The program without the sides of its neural rows that are switches, and with the others of those on network inputs written anew.
    indicators
        The switches that are neural rows.
    num_read
        How many rows of the program had a switch in them.
    """

    program: Program
    indicators: IndicatorRows
    num_read: int


def read_switches(program: Program, embeddings: Sequence[Embedding], eliminated: Array, check: Callable[[], None] = go_on) -> Switched:
    """Read the rows with predictions, or on inputs of networks, that are switches.

    Parameters
    ----------
    eliminated
        The columns of predictions that are no columns of the host: rows with them are neural rows.
    check
        Called between large products; what it raises ends the reading.
    """
    sides, has_outputs = _find_candidates(program, embeddings)
    largest = np.full(sides.row.size, np.inf)
    # A row is judged by what else holds, those on inputs without the others: two of them might excuse one another.
    for some, others in ((~has_outputs, sides.row), (has_outputs, sides.row[has_outputs])):
        if some.any():
            largest[some] = _largest_while_off(sides.pick(some), embeddings, _bounds_without(program, others), check)
    size = _sizes(sides)
    holds = largest <= sides.rhs_off + SAFETY * size
    is_neural = np.diff(sides.matrix[:, eliminated].indptr) > 0
    least = np.maximum(largest - sides.rhs_on, 0.0)
    is_loose = np.abs(sides.big) > LOOSE * least + SAFETY * size
    found, loose = sides.pick(holds & is_neural), holds & ~is_neural & is_loose
    read = sides.pick(holds & (is_neural | is_loose))
    left = _with_least(_without_sides(program, read), program, sides.pick(loose), least[loose])
    return Switched(left, _as_indicators(found), np.unique(read.row).size)


def unread(program: Program) -> Switched:
    """The program as it is."""
    return Switched(program, derive(program, indicators=()).indicator_rows, 0)


def _find_candidates(program: Program, embeddings: Sequence[Embedding]) -> tuple[Sides, Array]:
    """Sides of rows with one integer, a binary, and with predictions or inputs in them; and which of them have predictions."""
    rows = program.rows
    row_of, on_column = row_numbers(rows), rows.data != 0.0
    integers = np.bincount(row_of, on_column & program.integer[rows.indices], minlength=program.num_rows)
    is_binary = program.integer & (program.lb == 0.0) & (program.ub == 1.0)
    entry = np.flatnonzero(on_column & is_binary[rows.indices] & (integers[row_of] == 1) & (program.row_lb < program.row_ub)[row_of])
    outputs, inputs = _used_columns(program, embeddings)
    has_output, has_input = (
        np.bincount(row_of, on_column & mask[rows.indices], minlength=program.num_rows) > 0 for mask in (outputs, inputs)
    )
    # The binary itself may be an input.
    of_input = has_input & (np.bincount(row_of, on_column & (inputs & ~program.integer)[rows.indices], minlength=program.num_rows) > 0)
    entry = entry[(has_output | of_input)[row_of[entry]]]
    upper, lower = (entry[np.isfinite(side[row_of[entry]])] for side in (program.row_ub, program.row_lb))
    chosen, sign = np.concatenate([upper, lower]), np.repeat([1.0, -1.0], [upper.size, lower.size])
    row, column, big = row_of[chosen], rows.indices[chosen].astype(np.int64), sign * rows.data[chosen]
    size = chosen.size
    binary = sp.csr_array((big, (np.arange(size), column)), shape=(size, program.num_columns))
    signs = sp.csr_array((sign, (np.arange(size), np.arange(size))), shape=(size, size))
    matrix = sp.csr_array(signs @ rows[row] - binary)
    matrix.eliminate_zeros()
    rhs = np.where(sign > 0, program.row_ub[row], -program.row_lb[row])
    return Sides(row, sign > 0, matrix, column, big, rhs), has_output[row]


def _used_columns(program: Program, embeddings: Sequence[Embedding]) -> tuple[Array, Array]:
    """Masks of the columns of predictions, and of those that inputs depend on."""
    outputs, inputs = np.zeros(program.num_columns, dtype=bool), np.zeros(program.num_columns, dtype=bool)
    for embedding in embeddings:
        outputs[embedding.outputs] = True
        inputs[embedding.affine_inputs(program.num_columns).matrix.indices] = True
    return outputs, inputs


def _bounds_without(program: Program, rows: Array) -> ConditionalBounds:
    """Bounds that all but these rows imply."""
    rest = keep_rows(program, np.setdiff1d(np.arange(program.num_rows), rows))
    return find_conditional_bounds(rest, tighten(rest))


def _largest_while_off(sides: Sides, embeddings: Sequence[Embedding], bounds: ConditionalBounds, check: Callable[[], None]) -> Array:
    """The largest matrix @ w while the binary of each side switches it off: by intervals, and by lines where these do not tell."""
    largest = np.full(sides.row.size, np.inf)
    for by_lines in (False, True):
        unknown = np.flatnonzero(largest > sides.rhs_off)
        some = sides.pick(unknown)
        entry, data, column = row_numbers(some.matrix), some.matrix.data, some.matrix.indices
        binary, off = some.column[entry], some.off[entry]
        box = output_ranges(embeddings, column, binary, off, bounds.at(column, binary, off), bounds, by_lines, check)
        shares = np.where(data > 0, data * box.ub, data * box.lb)
        # Without an end on one side and on the other the sum has none.
        shares = np.where(np.isinf(shares), np.inf, shares)
        largest[unknown] = np.bincount(entry, shares, minlength=unknown.size)
    return largest


def _sizes(sides: Sides) -> Array:
    """Of what is compared, for rounding."""
    return 1.0 + np.abs(sides.rhs) + np.abs(sides.big)


def _without_sides(program: Program, sides: Sides) -> Program:
    """The program without some sides of its rows, and without rows that have none left."""
    if sides.row.size == 0:
        return program
    lb, ub = program.row_lb.copy(), program.row_ub.copy()
    ub[sides.row[sides.is_upper]], lb[sides.row[~sides.is_upper]] = np.inf, -np.inf
    gone = np.zeros(program.num_rows, dtype=bool)
    gone[sides.row] = np.isinf(lb[sides.row]) & np.isinf(ub[sides.row])
    return keep_rows(derive(program, row_lb=lb, row_ub=ub), np.flatnonzero(~gone))


def _with_least(program: Program, original: Program, sides: Sides, least: Array) -> Program:
    """The program with these sides as rows behind its own, under their names, each with the least M."""
    if sides.row.size == 0:
        return program
    rows, ub = switch(sides.matrix, sides.rhs_on, sides.column, sides.on, least)
    names = [original.row_names[i] for i in sides.row] if original.row_names is not None else None
    return add_rows(program, rows, np.full(ub.size, -np.inf), ub, names)


def _as_indicators(sides: Sides) -> IndicatorRows:
    return IndicatorRows(sides.matrix, sides.column, sides.on, np.full(sides.row.size, -np.inf), sides.rhs_on)
