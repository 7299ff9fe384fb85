"""Chains of changes: an integer goes one up or down, and what this breaks in the host's rows is repaired by further columns, one after the other.

Of integers that equalities tie together none can move alone: a job that leaves a core must go to another, which gives one away for it; what is
produced later is taken from stock until then. A chain finds such changes without a solver, and hundreds of them are made at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.engine.scouting.sampling import ROW_TOL
from dcembed.run.space import Space

# Repairs of a chain at most.
MAX_REPAIRS = 12
# How many columns are tried for a row before a chain is given up.
NUM_TRIES = 2
# How often a row is repaired by a column that no network depends on, where it has one.
QUIET_SHARE = 0.7
# Columns that are moved along their costs, one after the other, at most.
MAX_SLIDING = 100
# Rows of a host with at most so many entries, zeros included, are added as they are: to make a sparse matrix of every step takes longer.
MAX_DENSE = 1_000_000


@dataclass(frozen=True, eq=False)
class Chains:
    """The rows of a host, as chains need them.

    Parameters
    ----------
    space
        Of the host.
    tolerance
        What a row may be off by and count as kept, in relation to max(1, |limit|): points that a solver has found are, and chains begin there.
    """

    space: Space
    tolerance: float = ROW_TOL

    @cached_property
    def _rows(self) -> sp.csr_array:
        return sp.csr_array(self.space.host.rows)

    @cached_property
    def _columns(self) -> sp.csr_array:
        """The rows by their columns."""
        return sp.csr_array(self._rows.T)

    @cached_property
    def _dense_columns(self) -> Array | None:
        """The same with their zeros, where they are few."""
        return self._columns.toarray() if np.prod(self._columns.shape) <= MAX_DENSE else None

    @cached_property
    def _sides(self) -> tuple[Array, Array]:
        host = self.space.host
        lb, ub = (np.where(np.isfinite(side), self.tolerance * np.maximum(1.0, np.abs(side)), 0.0) for side in (host.row_lb, host.row_ub))
        return host.row_lb - lb, host.row_ub + ub

    @cached_property
    def _quiet(self) -> sp.csr_array:
        """The entries of continuous columns that no network depends on."""
        rows, host = self._rows.copy(), self.space.host
        loud = self.space.is_input | host.integer
        rows.data[loud[rows.indices]] = 0.0
        rows.eliminate_zeros()
        return rows

    def draw(self, w: Array, columns: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """From each row of `w` (k, n) a chain that begins at a random one of `columns`; and which chains keep all rows, mask (k,)."""
        number, box = w.shape[0], self.space.box
        first = rng.choice(columns, number)
        value, at = w[np.arange(number), first], np.arange(number)
        side = np.where(rng.random(number) < 0.5, -1.0, 1.0)
        side = np.where((value + side > box.ub[first]) | (value + side < box.lb[first]), -side, side)
        w = w.copy()
        w[at, first] += side
        activity = (self._rows @ w.T).T
        moved = np.zeros(w.shape, dtype=bool)
        moved[at, first] = True
        for _ in range(MAX_REPAIRS):
            broken = self._broken(activity)
            open_ = np.flatnonzero(broken.any(axis=1))
            if open_.size == 0:
                break
            self._repair(w, activity, moved, broken, open_, rng)
        holds = ~np.asarray(self._broken(activity).any(axis=1))
        return w, holds

    def slide(self, w: Array) -> Array:
        """The points with columns that no network depends on as far along their costs as rows allow, each by itself: shape (k, n)."""
        w, host = w.copy(), self.space.host
        activity = (self._rows @ w.T).T
        for column in self._sliding:
            rows = slice(self._columns.indptr[column], self._columns.indptr[column + 1])
            row, coefficient = self._columns.indices[rows], self._columns.data[rows]
            sign = -np.sign(host.cost[column])
            limit = np.where(sign * coefficient > 0, host.row_ub[row], host.row_lb[row])
            room = ((limit - activity[:, row]) / (sign * coefficient)).min(axis=1, initial=np.inf)
            end = host.ub[column] if sign > 0 else host.lb[column]
            step = sign * np.maximum(np.minimum(room, sign * (end - w[:, column])), 0.0)
            step[~np.isfinite(step)] = 0.0
            w[:, column] += step
            activity[:, row] += step[:, None] * coefficient
        return w

    @cached_property
    def _sliding(self) -> Array:
        """Continuous columns with a cost that nothing but inequalities holds; none where they are many."""
        host = self.space.host
        held = np.unique(self._rows[np.flatnonzero(host.row_lb == host.row_ub)].indices)
        free = ~host.integer & ~self.space.is_input & (host.cost != 0.0)
        free[held] = False
        free[np.unique(host.indicator_rows.matrix.indices)] = False
        free[np.unique(self.space.embedded.restrictions.linear.indices)] = False
        free &= np.diff(self._columns.indptr) > 0
        columns = np.flatnonzero(free)
        return columns if columns.size <= MAX_SLIDING else columns[:0]

    def _broken(self, activity: Array) -> Array:
        lb, ub = self._sides
        return (activity < lb) | (activity > ub)

    def _repair(self, w: Array, activity: Array, moved: Array, broken: Array, open_: Array, rng: np.random.Generator) -> None:
        """In each open chain one broken row, drawn, is repaired by a column that has not moved, as far as its bounds allow; `w` and others go along."""
        row = np.argmax(np.where(broken[open_], rng.random((open_.size, broken.shape[1])), -1.0), axis=1)
        column, coefficient = self._pick(row, moved[open_], rng)
        host, box = self.space.host, self.space.box
        off = np.clip(activity[open_, row], host.row_lb[row], host.row_ub[row]) - activity[open_, row]
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(coefficient != 0, off / coefficient, 0.0)
        whole = np.sign(step) * np.ceil(np.abs(step) - self.tolerance)
        step = np.where(host.integer[column], whole, step)
        value = w[open_, column]
        step = np.clip(value + step, box.lb[column], box.ub[column]) - value
        w[open_, column] += step
        moved[open_, column] = True
        activity[open_] += self._change(column, step)

    def _change(self, column: Array, step: Array) -> Array:
        """What a step of one column in each chain does to the rows, shape (k, m)."""
        if self._dense_columns is not None:
            changed: Array = step[:, None] * self._dense_columns[column]
        else:
            steps = sp.csr_array((step, (np.arange(step.size), column)), shape=(step.size, self._columns.shape[0]))
            changed = (steps @ self._columns).toarray()
        return changed

    def _pick(self, row: Array, moved: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """A column of each row, at random, and its coefficient; zero where only columns that have moved were drawn."""
        column, coefficient = np.zeros(row.size, dtype=np.int64), np.zeros(row.size)
        wanted = rng.random(row.size) < QUIET_SHARE
        for matrix in (self._quiet, *[self._rows] * NUM_TRIES):
            first, length = matrix.indptr[row], matrix.indptr[row + 1] - matrix.indptr[row]
            drawn = (first + rng.random(row.size) * length).astype(np.int64)
            usable = np.flatnonzero(wanted & (length > 0))
            found = matrix.indices[drawn[usable]]
            fresh = ~moved[usable, found]
            usable = usable[fresh]
            column[usable], coefficient[usable] = found[fresh], matrix.data[drawn[usable]]
            wanted = coefficient == 0
        return column, coefficient
