"""Indicators as ordinary rows, for solvers that have none: a'w <= ub + M (1 - w_b), with M from bounds."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.errors import MissingBoundError
from dcembed.program.derive import add_rows, derive, keep_rows
from dcembed.program.program import IndicatorRows, Program
from dcembed.program.tightening import tighten
from dcembed.sparse import largest_shares, row_numbers


def linearize_indicators(program: Program) -> Program:
    """The same program with its indicators written as rows before its own."""
    if not program.indicators:
        return program
    lb, ub = tighten(program)
    stacked = program.indicator_rows
    matrix = sp.vstack([stacked.matrix, -stacked.matrix], format="csr")
    rhs = np.concatenate([stacked.ub, -stacked.lb])
    finite = np.flatnonzero(np.isfinite(rhs))
    column, value = np.tile(stacked.column, 2)[finite], np.tile(stacked.value, 2)[finite]
    excess = largest_values(program, matrix[finite], lb, ub) - rhs[finite]
    rows, row_ub = switch(matrix[finite], rhs[finite], column, value, excess)
    first = keep_rows(program, np.zeros(0, dtype=np.int64))
    first = add_rows(first, rows, np.full(row_ub.size, -np.inf), row_ub)
    return derive(add_rows(first, program.rows, program.row_lb, program.row_ub, program.row_names), indicators=())


def settled_rows(program: Program, lb: Array, ub: Array) -> IndicatorRows:
    """The indicators that these bounds switch on, whose rows hold even where integers may be fractional."""
    rows = program.indicator_rows
    on = np.flatnonzero((np.round(lb[rows.column]) == rows.value) & (np.round(ub[rows.column]) == rows.value))
    return IndicatorRows(rows.matrix[on], rows.column[on], rows.value[on], rows.lb[on], rows.ub[on])


def switch(matrix: sp.csr_array, rhs: Array, column: Array, value: Array, excess: Array) -> tuple[sp.csr_array, Array]:
    """Rows matrix @ w <= rhs that hold only while w[column] == value (column -1: always).

    `excess` is the largest matrix @ w - rhs can be: with M = max(excess, 0) the row is
    matrix @ w + M w_b <= rhs + M for value 1 and matrix @ w - M w_b <= rhs for value 0.
    """
    big = np.where(column >= 0, np.maximum(excess, 0.0), 0.0)
    on = column >= 0
    coefficient = np.where(value == 1, big, -big)[on]
    entries = sp.csr_array((coefficient, (np.flatnonzero(on), column[on])), shape=matrix.shape)
    return sp.csr_array(matrix + entries), rhs + np.where(value == 1, big, 0.0)


def largest_values(program: Program, matrix: sp.csr_array, lb: Array, ub: Array) -> Array:
    """Largest value of each row over the box; MissingBoundError names the first column of `program` that makes it infinite."""
    shares = largest_shares(matrix, lb, ub)
    missing = np.flatnonzero(np.isinf(shares))
    if missing.size:
        raise missing_bound(program, int(matrix.indices[missing[0]]), "upper" if matrix.data[missing[0]] > 0 else "lower")
    return np.bincount(row_numbers(matrix), shares, minlength=matrix.shape[0])


def missing_bound(program: Program, column: int, side: str) -> MissingBoundError:
    """The error for a column that makes an M infinite."""
    label = program.column_label(column)
    return MissingBoundError(
        f"C{label[1:]} has no finite {side} bound, but it is behind an indicator, which is written with a bound here. "
        f"Give {label} a finite {side} bound, or rows that imply one."
    )
