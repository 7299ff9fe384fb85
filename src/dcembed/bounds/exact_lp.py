"""A bound on the minimum of a linear program from multipliers of its rows, computed here: what a solver says is not trusted.

With multipliers y of row_lb <= A w <= row_ub and lb <= w <= ub

    c'w  =  y'A w + (c - A'y)'w  >=  least y'r between the sides of the rows + least (c - A'y)'w in the box

holds whatever y is. A solver's multipliers make it as good as its own optimum, up to rounding.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.program.program import Program

# Sums of products may be off by this, relative to the sum of their sizes: far more than the rounding of thousands of them.
ROUNDING = 1e-13


def bound_minimum(program: Program, cost: Array, duals: Array, lb: Array, ub: Array) -> float:
    """A lower bound on cost'w over the rows of `program` and lb <= w <= ub; -inf where it hangs on a column without end.

    `duals` (rows,) are those of `Solution`, or any others: positive at an upper side.
    """
    y = -duals
    # A multiplier of a side that does not exist is the rounding of a solver.
    y = np.where(np.isfinite(np.where(y > 0, program.row_lb, program.row_ub)), y, 0.0)
    sizes: Array = abs(program.rows).T @ np.abs(y)
    reduced, error = cost - program.rows.T @ y, ROUNDING * (np.abs(cost) + sizes)
    terms = [_least(y, program.row_lb, program.row_ub), np.minimum(_least(reduced - error, lb, ub), _least(reduced + error, lb, ub))]
    return sum(float(some.sum() - ROUNDING * np.abs(some).sum()) for some in terms)


def _least(slope: Array, lb: Array, ub: Array) -> Array:
    """The least value of slope * v for lb <= v <= ub, entry by entry."""
    least: Array = slope * np.where(slope == 0, 0.0, np.where(slope > 0, lb, ub))
    return least


def bounded_rows(rows: sp.csr_array, lb: Array, ub: Array) -> Array:
    """The rows whose columns all have finite bounds: multipliers of others show nothing."""
    is_endless = ~(np.isfinite(lb) & np.isfinite(ub))
    pattern = sp.csr_array((np.ones(rows.nnz), rows.indices, rows.indptr), shape=rows.shape)
    return np.flatnonzero(pattern @ is_endless.astype(np.float64) == 0)
