"""A candidate and what was measured at it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measurements import evaluate_measurements
from dcembed.embedded.verify import measure_host

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Point:
    """Columns of the host, and the true objective and violations there.

    Parameters
    ----------
    w
        The kept columns, integers rounded.
    x
        All columns of the user's program, eliminated outputs at their predictions.
    objective
        F.
    violation
        V, over every constraint of the user's program.
    slack
        What each slack of the subproblem would have to be at w; the penalized part of the merit.
    """

    w: Array
    x: Array
    objective: float
    violation: float
    slack: Array

    def merit(self, penalty: float) -> float:
        """F + tau * sum of slacks, which the iterations decrease at a fixed penalty."""
        return self.objective + penalty * float(self.slack.sum())


def measure_point(embedded: EmbeddedProgram, w: Array) -> Point:
    """Round the integers of `w` (kept columns) and measure."""
    w = np.where(embedded.host.integer, np.round(w) + 0.0, w)  # no negative zeros
    x = embedded.lift(w)
    # Eliminated outputs are predictions by construction, and the equalities of the others are among the restrictions.
    objective, violation = measure_host(embedded.program, x)
    excess = restriction_excess(embedded, w)
    slack = np.zeros(embedded.restrictions.num_slacks)
    np.maximum.at(slack, embedded.restrictions.slack, excess)
    return Point(w, x, objective, max(violation, float(slack.max(initial=0.0))), slack)


def restriction_excess(embedded: EmbeddedProgram, w: Array) -> Array:
    """By how much each neural restriction is exceeded at w, zero behind an indicator that is off. Shape (s,)."""
    restrictions = embedded.restrictions
    if restrictions.num_restrictions == 0:
        return np.zeros(0)
    value = restrictions.linear @ w + evaluate_measurements(embedded, w)[1:] - restrictions.rhs
    off = (restrictions.indicator >= 0) & (np.round(w[restrictions.indicator]) != restrictions.indicator_value)
    return np.where(off, 0.0, np.maximum(value, 0.0))
