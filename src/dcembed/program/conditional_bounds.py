"""Bounds of columns while a binary has one of its values: what x <= U z and its like, and indicators over one column, say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.program.program import Program
from dcembed.program.tightening import Box


@dataclass(frozen=True, eq=False)
class ConditionalBounds:
    """Bounds of columns, and tighter ones of some while a binary has a value.

    Parameters
    ----------
    box
        Bounds that hold in any case.
    key
        (column * n + binary) * 2 + value of those that hold while the binary has the value, increasing; shape (k,).
    lb, ub
        The bounds then, shape (k,).
    """

    box: Box
    key: Array
    lb: Array
    ub: Array

    def at(self, column: Array, binary: Array, value: Array) -> Box:
        """Bounds of each column while the binary beside it has the value beside it."""
        low, high = self.box.lb[column], self.box.ub[column]
        wanted = _key(self.box.lb.size, column, binary, value)
        place = np.minimum(np.searchsorted(self.key, wanted), max(self.key.size - 1, 0))
        known = np.flatnonzero(self.key[place] == wanted) if self.key.size else np.zeros(0, dtype=np.int64)
        low[known] = np.maximum(low[known], self.lb[place[known]])
        high[known] = np.minimum(high[known], self.ub[place[known]])
        itself = column == binary
        # A value that the rows exclude leaves no point at all; bounds stay ordered.
        return Box(np.where(itself, value, np.minimum(low, high)), np.where(itself, value, high))


def find_conditional_bounds(program: Program, box: Box) -> ConditionalBounds:
    """What rows over a column and a binary, and indicators over a column, say about that column."""
    n = program.num_columns
    column, binary, value, low, high = (np.concatenate(parts) for parts in zip(_from_rows(program), _from_indicators(program), strict=True))
    key, number = np.unique(_key(n, column, binary, value), return_inverse=True)
    lb, ub = np.full(key.size, -np.inf), np.full(key.size, np.inf)
    np.maximum.at(lb, number.reshape(-1), low)
    np.minimum.at(ub, number.reshape(-1), high)
    return ConditionalBounds(box, key, lb, ub)


def _key(n: int, column: Array, binary: Array, value: Array) -> Array:
    key: Array = (column.astype(np.int64) * n + binary) * 2 + value
    return key


def _from_rows(program: Program) -> tuple[Array, ...]:
    """Column, binary, value and bounds, from rows of two coefficients; either column may be the binary."""
    rows = sp.csr_array(program.rows)
    pair = np.flatnonzero(np.diff(rows.indptr) == 2)
    first = rows.indptr[pair]
    is_binary = program.integer & (program.lb >= 0) & (program.ub <= 1)
    row, x, z = np.tile(pair, 2), np.concatenate([first, first + 1]), np.concatenate([first + 1, first])
    used = is_binary[rows.indices[z]] & (rows.data[x] != 0.0)
    row, x, z = row[used], x[used], z[used]
    parts = []
    for value in (0, 1):
        rest = rows.data[z] * value
        low, high = _sides(rows.data[x], program.row_lb[row] - rest, program.row_ub[row] - rest)
        parts.append((rows.indices[x], rows.indices[z], np.full(x.size, value), low, high))
    return tuple(np.concatenate(both) for both in zip(*parts, strict=True))


def _from_indicators(program: Program) -> tuple[Array, ...]:
    indicators = program.indicator_rows
    single = np.flatnonzero(np.diff(indicators.matrix.indptr) == 1)
    entry = indicators.matrix.indptr[single]
    single = single[indicators.matrix.data[entry] != 0.0]
    entry = indicators.matrix.indptr[single]
    low, high = _sides(indicators.matrix.data[entry], indicators.lb[single], indicators.ub[single])
    return indicators.matrix.indices[entry], indicators.column[single], indicators.value[single], low, high


def _sides(coefficient: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Bounds of x from low <= coefficient * x <= high."""
    one, other = low / coefficient, high / coefficient
    return np.where(coefficient > 0, one, other), np.where(coefficient > 0, other, one)
