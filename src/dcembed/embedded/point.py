"""A candidate and what was measured at it, by one forward pass of each network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measurements import evaluate_measurements
from dcembed.embedded.verify import measure_host
from dcembed.program.matrices import half_square


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
    neural
        The network part f of the objective and of each restriction, shape (s + 1,).
    excess
        By how much each neural restriction is exceeded, zero behind an indicator that is off. Shape (s,).
    slack
        What each slack of the subproblem would have to be at w; the penalized part of the merit.
    """

    w: Array
    x: Array
    objective: float
    violation: float
    neural: Array
    excess: Array
    slack: Array

    def merit(self, penalty: float) -> float:
        """F + tau * sum of slacks, which the iterations decrease at a fixed penalty."""
        return self.objective + penalty * float(self.slack.sum())

    def is_feasible(self, feasibility_tol: float) -> bool:
        """V <= eps_feas."""
        return self.violation <= feasibility_tol


def measure_point(embedded: EmbeddedProgram, w: Array) -> Point:
    """Round the integers of `w` (kept columns) and measure."""
    w = np.where(embedded.integer, np.round(w) + 0.0, w)  # no negative zeros
    predictions = embedded.predict(w)
    return _measure(embedded, w, embedded.lift(w, predictions), evaluate_measurements(embedded, w, predictions))


def move_point(embedded: EmbeddedProgram, point: Point, w: Array) -> Point:
    """The point with columns changed that no input of any embedding depends on and that are no integers: nothing is predicted again."""
    x = point.x.copy()
    x[embedded.kept] = w
    neural = point.neural.copy()
    neural[0] += half_square(embedded.concave, point.w) - half_square(embedded.concave, w)
    return _measure(embedded, w, embedded.definitions.apply(x), neural)


def _measure(embedded: EmbeddedProgram, w: Array, x: Array, neural: Array) -> Point:
    # Eliminated outputs are predictions by construction, and the equalities of the others are among the restrictions.
    objective, violation = measure_host(embedded.program, x)
    excess = _restriction_excess(embedded, w, neural)
    slack = np.zeros(embedded.restrictions.num_slacks)
    np.maximum.at(slack, embedded.restrictions.slack, excess)
    return Point(w, x, objective, max(violation, float(slack.max(initial=0.0))), neural, excess, slack)


def _restriction_excess(embedded: EmbeddedProgram, w: Array, neural: Array) -> Array:
    restrictions = embedded.restrictions
    if restrictions.num_restrictions == 0:
        return np.zeros(0)
    value = restrictions.linear @ w + neural[1:] - restrictions.rhs
    off = (restrictions.indicator >= 0) & (np.round(w[restrictions.indicator]) != restrictions.indicator_value)
    return np.where(off, 0.0, np.maximum(value, 0.0))
