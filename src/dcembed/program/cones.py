"""Convex quadratic and second-order-cone constraints.

    quadratic   1/2 w'Qw + a'w <= ub                 with Q positive semidefinite
    cone        t >= ||v||  for  (t, v) = matrix @ w + offset

A quadratic constraint is also a cone: with Q = F'F and a = F'g + r, r orthogonal to the rows of F, it says
1/2 ||F w + g||^2 <= s with s = ub + 1/2 ||g||^2 - r'w, and that is ||F w + g|| <= sqrt(2 s) where r is zero, a rotated cone else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.program.convexity import check_convex
from dcembed.program.matrices import MatrixLike, as_sparse, check_finite, set_fields, symmetric
from dcembed.reading import as_name, as_names, as_number, as_numbers

# Eigenvalues of Q below this share of the largest are rounding and count as zero.
RANK_TOL = 1e-13
# A part of a that is orthogonal to the rows of F counts as zero below this share of a.
RANGE_TOL = 1e-10


@dataclass(frozen=True, eq=False, init=False)
class QuadraticConstraint:
    """1/2 w'Qw + a'w <= ub.

    Parameters
    ----------
    quadratic
        Q, shape (n, n), positive semidefinite; dense or sparse.
    coefficients
        a, shape (n,), (1, n) or sparse (1, n). None for none.
    ub
        The right-hand side.
    name
        What messages call it.
    """

    quadratic: sp.csr_array
    coefficients: sp.csr_array
    ub: float
    name: str | None

    def __init__(self, quadratic: MatrixLike, coefficients: MatrixLike | None = None, ub: float = 0.0, name: str | None = None) -> None:
        owner = "QuadraticConstraint"
        matrix = as_sparse(quadratic, owner, "quadratic")
        n = matrix.shape[1]
        if matrix.shape != (n, n):
            raise InputError(f"{owner}: quadratic is square, with a row and a column for each column of w; received shape {matrix.shape}.")
        row = as_sparse(coefficients, owner, "coefficients") if coefficients is not None else sp.csr_array((1, n))
        if row.shape != (1, n):
            raise InputError(f"{owner}: coefficients have shape {row.shape} but quadratic has {n} columns: expected ({n},).")
        limit = as_number(ub, f"{owner}: ub")
        if not np.isfinite(limit):
            raise InputError(f"{owner}: ub={ub!r} is not accepted. Give a finite number, or leave the constraint out.")
        check_finite(matrix.data, "quadratic", owner)
        check_finite(row.data, "coefficients", owner)
        matrix = symmetric(matrix)
        if matrix.nnz:
            consequence = "so the constraint is not convex. dcembed takes convex constraints; note that 1/2 w'Qw + a'w <= ub is meant."
            check_convex(matrix, owner, "quadratic", consequence)
        set_fields(self, quadratic=matrix, coefficients=row, ub=limit, name=as_name(name, f"{owner}: name"))

    @property
    def num_columns(self) -> int:
        """n, the columns of w."""
        return int(self.quadratic.shape[1])

    def value(self, w: Array) -> float:
        """1/2 w'Qw + a'w."""
        return float(0.5 * (w @ (self.quadratic @ w)) + (self.coefficients @ w)[0])


@dataclass(frozen=True, eq=False, init=False)
class ConeConstraint:
    """t >= ||v|| for (t, v) = matrix @ w + offset; several cones may be stacked in one.

    Parameters
    ----------
    matrix
        Shape (d, n), the row of t first; dense or sparse.
    offset
        Shape (d,), zero by default.
    sizes
        Numbers of rows of the cones one below the other, summing up to d; one cone by default.
    names
        What messages call the cones, one name each.
    """

    matrix: sp.csr_array
    offset: Array
    sizes: Array
    names: tuple[str, ...] | None

    def __init__(
        self,
        matrix: MatrixLike,
        offset: ArrayLike | None = None,
        sizes: ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        owner = "ConeConstraint"
        rows = as_sparse(matrix, owner, "matrix")
        d = rows.shape[0]
        constants = np.zeros(d) if offset is None else as_numbers(offset, f"{owner}: offset")
        if constants.shape != (d,):
            raise InputError(f"{owner}: offset has shape {constants.shape} but matrix has {d} rows: expected ({d},).")
        lengths = np.array([d]) if sizes is None else as_numbers(sizes, f"{owner}: sizes")
        if lengths.ndim != 1 or (lengths != np.round(lengths)).any() or (lengths < 1).any() or lengths.sum() != d:
            raise InputError(f"{owner}: sizes are positive whole numbers with sum {d}, the rows of matrix; received {sizes!r}.")
        check_finite(rows.data, "matrix", owner)
        check_finite(constants, "offset", owner)
        listed = as_names(names, f"{owner}: names") if names is not None else None
        if listed is not None and len(listed) != lengths.size:
            raise InputError(f"{owner}: {len(listed)} names were given for {lengths.size} cones: one each is expected.")
        set_fields(self, matrix=rows, offset=constants, sizes=lengths.astype(np.int64), names=listed)

    @property
    def num_columns(self) -> int:
        """n, the columns of w."""
        return int(self.matrix.shape[1])

    @property
    def num_cones(self) -> int:
        """How many cones are stacked."""
        return self.sizes.size

    @cached_property
    def heads(self) -> Array:
        """The row of t of each cone."""
        return np.cumsum(self.sizes) - self.sizes

    def excess(self, w: Array) -> Array:
        """||v|| - t of each cone, shape (number of cones,)."""
        value = self.matrix @ w + self.offset
        head = value[self.heads]
        value[self.heads] = 0.0
        number = np.repeat(np.arange(self.num_cones), self.sizes)
        # Scaled by the largest entry of each cone, so that squares of large numbers stay finite.
        scale = np.zeros(self.num_cones)
        np.maximum.at(scale, number, np.abs(value))
        safe = np.where((scale > 0) & np.isfinite(scale), scale, 1.0)
        length = safe * np.sqrt(np.bincount(number, (value / safe[number]) ** 2, minlength=self.num_cones))
        excess: Array = length - head
        return excess


def stack_cones(cones: Sequence[ConeConstraint], num_columns: int) -> ConeConstraint:
    """All cones in one, possibly none."""
    return ConeConstraint(
        sp.vstack([sp.csr_array((0, num_columns)), *(cone.matrix for cone in cones)], format="csr"),
        np.concatenate([np.zeros(0), *(cone.offset for cone in cones)]),
        np.concatenate([np.zeros(0, dtype=np.int64), *(cone.sizes for cone in cones)]),
        [name for cone in cones for name in cone.names or [""] * cone.num_cones],
    )


def as_cone(constraint: QuadraticConstraint) -> ConeConstraint:
    """A quadratic constraint as a second-order cone."""
    n = constraint.num_columns
    linear = constraint.coefficients.toarray()[0]
    factor, shift, rest = _complete_square(constraint.quadratic, linear)
    level = constraint.ub + 0.5 * float(shift @ shift)
    if np.abs(rest).max(initial=0.0) <= RANGE_TOL * np.abs(linear).max(initial=0.0):
        # Nothing satisfies a negative level; neither does it a negative t.
        head = np.sqrt(2.0 * level) if level >= 0 else -1.0
        return ConeConstraint(sp.vstack([sp.csr_array((1, n)), factor]), np.concatenate([[head], shift]))
    # ||u||^2 <= 2 s is ||(u, s/c - c/2)|| <= s/c + c/2 for any c > 0; this one makes both terms alike.
    scale = max(1.0, np.sqrt(2.0 * abs(level)))
    row = sp.csr_array(-rest.reshape(1, -1) / scale)
    constants = np.concatenate([[level / scale + scale / 2], shift, [level / scale - scale / 2]])
    return ConeConstraint(sp.vstack([row, factor, row]), constants)


def square_root(quadratic: sp.csr_array) -> sp.csr_array:
    """F with Q = F'F, one row for each eigenvalue that counts."""
    return _complete_square(quadratic, np.zeros(quadratic.shape[0]))[0]


def _complete_square(quadratic: sp.csr_array, linear: Array) -> tuple[sp.csr_array, Array, Array]:
    """F, g and r with Q = F'F and a = F'g + r."""
    support = np.flatnonzero(np.diff(quadratic.indptr))
    n = linear.size
    if quadratic.nnz == support.size and np.array_equal(quadratic.indices, support):
        values = quadratic.data
        keep = np.flatnonzero(values > RANK_TOL * values.max(initial=0.0))
        root = np.sqrt(values[keep])
        factor = sp.csr_array((root, (np.arange(keep.size), support[keep])), shape=(keep.size, n))
        shift = linear[support[keep]] / root
    else:
        values, vectors = np.linalg.eigh(quadratic[support][:, support].toarray())
        keep = np.flatnonzero(values > RANK_TOL * values.max(initial=0.0))
        root = np.sqrt(values[keep])
        dense = sp.coo_array(root[:, None] * vectors[:, keep].T)
        factor = sp.csr_array((dense.data, (dense.row, support[dense.col])), shape=(keep.size, n))
        shift = (vectors[:, keep].T @ linear[support]) / root
    return factor, shift, linear - factor.T @ shift
