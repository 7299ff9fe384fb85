"""Where the tangent steps have got to. A step makes a new state; none is changed."""

from __future__ import annotations

from dataclasses import dataclass

import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.point import Point
from dcembed.embedded.verify import measure_host
from dcembed.engine.outcome import best_of
from dcembed.engine.problem import Problem
from dcembed.engine.region import Region, first_region
from dcembed.engine.subproblem import Majorant

# Half the side of the first box, and the one below which a box is too small to matter, in ranges of the columns.
FIRST_RADIUS, SMALLEST_RADIUS = 0.2, 1e-5


@dataclass(frozen=True, eq=False)
class State:
    """The current point, the box around it, and what is remembered.

    Parameters
    ----------
    point, region
        The current point, and the box around it.
    best
        The best feasible point of this walk.
    multipliers, row_multipliers
        The largest multipliers of the last masters, and those of all restrictions in the last one, shape (s,).
    funnel
        How far curved models may miss their rows, see `funnel.py`; None before the first step.
    fruitful_radius
        Radius of the last box in which a step was taken.
    num_rejected
        Steps in a row that were not taken.
    tangents, num_cuts
        The last tangents, and how many cuts have been made of such.
    needs_slack
        Whether the last master could not keep all neural rows.
    is_outside
        Whether the point violates rows or bounds of the host, which no merit counts: a combination of points of blocks may, and a start of the user's.
    slope
        Gradients of all measurements at the point, where they are known already.
    """

    point: Point
    region: Region
    best: Point | None
    multipliers: tuple[float, ...] = ()
    row_multipliers: Array | None = None
    funnel: float | None = None
    fruitful_radius: float = SMALLEST_RADIUS
    num_rejected: int = 0
    tangents: tuple[Majorant, ...] = ()
    num_cuts: int = 0
    needs_slack: bool = False
    is_outside: bool = False
    slope: sp.csr_array | None = None


def begin(problem: Problem, start: Point, radius: float, is_given: bool = False) -> State:
    """The first box around a start, of this radius at most; one that was given may be outside of the host, one that was walked to is not."""
    region = first_region(problem.embedded, start.w, problem.box, min(radius, FIRST_RADIUS), SMALLEST_RADIUS)
    tol = problem.options.feasibility_tol
    is_outside = is_given and not start.is_feasible(tol) and measure_host(problem.embedded.host, start.w)[1] > tol
    return State(start, region, best_of((start,), tol), is_outside=is_outside)
