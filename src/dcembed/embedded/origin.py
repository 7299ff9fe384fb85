"""Where the numbers of an embedded problem come from, so that a program with other numbers need not be eliminated again.

What an elimination does depends on where a program has entries, which of its bounds are finite and which of its rows are equalities. With
that unchanged, costs, bounds and right-hand sides of host and restrictions are picked from those of the program.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.program.program import Program


@dataclass(frozen=True, eq=False)
class Substitution:
    """How columns that rows define were substituted (`definitions.py`).

    Parameters
    ----------
    columns, used, pivot
        The defined columns, the rows that define them, and the coefficients of the columns in these rows; shapes (d,).
    transform
        The substitution, shape (n, n): coefficients on w become coefficients @ transform.
    matrix, rows
        The rows that are left, shape (r, n), and their numbers.
    limited
        The defined columns whose bounds have become rows.
    """

    columns: Array
    used: Array
    pivot: Array
    transform: sp.csr_array
    matrix: sp.csr_array
    rows: Array
    limited: Array

    def apply(self, program: Program) -> Numbers:
        """The numbers of the program behind it."""
        shift = np.zeros(program.num_columns)
        shift[self.columns] = program.row_ub[self.used] / self.pivot
        moved, at = self.matrix @ shift, shift[self.limited]
        lb, ub = program.lb.copy(), program.ub.copy()
        lb[self.columns], ub[self.columns] = -np.inf, np.inf
        return Numbers(
            cost=self.transform.T @ program.cost,
            offset=program.offset + float(program.cost @ shift),
            row_lb=np.concatenate([program.row_lb[self.rows] - moved, program.lb[self.limited] - at]),
            row_ub=np.concatenate([program.row_ub[self.rows] - moved, program.ub[self.limited] - at]),
            lb=lb,
            ub=ub,
            constant=shift[self.columns],
        )


@dataclass(frozen=True, eq=False)
class Numbers:
    """Of a program with its definitions substituted; `constant` has those of the definitions."""

    cost: Array
    offset: float
    row_lb: Array
    row_ub: Array
    lb: Array
    ub: Array
    constant: Array


@dataclass(frozen=True, eq=False)
class Origin:
    """Which numbers of the program, behind its substitution, are where.

    Parameters
    ----------
    substitution
        Of the definitions; None where there are none.
    gone
        Columns of predictions that were eliminated.
    plain, neural
        Rows that are rows of the host, and rows with predictions in them.
    bounded
        Eliminated columns with a bound.
    conditional
        Lower and upper limits of the indicators with predictions in them.
    num_linked
        Predictions that stay columns.
    upper, lower
        Numbers among neural rows, bounds, conditional and linked ones, in this order, whose upper and whose lower sides are the restrictions.
    """

    substitution: Substitution | None
    gone: Array
    plain: Array
    neural: Array
    bounded: Array
    conditional: tuple[Array, Array]
    num_linked: int
    upper: Array
    lower: Array

    def numbers(self, program: Program) -> Numbers:
        """Those of a program that has the same structure."""
        if self.substitution is not None:
            return self.substitution.apply(program)
        return Numbers(program.cost, program.offset, program.row_lb, program.row_ub, program.lb, program.ub, np.zeros(0))

    def rhs(self, numbers: Numbers) -> Array:
        """The right-hand sides of all restrictions."""
        zeros = np.zeros(self.num_linked)
        lb = np.concatenate([numbers.row_lb[self.neural], numbers.lb[self.bounded], self.conditional[0], zeros])
        ub = np.concatenate([numbers.row_ub[self.neural], numbers.ub[self.bounded], self.conditional[1], zeros])
        return np.concatenate([ub[self.upper], -lb[self.lower]])
