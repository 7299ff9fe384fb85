"""How the columns of a host may be drawn: each by itself inside its bounds, or together with others that rows tie to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.program.balls import Ball, find_balls, pull_into, quadratic_forms
from dcembed.program.program import Program
from dcembed.program.tightening import Box


@dataclass(frozen=True, eq=False)
class Space:
    """The host of an embedded problem; `box` has the bounds of its columns that its rows imply."""

    embedded: EmbeddedProgram
    box: Box

    @property
    def host(self) -> Program:
        """The host."""
        return self.embedded.host

    @cached_property
    def tied(self) -> Array:
        """Mask of the columns that a row, cone, quadratic constraint or indicator of the host has in it; only bounds hold the others."""
        host = self.host
        tied = np.zeros(host.num_columns, dtype=bool)
        tied[host.rows.indices] = True
        tied[host.indicator_rows.column] = True
        tied[host.indicator_rows.matrix.indices] = True
        tied[host.cone_rows.matrix.indices] = True
        for constraint in host.quadratic_constraints:
            tied[constraint.quadratic.indices] = tied[constraint.coefficients.indices] = True
        return tied

    @cached_property
    def balls(self) -> tuple[Ball, ...]:
        """The Euclidean balls of columns that nothing but their bounds holds otherwise, with the centre inside those."""
        host = self.host
        shares = [host.rows.indices, host.indicator_rows.column, host.indicator_rows.matrix.indices]
        used = [np.union1d(form.indices, linear.indices) for form, linear, _ in quadratic_forms(host)]
        times = np.bincount(np.concatenate([*used, *shares, np.flatnonzero(host.integer)]).astype(np.int64), minlength=host.num_columns)
        return tuple(ball for ball in find_balls(host) if ball is not None and self._is_apart(ball, times))

    def _is_apart(self, ball: Ball, times: Array) -> bool:
        lb, ub = self.box.lb[ball.columns], self.box.ub[ball.columns]
        return bool((times[ball.columns] == 1).all() and (lb <= ball.center).all() and (ball.center <= ub).all())

    @cached_property
    def in_ball(self) -> Array:
        """Mask of the columns of the balls."""
        mask = np.zeros(self.host.num_columns, dtype=bool)
        for ball in self.balls:
            mask[ball.columns] = True
        return mask

    @cached_property
    def reach(self) -> Array:
        """How far a column can go: its range; in a ball less, so that all its columns together go about from one side to the other."""
        reach = self.width.copy()
        for ball in self.balls:
            reach[ball.columns] = np.minimum(reach[ball.columns], 4.0 * ball.radius / np.sqrt(ball.columns.size))
        return reach

    def clip(self, w: Array) -> Array:
        """Points (k, n) moved inside the bounds and the balls."""
        clipped: Array = np.clip(w, self.box.lb, self.box.ub)
        for ball in self.balls:
            columns = ball.columns
            clipped[:, columns] = pull_into(ball, w[:, columns], self.box.lb[columns], self.box.ub[columns])
        return clipped

    @cached_property
    def is_bounded(self) -> Array:
        """Mask of the columns with two finite bounds."""
        return np.isfinite(self.box.lb) & np.isfinite(self.box.ub)

    @cached_property
    def is_input(self) -> Array:
        """Mask of the columns that network inputs depend on."""
        mask = np.zeros(self.host.num_columns, dtype=bool)
        mask[self.embedded.input_columns] = True
        return mask

    @cached_property
    def width(self) -> Array:
        """The range of each column, 1 where it is endless or a point."""
        with np.errstate(invalid="ignore"):
            width = self.box.ub - self.box.lb
        return np.where(self.is_bounded & (width > 0), width, 1.0)

    @cached_property
    def is_linear(self) -> bool:
        """Whether rows and bounds are all that holds the tied columns."""
        return not self.host.indicators and not self.host.has_curves

    @cached_property
    def telling(self) -> Array:
        """The columns by which starts are told apart: network inputs, and integers."""
        return np.flatnonzero(self.is_input | self.host.integer)

    def places(self, w: Array) -> Array:
        """Rows of `w` by their telling columns, each in relation to its range."""
        places: Array = w[..., self.telling] / self.width[self.telling]
        return places


def far_from(places: Array, others: Array, distance: float) -> Array:
    """Which places (k, d) are further than `distance` in some column from every one of `others` (m, d)."""
    if places.shape[1] == 0:
        return np.zeros(places.shape[0], dtype=bool)
    # Imported where it is needed: not every process looks for starts.
    from scipy.spatial.distance import cdist

    far: Array = (cdist(places, others, "chebyshev") > distance).all(axis=1)
    return far
