"""The trust region: a box around the current point in the continuous columns that network inputs depend on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.copies import replace
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.program.tightening import Box

# In ranges of the columns. Where integers decide, a wider first box lets the master see more combinations.
FIRST_RADIUS, FIRST_RADIUS_INTEGER = 0.05, 0.4
GROWTH = 2.0
LARGEST_RADIUS, SMALLEST_RADIUS = 1.0, 1e-3
# In columns without an end the largest box goes this many widths in each direction, so that no master is unbounded because of them; a
# point that is further away than this is on its way to infinity.
ENDLESS_REACH, FAR_AWAY = 1e3, 1e12
# A point within this share of the radius of a side of the box has hit it.
HIT_TOL = 1e-3


@dataclass(frozen=True, eq=False)
class Region:
    """lb <= w <= ub on every column of the host.

    Parameters
    ----------
    columns
        The columns that are kept near the middle: continuous ones that inputs depend on.
    width
        A natural step of each of them: its range.
    radius
        Half the side of the box, in widths.
    smallest
        The smallest radius that a box may have.
    host
        The bounds that the host gives and implies.
    box
        The box.
    """

    columns: Array
    width: Array
    radius: float
    smallest: float
    host: Box
    box: Box

    @property
    def is_full(self) -> bool:
        """Whether the box is all of the host's."""
        return self.radius >= LARGEST_RADIUS

    def around(self, w: Array, radius: float) -> Region:
        """A box with another middle and radius; the largest radius gives the host's own box, as far as that has an end."""
        radius = min(max(radius, self.smallest), LARGEST_RADIUS)
        lb, ub = self.host.lb.copy(), self.host.ub.copy()
        columns, reach = self.columns, radius * self.width
        if radius == LARGEST_RADIUS:
            endless = np.isinf(lb[columns]) | np.isinf(ub[columns])
            columns, reach = columns[endless], ENDLESS_REACH * np.maximum(self.width[endless], np.abs(w[columns[endless]]))
        # A start may be outside of the bounds of the host; no box is.
        middle = np.clip(w[columns], lb[columns], ub[columns])
        lb[columns] = np.maximum(lb[columns], middle - reach)
        ub[columns] = np.minimum(ub[columns], middle + reach)
        return replace(self, radius=radius, box=Box(np.minimum(lb, ub), ub))

    def is_hit(self, w: Array) -> bool:
        """Whether w lies on a side of the box that is not a bound of the host."""
        columns, room = self.columns, HIT_TOL * self.radius * self.width
        low = (w[columns] <= self.box.lb[columns] + room) & (self.box.lb[columns] > self.host.lb[columns])
        high = (w[columns] >= self.box.ub[columns] - room) & (self.box.ub[columns] < self.host.ub[columns])
        return bool((low | high).any())


def runs_away(w: Array, host: Box) -> bool:
    """Whether a point is so far away in columns without an end that there is none to be expected."""
    endless = np.isinf(host.lb) | np.isinf(host.ub)
    return bool(np.abs(w[endless]).max(initial=0.0) > FAR_AWAY)


def first_region(embedded: EmbeddedProgram, w: Array, host: Box, radius: float | None = None, smallest: float = SMALLEST_RADIUS) -> Region:
    """The box around a starting point; `host` has the bounds of the columns that the rows imply."""
    columns = embedded.input_columns[~embedded.host.integer[embedded.input_columns]]
    width = (host.ub - host.lb)[columns]
    width = np.where(np.isfinite(width), width, np.maximum(1.0, np.abs(w[columns])))
    if radius is None:
        radius = FIRST_RADIUS_INTEGER if embedded.host.integer.any() else FIRST_RADIUS
    return Region(columns, np.maximum(width, 1e-9), radius, smallest, host, host).around(w, radius)
