"""Work on many items, some at a time."""

from __future__ import annotations

from collections.abc import Iterator


def slices(size: int, entries: int, budget: int) -> Iterator[slice]:
    """Cut `size` items of so many entries each into slices of at most `budget` entries, or of one item.

    Examples
    --------
    >>> list(slices(5, entries=10, budget=25))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, budget // max(entries, 1))
    for start in range(0, size, step):
        yield slice(start, min(start + step, size))
