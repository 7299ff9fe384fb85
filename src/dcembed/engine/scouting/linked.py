"""What the host itself says of linked outputs, for points in which those are predicted.

The scout's points keep the rows of the host by how they are drawn, but a prediction that is put in its place keeps nothing: rows, bounds,
cones and indicators of the host with linked outputs in them are measured like neural rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.program.cones import ConeConstraint
from dcembed.program.program import Program
from dcembed.program.tightening import EIGEN_COLUMNS
from dcembed.run.space import Space


@dataclass(frozen=True, eq=False)
class LinkedRows:
    """matrix @ w <= rhs, where an indicator is on if it has one; and cones.

    Parameters
    ----------
    matrix, rhs
        Shapes (r, n) and (r,).
    indicator, value
        Of each row: the binary that switches it on, -1 for none, and the value at which it does.
    cones
        Cones of the host, None where none has a linked output.
    tie
        Of each linked output the restriction f(x) - y <= 0, by which its slope goes on to the inputs; -1 for none.
    """

    matrix: sp.csr_array
    rhs: Array
    indicator: Array
    value: Array
    cones: ConeConstraint | None
    tie: Array

    def outside(self, w: Array) -> Array:
        """By how much each row (k, r) fails."""
        off = (self.indicator >= 0) & (np.round(w[:, self.indicator]) != self.value)
        return np.where(off, 0.0, np.maximum((self.matrix @ w.T).T - self.rhs, 0.0))

    def violation(self, w: Array) -> Array:
        """The sum of all that fails at each point, shape (k,)."""
        violation: Array = self.outside(w).sum(axis=1)
        if self.cones is not None:
            violation += [np.maximum(self.cones.excess(point), 0.0).sum() for point in w]
        return violation


def find_linked_rows(space: Space) -> LinkedRows | None:
    """The rows, bounds, cones and indicators of the host with linked outputs in them; None where nothing is linked."""
    host, linked = space.host, space.embedded.linked
    if linked.size == 0:
        return None
    touched = np.zeros(host.num_columns)
    touched[linked] = 1.0
    plain = np.flatnonzero(abs(host.rows) @ touched)
    switched = np.flatnonzero(abs(host.indicator_rows.matrix) @ touched)
    unit = sp.csr_array((np.ones(linked.size), (np.arange(linked.size), linked)), shape=(linked.size, host.num_columns))
    both = sp.csr_array(sp.vstack([host.rows[plain], unit, host.indicator_rows.matrix[switched]], format="csr"))
    lb = np.concatenate([host.row_lb[plain], host.lb[linked], host.indicator_rows.lb[switched]])
    ub = np.concatenate([host.row_ub[plain], host.ub[linked], host.indicator_rows.ub[switched]])
    always = np.full(plain.size + linked.size, -1, dtype=np.int64)
    indicator = np.concatenate([always, host.indicator_rows.column[switched]])
    value = np.concatenate([always, host.indicator_rows.value[switched]])
    upper, lower = np.flatnonzero(np.isfinite(ub)), np.flatnonzero(np.isfinite(lb))
    sides = np.concatenate([upper, lower])
    cones = _quick_cones(host)
    return LinkedRows(
        matrix=sp.csr_array(sp.vstack([both[upper], -both[lower]], format="csr")),
        rhs=np.concatenate([ub[upper], -lb[lower]]),
        indicator=indicator[sides],
        value=value[sides],
        cones=cones if cones.num_cones and (abs(cones.matrix) @ touched).any() else None,
        tie=_ties(space),
    )


def _quick_cones(host: Program) -> ConeConstraint:
    """All cones of the host; its quadratic constraints among them unless to write them as cones takes longer than a score is worth."""
    forms = [np.count_nonzero(np.diff(c.quadratic.indptr)) for c in host.quadratic_constraints if c.quadratic.nnz > c.num_columns]
    return host.convex_rows if np.sum(np.power(forms, 3.0)) <= EIGEN_COLUMNS**3 else host.cone_rows


def _ties(space: Space) -> Array:
    """The restriction f(x) - y <= 0 of each linked output y: one side of an equality, with y alone in its linear part."""
    restrictions, linked = space.embedded.restrictions, space.embedded.linked
    linear = restrictions.linear
    alone = np.flatnonzero(np.diff(linear.indptr) == 1)
    column, coefficient = linear.indices[linear.indptr[alone]], linear.data[linear.indptr[alone]]
    is_equality = (np.bincount(restrictions.slack, minlength=restrictions.num_slacks) == 2)[restrictions.slack[alone]]
    tie = np.full(linked.size, -1, dtype=np.int64)
    fits = np.flatnonzero((coefficient == -1.0) & is_equality & np.isin(column, linked))
    tie[np.searchsorted(linked, column[fits])] = alone[fits]
    return tie
