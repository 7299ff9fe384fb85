"""The penalty tau: where it begins and how it grows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.copies import replace
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measurements import slopes
from dcembed.embedded.point import Point
from dcembed.options import Options

# How far above the estimated multipliers the penalty begins: a penalty is exact once it exceeds them.
HEADROOM = 10.0
MAX_PENALTY_RATIO = 1e6
# A natural step of a column is its range, but not more than this many times its size: bounds of 1e9 say nothing.
MAX_STEP = 100.0


@dataclass(frozen=True)
class Penalty:
    """tau, its growth factor mu and its limit tau_max; a hard penalty allows no slack at all."""

    value: float
    growth: float
    limit: float
    is_hard: bool = False

    @property
    def is_largest(self) -> bool:
        """Whether tau has reached tau_max."""
        return self.value >= self.limit

    @property
    def slack_ub(self) -> float:
        """Upper bound of the slacks."""
        return 0.0 if self.is_hard else np.inf

    def grown(self) -> Penalty:
        """min(mu * tau, tau_max)."""
        return replace(self, value=min(self.growth * self.value, self.limit))

    def hardened(self) -> Penalty:
        """No slack: from a feasible point, every further candidate is feasible."""
        return replace(self, is_hard=True)


def initial_penalty(options: Options, embedded: EmbeddedProgram, point: Point) -> Penalty:
    """tau_0 as given, or scaled to the problem at the start."""
    value = options.initial_penalty or estimate_penalty(embedded, point)
    limit = options.max_penalty or MAX_PENALTY_RATIO * value
    return Penalty(min(value, limit), options.penalty_growth, limit)


def estimate_penalty(embedded: EmbeddedProgram, point: Point) -> float:
    """Change of the objective against change of the neural rows, each over a natural step of one column.

    Scaling the objective by s scales the estimate by s, scaling the neural rows by s divides it by s, and
    scaling a bounded column does nothing.
    """
    host, restrictions = embedded.host, embedded.restrictions
    if restrictions.num_restrictions == 0:
        return 1.0
    width = np.minimum(host.ub - host.lb, MAX_STEP * np.maximum(1.0, np.abs(point.w)))
    width = np.where(np.isfinite(host.ub - host.lb), width, np.maximum(1.0, np.abs(point.w)))
    slope = slopes(embedded, point.w)
    objective = np.abs(host.gradient(point.w) + slope[[0]].toarray()[0])
    if host.quadratic is not None:
        objective = objective + 0.5 * host.quadratic.diagonal() * width
    gain = float((objective * width).max(initial=0.0))
    rows = sp.csr_array(abs(restrictions.linear + slope[1:]) @ sp.diags_array(width))
    # Where a network happens to be flat at the start, how far its row is from its limit tells more than its slope.
    distance = np.abs(restrictions.linear @ point.w + point.neural[1:] - restrictions.rhs)
    change = np.maximum(rows.max(axis=1).toarray().reshape(-1), distance)
    typical = float(np.median(change[change > 0])) if (change > 0).any() else 1.0
    return HEADROOM * gain / typical if gain > 0 else 1.0
