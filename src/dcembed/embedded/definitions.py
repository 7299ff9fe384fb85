"""Columns that a row defines by predictions: s = prediction, written as an equality with a column of its own.

Many models introduce such a column and use it where the prediction is meant. Taken literally the row is a neural equality, which
restricts from both sides; substituted, the prediction itself is used, one-sided where that is enough.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedding import AffineInputs
from dcembed.embedded.grouping import outside
from dcembed.embedded.origin import Substitution
from dcembed.program.derive import add_rows, derive, keep_rows, with_indicator_rows
from dcembed.program.program import IndicatorRows, Program
from dcembed.sparse import empty_rows


@dataclass(frozen=True, eq=False)
class Definitions:
    """w[columns] = matrix @ w + constant, where `matrix` (d, n) has coefficients on predictions only.

    `pivot` has the coefficients of the columns in the rows that define them.
    """

    columns: Array
    matrix: sp.csr_array
    constant: Array
    pivot: Array

    def apply(self, w: Array) -> Array:
        """w with the defined columns set."""
        if self.columns.size:
            w[self.columns] = self.matrix @ w + self.constant
        return w


def find_definitions(program: Program, predictions: Array, inputs: list[AffineInputs]) -> tuple[Definitions, Array]:
    """Columns that an equality row ties to `predictions` alone, and the numbers of those rows.

    A column can be substituted if it is continuous, used linearly, and no network's input, indicator or prediction.
    """
    n = program.num_columns
    is_prediction = np.zeros(n, dtype=bool)
    is_prediction[predictions] = True
    free = ~program.integer & ~is_prediction
    free &= ~program.curved_columns
    for affine in inputs:
        free[affine.coefficients.indices] = False
    rows = program.rows
    row_of = np.repeat(np.arange(program.num_rows), np.diff(rows.indptr))
    others = np.bincount(row_of, ~is_prediction[rows.indices], minlength=program.num_rows)
    defining = (program.row_lb == program.row_ub) & (others == 1) & (np.diff(rows.indptr) > 1)
    candidate = np.flatnonzero(defining[row_of] & free[rows.indices])
    # A column that two rows define is substituted once; the other row stays a row.
    columns, first = np.unique(rows.indices[candidate], return_index=True)
    if columns.size == 0:
        return Definitions(columns, empty_rows(0, n), np.zeros(0), np.zeros(0)), columns
    candidate = candidate[first]
    used, pivot = row_of[candidate], rows.data[candidate]
    unit = sp.csr_array((pivot, (np.arange(columns.size), columns)), shape=(columns.size, n))
    scale = sp.diags_array(-1.0 / pivot, format="csr")
    matrix = sp.csr_array(scale @ (rows[used] - unit))
    matrix.eliminate_zeros()
    return Definitions(columns, matrix, program.row_ub[used] / pivot, pivot), used


def substitute(program: Program, definitions: Definitions, used: Array) -> tuple[Program, Substitution | None]:
    """The program without the defined columns (they stay as columns that nothing uses) and without the rows that define them; and how."""
    columns = definitions.columns
    if columns.size == 0:
        return program, None
    n = program.num_columns
    keep = np.ones(n)
    keep[columns] = 0.0
    spread = sp.csr_array((np.ones(columns.size), (columns, np.arange(columns.size))), shape=(n, columns.size))
    transform = sp.csr_array(sp.diags_array(keep) + spread @ definitions.matrix)
    shift = np.zeros(n)
    shift[columns] = definitions.constant

    rows = outside(program.num_rows, used)
    bounded = np.isfinite(program.lb[columns]) | np.isfinite(program.ub[columns])
    limited = columns[bounded]
    others = keep_rows(program, rows)
    substitution = Substitution(columns, used, definitions.pivot, transform, others.rows, rows, limited)
    substituted = derive(
        others,
        rows=sp.csr_array(others.rows @ transform),
    )
    substituted = with_indicator_rows(substituted, _moved(program.indicator_rows, transform, shift))
    # What bounded a defined column restricts its definition.
    labels = [program.column_label(int(j)) for j in limited]
    extended = add_rows(substituted, definitions.matrix[bounded], program.lb[limited], program.ub[limited], labels)
    numbers = substitution.apply(program)
    names = ("cost", "offset", "row_lb", "row_ub", "lb", "ub")
    return derive(extended, **{name: getattr(numbers, name) for name in names}), substitution


def _moved(rows: IndicatorRows, transform: sp.csr_array, shift: Array) -> IndicatorRows:
    amount = rows.matrix @ shift
    return replace(rows, matrix=sp.csr_array(rows.matrix @ transform), lb=rows.lb - amount, ub=rows.ub - amount)
