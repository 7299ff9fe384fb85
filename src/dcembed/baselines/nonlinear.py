"""The embedded problem as a nonlinear program: values and sparse derivatives at a point, with structures that never change.

    minimize    1/2 w'Qw - 1/2 w'Cw + c'w + f_0(w)
    subject to  lb <= w <= ub,    lower <= [ rows | quadratics | neural rows ](w) <= upper

A cone t >= ||v|| is the quadratic ||v||^2 - t^2 <= 0 with the row t >= 0. The sides of a neural equality are one row again.
Derivatives are triplets; entries of one place add up. The networks have no curvature almost everywhere: the Hessian of the
Lagrangian is the host's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.baselines.oracle import Oracle
from dcembed.embedded.curvature import curvature
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.program.balls import quadratic_forms
from dcembed.program.derive import derive, revalue
from dcembed.program.program import Program


@dataclass(frozen=True, eq=False)
class Quadratics:
    """1/2 w'Q_i w + a_i'w <= ub_i for all i, by the places (i, column) where their gradients may not be zero.

    Parameters
    ----------
    row, column
        The places: i and column.
    curvature
        The row of Q_i at each place, shape (number of places, n).
    linear
        a_i at each place.
    ub
        Right-hand sides.
    """

    row: Array
    column: Array
    curvature: sp.csr_array
    linear: Array
    ub: Array

    def entries(self, w: Array) -> Array:
        """The gradients Q_i w + a_i, place by place."""
        entries: Array = self.curvature @ w + self.linear
        return entries

    def values(self, w: Array) -> Array:
        """1/2 w'Q_i w + a_i'w of each constraint."""
        each = (0.5 * (self.curvature @ w) + self.linear) * w[self.column]
        return np.bincount(self.row, each, minlength=self.ub.size)


class NonlinearProgram:
    """The functions of the program; those of one point share one forward pass."""

    def __init__(self, embedded: EmbeddedProgram) -> None:
        # The objective with its concave part: an interior-point method needs no convexity.
        self._host, restrictions = derive(embedded.host, concave=embedded.concave), embedded.restrictions
        self._embedded, self._num_measurements = embedded, restrictions.num_restrictions + 1
        self._oracle = Oracle(embedded)
        self._quadratics, heads, head_lb = _quadratics(self._host)
        self._rows = sp.csr_array(sp.vstack([self._host.rows, heads]))
        # Of the two sides of an equality, which share a slack, the first stands for both.
        _, self._sides, count = np.unique(restrictions.slack, return_index=True, return_counts=True)
        self._linear = sp.csr_array(restrictions.linear[self._sides])
        rhs, size = restrictions.rhs[self._sides], self._quadratics.ub.size
        self.lower = np.concatenate([self._host.row_lb, head_lb, np.full(size, -np.inf), np.where(count == 2, rhs, -np.inf)])
        self.upper = np.concatenate([self._host.row_ub, np.full(head_lb.size, np.inf), self._quadratics.ub, rhs])
        self._prepare_jacobian(restrictions.num_restrictions)
        self._prepare_hessian()

    def change_objective(self, cost: Array, offset: float) -> None:
        """Another linear objective, over the columns of the host."""
        self._host = revalue(self._host, cost=cost, offset=offset)

    @property
    def num_rows(self) -> int:
        """Rows of all kinds."""
        return self.upper.size

    def objective(self, w: Array) -> float:
        """F."""
        return self._host.objective(w) + float(self._oracle.values(w)[0])

    def gradient(self, w: Array) -> Array:
        """The gradient of F, shape (n,)."""
        own = self._oracle.entries(w)[self._in_objective]
        return self._host.gradient(w) + np.bincount(self._objective_column, own, minlength=w.size)

    def rows(self, w: Array) -> Array:
        """Values of all rows."""
        neural = self._linear @ w + self._oracle.values(w)[1 + self._sides]
        return np.concatenate([self._rows @ w, self._quadratics.values(w), neural])

    def jacobian(self, w: Array) -> Array:
        """Entries of the derivatives of all rows, at the places of `jacobian_places`."""
        quadratic, neural = self._quadratics.entries(w), self._oracle.entries(w)[self._in_rows]
        return np.concatenate([self._rows.data, quadratic, self._linear.data, neural])

    def hessian(self, w: Array, objective: float, multipliers: Array) -> Array:
        """Entries of the lower half of the Hessian of objective * F + multipliers'rows, at the places of `hessian_places`."""
        first = self._rows.shape[0]
        neural = first + self._quadratics.ub.size
        own = multipliers[first:neural][self._curved]
        return np.concatenate([objective * self._of_objective, own * self._of_rows, self._of_networks(w, objective, multipliers[neural:])])

    def _of_networks(self, w: Array, objective: float, multipliers: Array) -> Array:
        """What smooth networks add, place by place."""
        if not self._embedded.curved:
            return np.zeros(0)
        weights = np.zeros(self._num_measurements)
        weights[0], weights[1 + self._sides] = objective, multipliers
        entries: Array = curvature(self._embedded, w, weights).data[self._lower]
        return entries

    def _prepare_jacobian(self, num_restrictions: int) -> None:
        quadratics, oracle = self._quadratics, self._oracle
        first = self._rows.shape[0]
        neural = first + quadratics.ub.size
        # Which row each restriction is, -1 for the second side of an equality.
        row_of = np.full(num_restrictions + 1, -1)
        row_of[1 + self._sides] = neural + np.arange(self._sides.size)
        self._in_objective = np.flatnonzero(oracle.measurement == 0)
        self._objective_column = oracle.column[self._in_objective]
        self._in_rows = np.flatnonzero(row_of[oracle.measurement] >= 0)
        rows, linear = self._rows.tocoo(), self._linear.tocoo()
        self.jacobian_places = (
            np.concatenate([rows.row, first + quadratics.row, neural + linear.row, row_of[oracle.measurement[self._in_rows]]]),
            np.concatenate([rows.col, quadratics.column, linear.col, oracle.column[self._in_rows]]),
        )

    def _prepare_hessian(self) -> None:
        host, nothing = self._host, sp.csr_array((self._host.num_columns, self._host.num_columns))
        curvature = (host.quadratic if host.quadratic is not None else nothing) - (host.concave if host.concave is not None else nothing)
        whole = sp.tril(curvature, format="coo")
        curved = self._quadratics.curvature.tocoo()
        row, column = self._quadratics.column[curved.row], curved.col
        lower = row >= column
        self._of_objective, self._of_rows = whole.data, curved.data[lower]
        self._curved = self._quadratics.row[curved.row[lower]]
        smooth = self._embedded.curvature_pattern
        of_networks = np.repeat(np.arange(smooth.shape[0]), np.diff(smooth.indptr)), smooth.indices
        self._lower = np.flatnonzero(of_networks[0] >= of_networks[1])
        self.hessian_places = (
            np.concatenate([whole.row, row[lower], of_networks[0][self._lower]]),
            np.concatenate([whole.col, column[lower], of_networks[1][self._lower]]),
        )


def _quadratics(host: Program) -> tuple[Quadratics, sp.csr_array, Array]:
    """Quadratic constraints and cones as quadratics, and the rows that keep the heads of the cones nonnegative with their lower bounds."""
    n, cones = host.num_columns, host.cone_rows
    forms = quadratic_forms(host)
    stacked = [_places(quadratic, linear) for quadratic, linear, _ in forms]
    row = np.concatenate([np.zeros(0, dtype=np.int64), *(np.full(columns.size, i) for i, (columns, _, _) in enumerate(stacked))])
    quadratics = Quadratics(
        row=row.astype(np.int64),
        column=np.concatenate([np.zeros(0, dtype=np.int64), *(columns for columns, _, _ in stacked)]),
        curvature=sp.csr_array(sp.vstack([sp.csr_array((0, n)), *(curvature for _, curvature, _ in stacked)])),
        linear=np.concatenate([np.zeros(0), *(linear for _, _, linear in stacked)]),
        ub=np.array([ub for _, _, ub in forms]),
    )
    # A head that is a constant needs no row.
    varying = cones.heads[np.diff(cones.matrix.indptr)[cones.heads] > 0]
    return quadratics, sp.csr_array(cones.matrix[varying]), -cones.offset[varying]


def _places(quadratic: sp.csr_array, linear: sp.csr_array) -> tuple[Array, sp.csr_array, Array]:
    """The columns that a quadratic uses, and its curvature and slope in each of them."""
    columns = np.union1d(np.flatnonzero(np.diff(quadratic.indptr)), linear.indices)
    return columns, sp.csr_array(quadratic[columns]), linear.toarray()[0][columns]
