"""Between a feasible point and one that is not."""

from __future__ import annotations

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.point import Point, measure_point
from dcembed.embedded.points import evaluate_points
from dcembed.engine.problem import Problem
from dcembed.engine.workshop import Workshop

# Passes, each between the last feasible point of the one before and the next; in each, four points are measured.
NUM_PASSES = 2
# Where a row is expected to fail is never nearer than this to the ends, as a share of the way between them.
MARGIN = 0.05


def search_segment(problem: Problem, workshop: Workshop, best: Point | None, candidate: Point, tau: float) -> Point:
    """On the way from the best feasible point to a candidate that is not feasible, the last feasible one of several, if it is the better one."""
    tol, embedded = problem.options.feasibility_tol, problem.embedded
    if best is None or embedded.host.integer.any() or candidate.is_feasible(tol) or candidate.objective >= best.objective:
        return candidate
    share = _last_feasible(embedded, best, candidate, tol)
    if share == 0.0:
        return candidate
    found = measure_point(embedded, (1.0 - share) * best.w + share * candidate.w)
    workshop.journal.offer(found)
    return found if found.is_feasible(tol) and found.merit(tau) < candidate.merit(tau) else candidate


def _last_feasible(embedded: EmbeddedProgram, best: Point, candidate: Point, tol: float) -> float:
    """The largest share of the way up to which the neural rows were seen to hold; zero for none.

    Rows are nearly straight on short ways. So points are measured where the first row would fail if they were, and on both sides of it.
    """
    restrictions = embedded.restrictions
    # Rows behind an indicator that is off, or that hold at both ends by a wide margin, are not what ends the way.
    start, end = (restrictions.linear @ point.w + point.neural[1:] - restrictions.rhs for point in (best, candidate))
    is_on = (candidate.excess > 0.0) | (end <= 0.0)
    slope = restrictions.linear @ (candidate.w - best.w)
    low, high, at_low, at_high = 0.0, 1.0, start, end
    for _ in range(NUM_PASSES):
        shares = low + (high - low) * _trials(at_low[is_on], at_high[is_on])
        neural = evaluate_points(embedded, best.w + shares[:, None] * (candidate.w - best.w))[:, 1:]
        values = restrictions.linear @ best.w + shares[:, None] * slope + neural - restrictions.rhs
        feasible = np.flatnonzero(values[:, is_on].max(axis=1, initial=-np.inf) <= tol)
        last = int(feasible[-1]) if feasible.size else -1
        if last + 1 < shares.size:
            high, at_high = float(shares[last + 1]), values[last + 1]
        if last >= 0:
            low, at_low = float(shares[last]), values[last]
    return low


def _trials(at_low: Array, at_high: Array) -> Array:
    """Shares of a way to measure at: where the first of the rows would fail if all were straight, half as far, and further on."""
    fails = at_high > 0.0
    held, failed = np.minimum(at_low[fails], 0.0), at_high[fails]
    crossing = float(np.clip((held / (held - failed)).min(initial=1.0), MARGIN, 1.0 - MARGIN))
    return np.array([0.5 * crossing, crossing, 0.75 * crossing + 0.25, 0.5 * crossing + 0.5])
