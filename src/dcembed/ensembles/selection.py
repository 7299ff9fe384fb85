"""Which pairs of values are compared so that one place of the sorted order is known.

Values are merged in runs of 2, 4, 8, ... that are sorted, as in the odd-even merge sort of Batcher (1968). Of each run only those values stay
that can still come to the place that is asked for: the second largest of all is among the two largest of its run. For the ninth of ten
values that is 17 comparisons, where to sort all of them takes 32.
"""

from __future__ import annotations

from collections.abc import Iterator


def select(size: int, place: int) -> tuple[list[tuple[int, int]], int]:
    """The comparisons that give the value at one place of the sorted order, from the smallest (0) to the largest (size - 1).

    Returns
    -------
    Pairs (i, j), in order, each of which puts the smaller of two values at i and the larger at j; and where the wanted value is
    after all of them.

    Examples
    --------
    >>> select(4, 3)
    ([(0, 1), (2, 3), (1, 3)], 3)
    >>> len(select(10, 8)[0]), len(select(10, 4)[0])
    (17, 25)
    """
    from_below = 2 * place < size
    stay = place + 1 if from_below else size - place
    # What is at each position of the sort: the number of a value, or None for one that has been given up.
    at: list[int | None] = list(range(size))
    pairs: list[tuple[int, int]] = []
    for run, merge in _merges(size):
        for low, high in merge:
            one, other = at[low], at[high]
            if one is not None and other is not None:
                pairs.append((one, other))
            elif (one is None) == from_below:
                # A value that was given up is as good as one beyond all others: it moves to the end of the run.
                at[low], at[high] = other, one
        for position in range(size):
            if _is_given_up(position, run, size, stay, from_below):
                at[position] = None
    wanted = at[place]
    assert wanted is not None
    return _needed(pairs, wanted), wanted


def _merges(size: int) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """The comparators that sort runs of 2, 4, 8, ... positions; those that reach beyond the end would compare with infinity."""
    half = 1
    while half < size:
        merge = list[tuple[int, int]]()
        gap = half
        while gap >= 1:
            merge += [
                (low, low + gap)
                for start in range(gap % half, size - gap, 2 * gap)
                for low in range(start, min(start + gap, size - gap))
                if low // (2 * half) == (low + gap) // (2 * half)
            ]
            gap //= 2
        yield 2 * half, merge
        half *= 2


def _is_given_up(position: int, run: int, size: int, stay: int, from_below: bool) -> bool:
    """Whether more values of its sorted run lie between a position and the end that counts than may stay."""
    start = position // run * run
    end = min(start + run, size)
    return position - start >= stay if from_below else end - 1 - position >= stay


def _needed(pairs: list[tuple[int, int]], wanted: int) -> list[tuple[int, int]]:
    """The comparisons that the wanted value depends on."""
    needed, chosen = {wanted}, list[tuple[int, int]]()
    for pair in reversed(pairs):
        if needed.intersection(pair):
            needed.update(pair)
            chosen.append(pair)
    return chosen[::-1]
