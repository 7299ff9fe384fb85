"""The best point so far. Nothing that happens later in a run can lose it.

It is the same whoever is heard of first when several starts are made at a time: the least objective counts, to the last bit, and of equal ones the point
of the start that comes first. What is better by rounding alone takes the place of the point without being news.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.point import Point
from dcembed.run.room import room_for, thinned
from dcembed.tolerances import IMPROVEMENT_TOL


@dataclass
class Incumbent:
    """The best feasible point, else the least violated one, and when and where the objective improved."""

    feasibility_tol: float
    # What of a point is written down: the user's columns.
    cut: Callable[[Array], Array] = np.asarray
    point: Point | None = None
    # The number of the start that the point is of.
    start: int = 0
    trace: list[tuple[float, float]] = field(default_factory=list)
    # The objective with which the last entry of the trace came; what takes its place since then is better by rounding alone.
    _news: float = np.inf
    # All columns at each entry of the trace; None where there is no room for them.
    points: list[Array | None] = field(default_factory=list)
    # What brought each entry of the trace.
    origins: list[str] = field(default_factory=list)
    num_left_out: int = 0

    @property
    def is_feasible(self) -> bool:
        """Whether there is a feasible point."""
        return self.point is not None and self.accepts(self.point)

    def accepts(self, point: Point) -> bool:
        """Whether a point counts as feasible."""
        return point.is_feasible(self.feasibility_tol)

    def is_improved_by(self, point: Point, start: int = 0) -> bool:
        """Whether a feasible point of this start would be the best so far."""
        if self.point is None or not self.is_feasible:
            return True
        return (point.objective, start) < (self.point.objective, self.start)

    def wants(self, point: Point) -> bool:
        """Whether a point would be kept, or is near enough to it that rounding decides."""
        if self.point is not None and np.array_equal(point.w, self.point.w):
            return False
        if self.accepts(point):
            return self.point is None or not self.is_feasible or not _improves(self.point.objective, point.objective)
        return self.point is None or (not self.is_feasible and point.violation < self.point.violation)

    def offer(self, point: Point, seconds: float, origin: str = "", start: int = 0) -> None:
        """Keep the point of a start if it is the best so far."""
        if self.accepts(point):
            if self.is_improved_by(point, start):
                self.start = start
                self._keep(point, seconds, origin)
        elif self.point is None or (not self.is_feasible and point.violation < self.point.violation):
            self.point = point

    def _keep(self, point: Point, seconds: float, origin: str) -> None:
        """A feasible point that is the best so far: news, unless it is rounding."""
        self.point = point
        if self.trace and not _improves(point.objective, self._news):
            self.trace[-1] = (self.trace[-1][0], point.objective)
            self.points[-1] = self.cut(point.x)
            return
        self._news = point.objective
        self.trace.append((seconds, point.objective))
        self.points = thinned([*self.points, self.cut(point.x)], room_for(point.x.size, len(self.points) + 1))
        self.num_left_out = sum(each is None for each in self.points)
        self.origins.append(origin)


def _improves(objective: float, best: float) -> bool:
    return objective < best - IMPROVEMENT_TOL * max(1.0, abs(best))
