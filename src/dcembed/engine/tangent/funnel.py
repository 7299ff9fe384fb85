"""What a step of a curved model with equalities is worth: a funnel in place of a penalty.

Along inequalities the way to a candidate has feasible points on it, and the last of them is a good one. Along equalities it has none. With a
penalty that exceeds the multipliers, steps follow curved rows on their outside in short ones. A funnel allows rows to be missed by as much
as a bound that shrinks: a step towards a better objective counts by the objective alone as long as it stays below that bound, and a step
towards the rows by what it takes off their violation, and the funnel narrows with it.
"""

from __future__ import annotations

from dataclasses import dataclass

from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.point import Point

# A step is one towards the objective if its promise there is at least this share of what the violation is worth at the multipliers.
OBJECTIVE_SHARE = 0.01
# The funnel narrows to this part of the way from the violation of the next point to that of the last, and never by more than this factor at a time.
NARROWED, NARROWEST = 0.5, 0.1


def needs_funnel(embedded: EmbeddedProgram) -> bool:
    """Whether rows with predictions in them are equalities: two restrictions with one slack."""
    return embedded.restrictions.num_slacks < embedded.restrictions.num_restrictions


@dataclass(frozen=True)
class Judged:
    """What was promised, what a candidate brings of it, and the width of the funnel behind it."""

    promise: float
    improvement: float
    width: float


def judge(
    point: Point, candidate: Point, model_objective: float, model_slack: float, worth: float, width: float | None, tol: float
) -> Judged:
    """The judgement of a candidate.

    Parameters
    ----------
    point, candidate
        Where the step begins and ends.
    model_objective, model_slack
        What the model says of its end.
    worth
        What a violation is worth: the largest multiplier.
    width
        Of the funnel; None before the first step, which opens it as far as it needs.
    """
    before, after = float(point.slack.sum()), float(candidate.slack.sum())
    width = max(before, after, tol) if width is None else width
    gain, relief = point.objective - model_objective, before - model_slack
    if gain > 0 and gain >= OBJECTIVE_SHARE * worth * relief:
        return Judged(gain, point.objective - candidate.objective if after <= width else -gain, width)
    if after > before - 0.05 * relief:
        return Judged(relief, before - after, width)
    return Judged(relief, before - after, max(NARROWEST * width, after + NARROWED * (before - after), tol))
