"""The relaxation of a problem over a box of its columns: the convex host, a column for each function, and affine functions below them.

Columns are [w | functions]. Rows are those of the host, the neural restrictions, what indicators say on this box, the affine functions of
this box, and cuts that hold everywhere. Integers are continuous here; curved constraints are cut by their tangents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.bounds.functions import ENDLESS, HUGE, Below, Source, least
from dcembed.bounds.safe import Relaxed, find_bend
from dcembed.bounds.sources import find_sources
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.network.bounds import go_on
from dcembed.program.derive import derive, widened
from dcembed.program.program import Program
from dcembed.program.tightening import Box
from dcembed.sparse import empty_rows, unit_rows


@dataclass(frozen=True, eq=False)
class Rows:
    """lb <= matrix @ columns <= ub."""

    matrix: sp.csr_array
    lb: Array
    ub: Array

    @property
    def number(self) -> int:
        """How many there are."""
        return self.lb.size


def stack(parts: Sequence[Rows]) -> Rows:
    """Rows one below the other."""
    return Rows(
        sp.csr_array(sp.vstack([part.matrix for part in parts], format="csr")),
        np.concatenate([part.lb for part in parts]),
        np.concatenate([part.ub for part in parts]),
    )


def no_rows(num_columns: int) -> Rows:
    """None at all."""
    return Rows(empty_rows(0, num_columns), np.zeros(0), np.zeros(0))


@dataclass(frozen=True, eq=False)
class Relaxation:
    """What the relaxations of all boxes share.

    Parameters
    ----------
    embedded
        The problem.
    sources
        Its functions, kind by kind.
    root
        The box of all columns, that of the functions included: shape (n + k,).
    """

    embedded: EmbeddedProgram
    sources: tuple[Source, ...]
    root: Box

    @property
    def num_host(self) -> int:
        """n, the columns of the host."""
        return self.embedded.host.num_columns

    @property
    def num_columns(self) -> int:
        """Columns of the host, and functions."""
        return self.root.lb.size

    @cached_property
    def measurement(self) -> Array:
        """Of each function, shape (k,)."""
        return np.concatenate([np.zeros(0, dtype=np.int64), *(source.measurement for source in self.sources)])

    @cached_property
    def cost(self) -> Array:
        """Of all columns: functions of the objective count as they are."""
        return np.concatenate([self.embedded.host.cost, (self.measurement == 0).astype(np.float64)])

    @cached_property
    def quadratic(self) -> sp.csr_array | None:
        """Of all columns."""
        quadratic, size = self.embedded.host.quadratic, self.num_columns
        return None if quadratic is None else widened(quadratic, size, size)

    @cached_property
    def bend(self) -> float:
        """How little convex the quadratic is."""
        return find_bend(self.embedded.host.quadratic)

    @cached_property
    def fixed(self) -> Rows:
        """Rows that are the same on every box: of the host, and of restrictions that always hold."""
        host, restrictions = self.embedded.host, self.embedded.restrictions
        always = np.flatnonzero(restrictions.indicator < 0)
        rows = Rows(widened(host.rows, host.num_rows, self.num_columns), host.row_lb, host.row_ub)
        return stack([rows, Rows(self._neural[always], np.full(always.size, -np.inf), restrictions.rhs[always])])

    @cached_property
    def _neural(self) -> sp.csr_array:
        """All restrictions over the columns, shape (s, n + k)."""
        restrictions, size = self.embedded.restrictions, self.embedded.restrictions.num_restrictions
        used = np.flatnonzero(self.measurement > 0)
        functions = sp.csr_array((np.ones(used.size), (self.measurement[used] - 1, self.num_host + used)), shape=(size, self.num_columns))
        return sp.csr_array(widened(restrictions.linear, size, self.num_columns) + functions)

    @cached_property
    def _switched(self) -> tuple[Rows, Array, Array]:
        """Rows behind indicators, of the host and neural, with the binary of each and its value."""
        host, restrictions = self.embedded.host.indicator_rows, self.embedded.restrictions
        behind = np.flatnonzero(restrictions.indicator >= 0)
        own = Rows(widened(host.matrix, host.column.size, self.num_columns), host.lb, host.ub)
        neural = Rows(self._neural[behind], np.full(behind.size, -np.inf), restrictions.rhs[behind])
        column = np.concatenate([host.column, restrictions.indicator[behind]]).astype(np.int64)
        return stack([own, neural]), column, np.concatenate([host.value, restrictions.indicator_value[behind]])

    def switched(self, box: Box) -> Rows:
        """What rows behind indicators say on a box: a'w <= ub + M (1 - z) with the least M."""
        rows, column, value = self._switched
        if rows.number == 0:
            return rows
        upper = _switch(rows.matrix, rows.ub, column, value, box)
        lower = _switch(sp.csr_array(-rows.matrix), -rows.lb, column, value, box)
        return stack([upper, lower])

    def below(self, box: Box, check: Callable[[], None] = go_on) -> list[Below]:
        """Affine functions below all functions, kind by kind."""
        n = self.num_host
        return [source.below(box.lb[:n], box.ub[:n], check) for source in self.sources]

    def planes(self, below: Sequence[Below]) -> Rows:
        """The rows that hold functions above their affine ones."""
        parts, first = [no_rows(self.num_columns)], self.num_host
        for one in below:
            parts.append(self.plane_rows(one, first))
            first += one.constant.size
        return stack(parts)

    def plane_rows(self, below: Below, first: int) -> Rows:
        """function - slope w >= constant for functions whose columns begin at `first`; those of which nothing is known are left out."""
        size = below.constant.size
        own = unit_rows(first + np.arange(size), np.ones(size), self.num_columns)
        matrix = sp.csr_array(own - widened(below.slope, size, self.num_columns))
        known = np.flatnonzero(np.isfinite(below.constant))
        return Rows(matrix[known], below.constant[known], np.full(known.size, np.inf))

    def relaxed(self, box: Box, rows: Rows) -> Relaxed:
        """The relaxation with these rows behind the fixed ones."""
        everything = stack([self.fixed, rows])
        host = self.embedded.host
        return Relaxed(self.cost, host.offset, self.quadratic, everything.matrix, everything.lb, everything.ub, box.lb, box.ub, self.bend)

    def program(self) -> Program:
        """The fixed part as solvers take it."""
        host, n = self.embedded.host, self.num_columns
        return derive(
            Program(
                cost=self.cost,
                offset=host.offset,
                rows=self.fixed.matrix,
                row_lb=self.fixed.lb,
                row_ub=self.fixed.ub,
                lb=self.root.lb,
                ub=self.root.ub,
                integer=np.zeros(n, dtype=bool),
            ),
            quadratic=self.quadratic,
        )

    def values(self, w: Array) -> Array:
        """The true functions at a point, shape (k,)."""
        return np.concatenate([np.zeros(0), *(source.values(w) for source in self.sources)])

    @property
    def width(self) -> Array:
        """Of each function over the root, shape (k,)."""
        return np.asarray((self.root.ub - self.root.lb)[self.num_host :])

    def excess(self, w: Array, values: Array) -> Array:
        """By how much the restriction that each function is in is violated at a point with these true values, shape (k,)."""
        restrictions = self.embedded.restrictions
        binary, always = np.maximum(restrictions.indicator, 0), restrictions.indicator < 0
        is_on = always | (np.abs(w[binary] - restrictions.indicator_value) < 0.5) if w.size else always
        violated = np.where(is_on, np.maximum(self._neural @ np.concatenate([w, values]) - restrictions.rhs, 0.0), 0.0)
        return np.asarray(np.concatenate([[0.0], violated])[self.measurement])

    def columns_of(self, number: int) -> Array:
        """The columns of the host that a function depends on."""
        for source in self.sources:
            size = source.measurement.size
            if number < size:
                return source.columns(number)
            number -= size
        raise IndexError(number)


def build_relaxation(embedded: EmbeddedProgram, box: Box, check: Callable[[], None] = go_on) -> Relaxation:
    """The relaxation of a problem whose columns stay in a box."""
    sources = tuple(find_sources(embedded))
    low, high = [box.lb], [box.ub]
    for source in sources:
        low.append(least(source.below(*box, check), *box))
        high.append(source.most(*box, check))
    return Relaxation(embedded, sources, Box(np.concatenate(low), np.concatenate(high)))


def with_functions(relaxation: Relaxation, box: Box, below: Sequence[Below]) -> Box:
    """A box of the host's columns with what it says about the functions."""
    low = [least(one, *box) for one in below]
    n = relaxation.num_host
    floor = np.maximum(np.concatenate([np.zeros(0), *low]), relaxation.root.lb[n:])
    return Box(np.concatenate([box.lb, floor]), np.concatenate([box.ub, relaxation.root.ub[n:]]))


def _switch(matrix: sp.csr_array, ub: Array, column: Array, value: Array, box: Box) -> Rows:
    """Rows a'w <= ub while w[column] == value, as far as they say something on the box and have a finite M."""
    plus, minus = matrix.maximum(0.0), matrix.minimum(0.0)
    top, bottom = np.nan_to_num(box.ub, posinf=ENDLESS), np.nan_to_num(box.lb, neginf=-ENDLESS)
    largest = plus @ top + minus @ bottom
    size = abs(matrix) @ np.maximum(np.abs(top), np.abs(bottom))
    excess = np.maximum(largest + 1e-12 * size - ub, 0.0)
    may_hold = (box.lb[column] <= value) & (value <= box.ub[column])
    fixed = box.lb[column] == box.ub[column]
    tells = np.flatnonzero(np.isfinite(ub) & may_hold & (excess > 0) & (fixed | (excess < HUGE)))
    excess = np.where(fixed, 0.0, excess)[tells]
    # a'w + M z <= ub + M for value 1, a'w - M z <= ub for value 0.
    sign = np.where(value[tells] == 1, 1.0, -1.0)
    switch = unit_rows(column[tells], sign * excess, matrix.shape[1])
    return Rows(sp.csr_array(matrix[tells] + switch), np.full(tells.size, -np.inf), ub[tells] + np.where(value[tells] == 1, excess, 0.0))
