"""How long a solver may be deaf: it hears neither the clock nor Ctrl-C while it factorizes, or while a problem is handed to it.

The times are estimated from the numbers of entries, and where these leave it open, from the pattern of the matrices. They decide
where a problem is solved: in this process, or in one that can be ended.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from dcembed.arrays import Array
from dcembed.program.program import Program

# A solve that may take longer than this goes to a process of its own; there and back are about two milliseconds.
HERE_SECONDS = 0.25

# Measured on one slow core: factorizations per solve, and operations per second of dense and of sparse ones; Clarabel orders dense
# rows less well than it could.
NUM_FACTORIZATIONS, DENSE_RATE, PIQP_RATE, CLARABEL_RATE = 25, 2.5e10, 3e9, 1e9
# Eigenvalues and vectors of a dense matrix, in operations per entry and column, and operations per second.
EIGEN_FACTOR, EIGEN_RATE = 10, 8e9
# To hand a linear coefficient and a quadratic one to SCIP, term by term, and to presolve it; any coefficient to solvers that take arrays.
SCIP_LINEAR_SECONDS, SCIP_QUADRATIC_SECONDS, ARRAY_SECONDS = 2e-6, 1e-5, 1e-7
# HiGHS does not look up while it presolves, nor in much of what it does at the root of a search: for each coefficient.
HIGHS_SECONDS, HIGHS_SEARCH_SECONDS = 5e-7, 6e-6
# Dense factorizations are used up to this many entries, 240 MB a matrix, if at least this share of all is nonzero; up to the last number
# of entries in any case, since to put sparse matrices together takes longer than to factorize them.
DENSE_ENTRIES, DENSE_SHARE, ALWAYS_DENSE_ENTRIES = 30_000_000, 0.1, 10_000
# Rows and columns with more entries than one of these times the root of their number are eliminated last, as orderings of solvers do with
# columns that all blocks have in common; the least is taken, since no more is known than that they do it well.
DENSE_FACTORS = (3.0, 10.0, 1.0)


@dataclass(frozen=True, eq=False)
class Pattern:
    """What the times depend on: a program, of which the rows from number `first` have been replaced by others."""

    program: Program
    first: int
    tail: sp.csr_array

    @property
    def num_rows(self) -> int:
        """Rows as they are now, those of cones among them."""
        return self.first + int(self.tail.shape[0]) + sum(int(cone.matrix.shape[0]) for cone in self.program.cones)

    @property
    def num_entries(self) -> int:
        """Coefficients of the rows and cones."""
        return int(self.program.rows.indptr[self.first]) + int(self.tail.nnz) + sum(int(cone.matrix.nnz) for cone in self.program.cones)

    @property
    def num_quadratic(self) -> int:
        """Coefficients of quadratic objective and constraints."""
        objective = int(self.program.quadratic.nnz) if self.program.quadratic is not None else 0
        return objective + sum(int(constraint.quadratic.nnz) for constraint in self.program.quadratic_constraints)


def array_seconds(pattern: Pattern) -> float:
    """To hand all coefficients over as arrays."""
    return ARRAY_SECONDS * (pattern.num_entries + pattern.num_quadratic)


def highs_seconds(pattern: Pattern) -> float:
    """To presolve a linear program, and with integers to separate, probe and try at the root."""
    return (HIGHS_SEARCH_SECONDS if pattern.program.integer.any() else HIGHS_SECONDS) * pattern.num_entries


def scip_seconds(pattern: Pattern) -> float:
    """To hand all coefficients to SCIP and presolve them, and to factorize its quadratic relaxation."""
    handing = SCIP_LINEAR_SECONDS * pattern.num_entries + SCIP_QUADRATIC_SECONDS * pattern.num_quadratic
    return handing + (piqp_seconds(pattern) if pattern.program.quadratic is not None else 0.0)


def is_dense(num_columns: int, num_rows: int, num_entries: int) -> bool:
    """Whether dense factorizations are quicker: by a factor of two at 210 columns and 200 to 1000 rows, of ten at 600 to 1000 columns."""
    size = num_columns * (num_columns + num_rows)
    return size <= ALWAYS_DENSE_ENTRIES or (DENSE_SHARE * size < num_entries and size <= DENSE_ENTRIES)


def piqp_seconds(pattern: Pattern) -> float:
    """To factorize the matrices of a quadratic program, dense ones as such."""
    n, m = pattern.program.num_columns, pattern.num_rows
    if is_dense(n, m, pattern.num_entries + pattern.num_quadratic):
        return float(NUM_FACTORIZATIONS * (n**3 / 3 + m * n**2) / DENSE_RATE)
    return factor_seconds(pattern, PIQP_RATE)


def clarabel_seconds(pattern: Pattern) -> float:
    """To factorize the matrices of a conic program; quadratic constraints are first written as cones."""
    forms = [np.count_nonzero(np.diff(constraint.quadratic.indptr)) for constraint in pattern.program.quadratic_constraints]
    writing = sum(EIGEN_FACTOR * float(size) ** 3 for size in forms) / EIGEN_RATE
    return float(writing) + factor_seconds(pattern, CLARABEL_RATE)


def factor_seconds(pattern: Pattern, rate: float) -> float:
    """To factorize the optimality conditions of an interior-point method; banded and dense matrices are estimated best."""
    each = NUM_FACTORIZATIONS / rate
    most = float(pattern.program.num_columns + pattern.num_rows) ** 3 / 3
    # As if all coefficients were in one dense block.
    least: float = (pattern.num_entries + pattern.num_quadratic) ** 1.5 / 3
    if each * most <= HERE_SECONDS:
        return each * most
    if each * least > HERE_SECONDS:
        return each * least
    # Fill-in makes all the difference: what it is at most, in an order that keeps entries near the diagonal.
    return min(each * most, _profile_seconds(_conditions(pattern), each))


def _conditions(pattern: Pattern) -> sp.csr_array:
    """The pattern of the optimality conditions: objective and constraints over the columns, and the rows beside them."""
    program = pattern.program
    forms = [] if program.quadratic is None else [program.quadratic]
    forms += [constraint.quadratic for constraint in program.quadratic_constraints]
    n = program.num_columns
    upper = sum((abs(form) for form in forms), sp.csr_array((n, n)))
    rows = sp.vstack([program.rows[: pattern.first], pattern.tail, *(cone.matrix for cone in program.cones)], format="csr")
    return sp.csr_array(sp.block_array([[upper, rows.T], [rows, None]]))


def _profile_seconds(matrix: sp.csr_array, each: float) -> float:
    """By the best of some eliminations, or the first of them that is quick enough."""
    degree, least = np.diff(matrix.indptr), np.inf
    for factor in DENSE_FACTORS:
        least = min(least, each * _operations(matrix, degree > factor * np.sqrt(degree.size)))
        if least <= HERE_SECONDS:
            break
    return least


def _operations(matrix: sp.csr_array, is_dense: Array) -> float:
    """Those of an elimination in which dense rows and columns come last."""
    kept, last = np.flatnonzero(~is_dense), int(is_dense.sum())
    core = sp.csr_array(matrix[kept][:, kept])
    width = _widths(core) + last
    return float((width.astype(np.float64) ** 2).sum()) + last**3 / 3


def _widths(matrix: sp.csr_array) -> Array:
    """How far the first entry of each row lies before the diagonal, in the order of Cuthill and McKee."""
    order = reverse_cuthill_mckee(matrix, symmetric_mode=True)
    position = np.empty(order.size, dtype=np.int64)
    position[order] = np.arange(order.size)
    first = np.arange(order.size)
    entries = sp.coo_array(matrix)
    np.minimum.at(first, position[entries.row], position[entries.col])
    widths: Array = np.arange(order.size) - first
    return widths
