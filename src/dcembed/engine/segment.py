"""Between a feasible point and one that is not."""

from __future__ import annotations

import numpy as np

from dcembed.embedded.point import Point, measure_point
from dcembed.embedded.points import measure_points
from dcembed.engine.problem import Problem
from dcembed.engine.workshop import Workshop

# Points on the way that are measured in one pass, and passes, each between the last feasible point of the one before and the next.
NUM_TRIALS, NUM_PASSES = 16, 2


def search_segment(problem: Problem, workshop: Workshop, best: Point | None, candidate: Point, tau: float) -> Point:
    """On the way from the best feasible point to a candidate that is not feasible, the last feasible one of several, if it is the better one."""
    tol, embedded = problem.options.feasibility_tol, problem.embedded
    if best is None or embedded.host.integer.any() or candidate.is_feasible(tol) or candidate.objective >= best.objective:
        return candidate
    share = 0.0
    for number in range(NUM_PASSES):
        shares = share + np.arange(1, NUM_TRIALS) / NUM_TRIALS ** (number + 1)
        points = (1.0 - shares[:, None]) * best.w + shares[:, None] * candidate.w
        feasible = np.flatnonzero(measure_points(embedded, points).excess.max(axis=1, initial=0.0) <= tol)
        share = shares[feasible[-1]] if feasible.size else share
    if share == 0.0:
        return candidate
    found = measure_point(embedded, (1.0 - share) * best.w + share * candidate.w)
    workshop.journal.offer(found)
    return found if found.is_feasible(tol) and found.merit(tau) < candidate.merit(tau) else candidate
