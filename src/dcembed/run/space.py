"""How the columns of a host may be drawn: each by itself inside its bounds, or together with others that rows tie to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial.distance import cdist

from dcembed.arrays import Array
from dcembed.embedded.embedded_program import EmbeddedProgram
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
    far: Array = (cdist(places, others, "chebyshev") > distance).all(axis=1)
    return far
