"""A function of one variable that units apply to their pre-activations."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dcembed.arrays import Array

Function = Callable[[Array], Array]

# Where breaks and extremes are looked for on the pieces that have no end.
FAR, FARTHEST = 60.0, 1e15
# Where limits are looked at; what grows by more than this factor from the first to the second has none.
DISTANCES = (1e5, 1e15)
GROWING = 1.05


@dataclass(frozen=True)
class Activation:
    """A continuous function phi on the whole line which is convex or concave between finitely many breaks.

    Two of them are the same if their names, parameters and identities are; the first two are what a file keeps of it.

    Parameters
    ----------
    name
        Its name in the table, for messages and files.
    value, slope, curvature
        phi and its first two derivatives, entry by entry; the slope to the right where it jumps.
    breaks
        Where phi turns from convex to concave or back, and where its slope jumps; in rising order.
    signs
        On each piece between breaks, and before and after them: 1 where phi is convex, -1 where it is concave, 0 where it is straight.
    parameters
        What tells it from others of its name.
    period
        After which `slope` repeats itself; breaks are those of one period then, from 0 on. None for most.
    margin
        By how much values and slopes may go beyond what breaks and signs say, for functions that are known on a grid alone.
    limits
        What value and slope tend to, on the left and on the right, where that cannot be seen far out; None where it can.
    made_by
        A function and the arguments with which it gives this activation again, in this and in other processes.
    identity
        What tells it from others of its name and parameters, where these do not say what it computes.
    """

    name: str
    value: Function = field(compare=False, repr=False)
    slope: Function = field(compare=False, repr=False)
    curvature: Function = field(compare=False, repr=False)
    breaks: tuple[float, ...] = field(default=(), compare=False, repr=False)
    signs: tuple[int, ...] = field(default=(1,), compare=False, repr=False)
    parameters: tuple[float, ...] = ()
    period: float | None = field(default=None, compare=False, repr=False)
    margin: float = field(default=0.0, compare=False, repr=False)
    limits: tuple[tuple[float, float], tuple[float, float]] | None = field(default=None, compare=False, repr=False)
    made_by: tuple[Callable[..., Any], tuple[Any, ...]] | None = field(default=None, compare=False, repr=False)
    identity: str = field(default="", repr=False)

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Functions inside functions do not travel to other processes; what made them does."""
        return self.made_by or super().__reduce__()

    def __str__(self) -> str:
        return self.name if not self.parameters else f"{self.name}({', '.join(f'{value:g}' for value in self.parameters)})"

    @cached_property
    def is_convex(self) -> bool:
        """Whether it is convex on the whole line."""
        return min(self.signs) >= 0 and all(right >= left for left, right in self.slopes_at_breaks)

    @cached_property
    def slopes_at_infinity(self) -> tuple[float, float]:
        """What the slope tends to on both sides; any slope that it takes where it has a period."""
        if self.limits is not None:
            return self.limits[0][1], self.limits[1][1]
        near, far = (self.slope(distance * np.array([-1.0, 1.0])) for distance in DISTANCES)
        return _limit(near[0], far[0]), _limit(near[1], far[1])

    @cached_property
    def values_at_infinity(self) -> tuple[float, float]:
        """What the value tends to on both sides; any value that it takes where it has a period."""
        if self.limits is not None:
            return self.limits[0][0], self.limits[1][0]
        near, far = (self.value(distance * np.array([-1.0, 1.0])) for distance in DISTANCES)
        return _limit(near[0], far[0]), _limit(near[1], far[1])

    @property
    def slopes_at_breaks(self) -> list[tuple[float, float]]:
        """The slopes to the left and to the right of every break."""
        at = np.array(self.breaks)
        return list(zip(self.slope(np.nextafter(at, -np.inf)).tolist(), self.slope(at).tolist(), strict=True))

    @cached_property
    def extremes(self) -> tuple[float, ...]:
        """Where phi turns from falling to rising or back, as far as pieces reach; of one period where it has one."""
        ends = self._ends() if self.period is None else [*self.breaks, self.period]
        # A piece may begin where the slope is zero, or jumps over it.
        found = list(self.breaks)
        for left, right in itertools.pairwise(ends):
            last = np.nextafter(right, left)
            if self._slope_at(left) * self._slope_at(last) < 0:
                found.append(_root(self._slope_at, left, last))
        return tuple(found)

    def _ends(self) -> list[float]:
        """Of all pieces; those without an end are followed until they turn, or as far as it matters."""
        left, right = (min(-FAR, *self.breaks), max(FAR, *self.breaks)) if self.breaks else (-FAR, FAR)
        first, last = (self.breaks[0], self.breaks[-1]) if self.breaks else (right, left)
        while left > -FARTHEST and self._slope_at(left) * self._slope_at(np.nextafter(first, left)) > 0:
            left *= 2.0
        while right < FARTHEST and self._slope_at(last) * self._slope_at(right) > 0:
            right *= 2.0
        return [left, *self.breaks, right]

    def _slope_at(self, a: float) -> float:
        return float(self.slope(np.array([a]))[0])


def _limit(near: float, far: float) -> float:
    """Where a function goes on like this for ever: what still grows has not come to rest."""
    return float(np.sign(far) * np.inf) if abs(far) > GROWING * abs(near) and abs(far) > 1.0 else float(far)


def find_inflections(curvature: Function, reach: float = 10.0, points: int = 20_001) -> tuple[float, ...]:
    """Where a second derivative changes its sign between -reach and reach, to rounding.

    Examples
    --------
    >>> find_inflections(lambda a: 2.0 - a * a)
    (-1.4142135623730951, 1.4142135623730951)
    """
    grid = np.linspace(-reach, reach, points)
    values = curvature(grid)
    # Far out it may be zero to rounding.
    grid, values = grid[values != 0.0], values[values != 0.0]
    return tuple(
        _root(lambda a: float(curvature(np.array([a]))[0]), grid[i], grid[i + 1])
        for i in np.flatnonzero(np.sign(values[:-1]) != np.sign(values[1:]))
    )


def _root(function: Callable[[float], float], left: float, right: float) -> float:
    """Where a function is zero that has different signs at the ends."""
    # Imported where it is needed: it takes longer than all of the rest, and networks of ReLU never ask.
    from scipy.optimize import brentq

    return float(brentq(function, left, right, xtol=1e-15))
