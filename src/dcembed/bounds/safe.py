"""Bounds that hold in floating point: what any multipliers prove about a linear or quadratic relaxation, whatever its solver says.

For every y with the right signs and every point v, min_w c'w + 1/2 w'Qw over the rows and the box is at least

    offset - 1/2 v'Qv - sum_i max(y_i row_ub_i, y_i row_lb_i) + sum_j min over [lb_j, ub_j] of (c + Qv + A'y)_j w_j

so neither the multipliers nor the point have to be right; they only make the bound good. What rounding may have done is taken off.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.tolerances import CONVEXITY_TOL, FARTHEST

# Columns without an end whose reduced cost is brought to zero by solving for it, at most.
MAX_FREE = 400
# Quadratics over more columns are taken to be as little convex as they may be.
MAX_EIGEN = 2000
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Relaxed:
    """min 1/2 w'Qw + c'w + offset over row_lb <= A w <= row_ub and lb <= w <= ub, everything continuous.

    `bend` is how far the smallest eigenvalue of Q is below zero, `find_bend(Q)`.
    """

    cost: Array
    offset: float
    quadratic: sp.csr_array | None
    rows: sp.csr_array
    row_lb: Array
    row_ub: Array
    lb: Array
    ub: Array
    bend: float = 0.0


@dataclass(frozen=True, eq=False)
class Proof:
    """What multipliers prove: a lower bound, and the reduced costs (n,) that it was computed with."""

    bound: float
    reduced: Array


NOTHING = Proof(-np.inf, np.zeros(0))


def prove_bound(relaxed: Relaxed, w: Array, multipliers: Array) -> Proof:
    """A lower bound of the relaxation; multipliers are positive at upper sides of rows and negative at lower ones."""
    y = _usable(relaxed, multipliers)
    curve = relaxed.quadratic @ w if relaxed.quadratic is not None else np.zeros(w.size)
    y = _without_free(relaxed, y, relaxed.cost + curve)
    reduced = relaxed.cost + curve + relaxed.rows.T @ y
    sizes = np.abs(relaxed.cost) + np.abs(curve) + abs(relaxed.rows).T @ np.abs(y)
    lb, ub = _ends(relaxed, reduced, sizes)
    sides = np.where(y > 0, relaxed.row_ub, np.where(y < 0, relaxed.row_lb, 0.0)) * y
    with np.errstate(invalid="ignore"):
        least = np.where(reduced > 0, reduced * lb, np.where(reduced < 0, reduced * ub, 0.0))
    value = relaxed.offset - 0.5 * float(w @ curve) - float(sides.sum()) + float(least.sum())
    bound = value - _rounding(relaxed, w, curve, y, sides, sizes, lb, ub) - relaxed.bend * _square(ub - lb, relaxed)
    return Proof(bound if np.isfinite(bound) else -np.inf, reduced)


def _usable(relaxed: Relaxed, multipliers: Array) -> Array:
    """The multipliers that are numbers and have a side to lean on; zero for the others."""
    y = np.where(np.isfinite(multipliers), multipliers, 0.0)
    endless = ((y > 0) & np.isposinf(relaxed.row_ub)) | ((y < 0) & np.isneginf(relaxed.row_lb))
    return np.where(endless, 0.0, y)


def _without_free(relaxed: Relaxed, y: Array, gradient: Array) -> Array:
    """Multipliers moved so that columns without an end have no reduced cost, as far as that goes and no sign changes."""
    endless = np.flatnonzero(np.isinf(relaxed.lb) | np.isinf(relaxed.ub))
    if endless.size == 0:
        return y
    reduced = (gradient + relaxed.rows.T @ y)[endless]
    wrong = ((reduced > 0) & np.isinf(relaxed.lb[endless])) | ((reduced < 0) & np.isinf(relaxed.ub[endless]))
    columns = endless[wrong]
    if columns.size == 0 or columns.size > MAX_FREE:
        return y
    used = np.flatnonzero(y != 0)
    moved = y.copy()
    moved[used] -= np.linalg.lstsq(relaxed.rows[used][:, columns].toarray().T, reduced[wrong], rcond=None)[0]
    return np.where(np.sign(moved) == np.sign(y), moved, y)


def _ends(relaxed: Relaxed, reduced: Array, sizes: Array) -> tuple[Array, Array]:
    """The box; a column without an end whose reduced cost is nothing but rounding is taken to stay within `FARTHEST`."""
    is_rounding = np.abs(reduced) <= 1e-12 * np.maximum(sizes, 1.0)
    far = np.where(is_rounding, FARTHEST, np.inf)
    return np.where(np.isneginf(relaxed.lb), -far, relaxed.lb), np.where(np.isposinf(relaxed.ub), far, relaxed.ub)


def _rounding(relaxed: Relaxed, w: Array, curve: Array, y: Array, sides: Array, sizes: Array, lb: Array, ub: Array) -> float:
    """More than what rounding can have done to the sums."""
    reach = np.maximum(np.where(np.isfinite(lb), np.abs(lb), 0.0), np.where(np.isfinite(ub), np.abs(ub), 0.0))
    if relaxed.quadratic is not None:
        sizes = sizes + abs(relaxed.quadratic) @ np.abs(w)
    total = abs(relaxed.offset) + float(np.abs(sides).sum()) + float(sizes @ reach) + float(np.abs(w * curve).sum())
    # Sums of a column are added up one by one, all others in pairs.
    longest = int(np.bincount(relaxed.rows.indices, minlength=1).max()) + (relaxed.quadratic is not None) * w.size
    return float(2.0 * EPS * (16.0 + longest + np.log2(1.0 + w.size + y.size)) * total)


def find_bend(quadratic: sp.csr_array | None) -> float:
    """How far the smallest eigenvalue of a matrix that counts as convex is below zero; what is rounding counts as zero."""
    if quadratic is None or quadratic.nnz == 0:
        return 0.0
    used = np.unique(quadratic.indices)
    diagonal = quadratic.diagonal()
    if quadratic.nnz == np.count_nonzero(diagonal):
        return max(0.0, -float(diagonal.min()))
    largest = float(np.abs(quadratic.data).max())
    if used.size > MAX_EIGEN:
        return CONVEXITY_TOL * largest
    least = float(np.linalg.eigvalsh(quadratic[used][:, used].toarray())[0])
    return 0.0 if least >= -8.0 * EPS * used.size * largest else -least


def _square(width: Array, relaxed: Relaxed) -> float:
    """1/2 |w - v|^2 at most, over the columns of the quadratic."""
    if relaxed.bend == 0.0 or relaxed.quadratic is None:
        return 0.0
    used = width[np.unique(relaxed.quadratic.indices)]
    return 0.5 * float(used @ used)
