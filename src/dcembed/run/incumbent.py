"""The best point so far. Nothing that happens later in a run can lose it."""

from __future__ import annotations

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
    point: Point | None = None
    trace: list[tuple[float, float]] = field(default_factory=list)
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

    def is_improved_by(self, point: Point) -> bool:
        """Whether a feasible point would be the best so far."""
        return self.point is None or not self.is_feasible or _improves(point.objective, self.point.objective)

    def wants(self, point: Point) -> bool:
        """Whether a point would be kept, or is near enough to it that rounding decides."""
        if self.point is not None and np.array_equal(point.w, self.point.w):
            return False
        if self.accepts(point):
            return self.is_improved_by(point)
        return self.point is None or (not self.is_feasible and point.violation < self.point.violation)

    def offer(self, point: Point, seconds: float, origin: str = "") -> None:
        """Keep the point if it is the best so far."""
        if self.accepts(point):
            if self.is_improved_by(point):
                self.point = point
                self.trace.append((seconds, point.objective))
                self.points = thinned([*self.points, point.x], room_for(point.x.size, len(self.points) + 1))
                self.num_left_out = sum(each is None for each in self.points)
                self.origins.append(origin)
        elif self.point is None or (not self.is_feasible and point.violation < self.point.violation):
            self.point = point


def _improves(objective: float, best: float) -> bool:
    return objective < best - IMPROVEMENT_TOL * max(1.0, abs(best))
