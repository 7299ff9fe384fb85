"""The verified points that a search remembers: the best that differ, whatever start has met them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dcembed.embedded.point import Point
from dcembed.run.space import Space, far_from

# Points that are kept, and how far they are from one another in some network input or integer, in relation to its range.
MAX_POINTS, APART = 16, 1e-4
# How much likelier a point is taken than the next worse one.
PREFERENCE = 0.5


@dataclass(frozen=True, eq=False)
class Verified:
    """Feasible points, best first."""

    points: tuple[Point, ...] = ()

    def heard(self, space: Space, point: Point | None) -> Verified:
        """With a further point, as long as it is one of the best; of points at the same place the best is kept."""
        if point is None:
            return self
        place = space.places(point.w)[None]
        same = [not far_from(place, space.places(other.w)[None], APART)[0] for other in self.points]
        if any(is_same and other.objective <= point.objective for is_same, other in zip(same, self.points, strict=True)):
            return self
        others = [other for other, is_same in zip(self.points, same, strict=True) if not is_same]
        best = sorted([*others, point], key=lambda each: each.objective)[:MAX_POINTS]
        return replace(self, points=tuple(best))

    def pick(self, rng: np.random.Generator) -> Point | None:
        """One of them, the better the likelier; None where there is none."""
        if not self.points:
            return None
        return self.points[min(int(rng.geometric(PREFERENCE)) - 1, len(self.points) - 1)]

    def pick_two(self, rng: np.random.Generator) -> tuple[Point, Point] | None:
        """Two different ones: one by its value, the other any; None where there are fewer."""
        first = self.pick(rng)
        others = [point for point in self.points if point is not first]
        return (first, others[int(rng.integers(len(others)))]) if first is not None and others else None
