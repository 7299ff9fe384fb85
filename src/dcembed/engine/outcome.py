"""How one start, or a part of it, ended."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dcembed.embedded.point import Point
from dcembed.solvers.base import Backend
from dcembed.status import Status


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
    num_pivots
        Simplex iterations that its masters with integers took.
    """

    status: Status
    point: Point
    best: Point | None
    backend: Backend | None = None
    num_steps: int = 0
    num_pivots: int = 0

    @property
    def is_settled(self) -> bool:
        """Whether another start that meets `point` has nothing to add."""
        return self.status in (Status.LOCALLY_SOLVED, Status.LOCALLY_INFEASIBLE)


def num_entries(outcome: Outcome) -> int:
    """Numbers that the points of an outcome hold."""
    points = {id(point): point for point in (outcome.point, outcome.best) if point is not None}
    return sum(
        array.size for point in points.values() for array in (point.w, point.columns, point.neural, point.excess) if array is not None
    )


def forget(outcome: Outcome) -> Outcome:
    """The outcome without the columns of its points: objective and violation are left."""
    return replace(outcome, point=_emptied(outcome.point), best=None if outcome.best is None else _emptied(outcome.best))


def is_forgotten(outcome: Outcome) -> bool:
    """Whether the columns of its points are gone."""
    return outcome.point.w.size == 0


def _emptied(point: Point) -> Point:
    none = np.zeros(0)
    return replace(point, w=none, columns=None, neural=none, excess=none, slack=none)


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
