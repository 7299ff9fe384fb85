"""A candidate and what was measured at it, by one forward pass of each network.

Where evaluations share their decisions, a candidate is measured without a pass over all of them; what is reported is measured plainly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measurements import evaluate_measurements
from dcembed.embedded.verify import measure_host
from dcembed.program.matrices import half_square
from dcembed.sparse import times


@dataclass(frozen=True, eq=False)
class Point:
    """Columns of the host, and the true objective and violations there.

    Parameters
    ----------
    w
        The kept columns, integers rounded.
    columns
        All columns of the user's program, eliminated outputs at their predictions; None where they have not been predicted.
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
    columns: Array | None
    objective: float
    violation: float
    neural: Array
    excess: Array
    slack: Array

    @property
    def x(self) -> Array:
        """All columns of a point that was measured plainly."""
        if self.columns is None:
            raise ValueError("This point was measured without its predictions; measure_plainly has them.")
        return self.columns

    def merit(self, penalty: float) -> float:
        """F + tau * sum of slacks, which the iterations decrease at a fixed penalty."""
        return self.objective + penalty * float(self.slack.sum())

    def is_feasible(self, feasibility_tol: float) -> bool:
        """V <= eps_feas."""
        return self.violation <= feasibility_tol


def measure_point(embedded: EmbeddedProgram, w: Array) -> Point:
    """Round the integers of `w` (kept columns) and measure, without a pass over evaluations that share their decisions."""
    w = np.where(embedded.integer, np.round(w) + 0.0, w)  # no negative zeros
    if embedded.shares_decisions:
        return _measure(embedded, w, None, evaluate_measurements(embedded, w))
    predictions = embedded.predict(w)
    return _measure(embedded, w, embedded.lift(w, predictions), evaluate_measurements(embedded, w, predictions))


def measure_plainly(embedded: EmbeddedProgram, point: Point) -> Point:
    """The point as it is reported: objective and violation from the user's program, with all predictions in their columns."""
    if point.columns is not None:
        return point
    predictions = embedded.predict(point.w)
    return _measure(embedded, point.w, embedded.lift(point.w, predictions), evaluate_measurements(embedded, point.w, predictions))


def move_point(embedded: EmbeddedProgram, point: Point, w: Array) -> Point:
    """The point with columns changed that no input of any embedding depends on and that are no integers: nothing is predicted again."""
    neural = point.neural.copy()
    neural[0] += half_square(embedded.concave, point.w) - half_square(embedded.concave, w)
    if point.columns is None:
        return _measure(embedded, w, None, neural)
    x = point.columns.copy()
    x[embedded.kept] = w
    return _measure(embedded, w, embedded.definitions.apply(x), neural)


def _measure(embedded: EmbeddedProgram, w: Array, x: Array | None, neural: Array) -> Point:
    # Eliminated outputs are predictions by construction, and the equalities of the others are among the restrictions. So are rows and
    # bounds with predictions in them: where nothing was predicted, host and restrictions say the same as the user's program.
    if x is not None:
        objective, violation = measure_host(embedded.program, x)
    else:
        objective, violation = measure_host(embedded.host, w)
        objective += float(neural[0])
    excess = _restriction_excess(embedded, w, neural)
    slack = np.zeros(embedded.restrictions.num_slacks)
    np.maximum.at(slack, embedded.restrictions.slack, excess)
    return Point(w, x, objective, max(violation, float(slack.max(initial=0.0))), neural, excess, slack)


def _restriction_excess(embedded: EmbeddedProgram, w: Array, neural: Array) -> Array:
    restrictions = embedded.restrictions
    if restrictions.num_restrictions == 0:
        return np.zeros(0)
    value = times(restrictions.linear, w) + neural[1:] - restrictions.rhs
    excess: Array = np.maximum(value, 0.0)
    if not restrictions.is_switched:
        return excess
    off = (restrictions.indicator >= 0) & (np.round(w[restrictions.indicator]) != restrictions.indicator_value)
    return np.where(off, 0.0, excess)
