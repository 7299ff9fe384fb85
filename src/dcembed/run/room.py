"""How many points of a problem are kept for later: as many as memory has room for, so that a long run on a large problem does not fill it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

# Numbers that one collection of points may hold, 200 MB.
KEPT_ENTRIES = 25_000_000


def room_for(size: int, most: int, least: int = 2) -> int:
    """How many points of so many numbers each are kept of `most`: all of them, or as many as there is room for, and some in any case.

    Examples
    --------
    >>> room_for(100, most=512), room_for(1_000_000, most=512), room_for(10**9, most=512)
    (512, 25, 2)
    """
    return max(min(most, KEPT_ENTRIES // max(size, 1)), min(least, most))


def thinned(points: Sequence[T | None], most: int) -> list[T | None]:
    """The points with every other one left out, again and again, until there are at most so many; the first and the last stay.

    Examples
    --------
    >>> thinned(["a", "b", "c", "d", "e"], most=4)
    ['a', None, 'c', None, 'e']
    """
    left = list(points)
    while len(kept := [number for number, point in enumerate(left) if point is not None]) > max(most, 2):
        for number in kept[1:-1:2]:
            left[number] = None
    return left
