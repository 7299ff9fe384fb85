"""How one start, or a part of it, ended."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.embedded.point import Point
from dcembed.result import Status
from dcembed.solvers.base import Backend


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of a start.

    Parameters
    ----------
    status
        Why it ended.
    point
        Where it ended: a local solution where the status says so.
    best
        The best feasible point that it met, None for none.
    backend
        The solver that carried it to the end, where that is known.
    num_steps
        Steps that it has made.
    """

    status: Status
    point: Point
    best: Point | None
    backend: Backend | None = None
    num_steps: int = 0

    @property
    def is_settled(self) -> bool:
        """Whether another start that meets `point` has nothing to add."""
        return self.status in (Status.LOCALLY_SOLVED, Status.LOCALLY_INFEASIBLE)


@dataclass(frozen=True, eq=False)
class Walk:
    """What came of some steps of a start.

    Parameters
    ----------
    point
        Where the start goes on: where the steps ended, or at the best feasible point if that is not feasible.
    best
        The best feasible point on the way.
    radius
        Of the last box in which a step was taken.
    status
        Why the start ends with them; None where it goes on.
    """

    point: Point
    best: Point | None
    radius: float = np.inf
    status: Status | None = None


def best_of(points: tuple[Point | None, ...], feasibility_tol: float) -> Point | None:
    """The best of the feasible ones, the first of equals."""
    feasible = [point for point in points if point is not None and point.is_feasible(feasibility_tol)]
    return min(feasible, key=lambda point: point.objective, default=None)
