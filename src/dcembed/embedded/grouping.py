"""Equal entries of long arrays, which are in order more often than not."""

from __future__ import annotations

import numpy as np

from dcembed.arrays import Array


def distinct(keys: Array) -> tuple[Array, Array]:
    """The different entries of keys (t,) in their order, and which of them each is: what `np.unique` says, at once where they are sorted.

    Examples
    --------
    >>> import numpy as np
    >>> distinct(np.array([3, 3, 7]))
    (array([3, 7]), array([0, 0, 1]))
    """
    if keys.size == 0 or not (keys[1:] >= keys[:-1]).all():
        values, number = np.unique(keys, return_inverse=True)
        return values, number.reshape(-1)
    is_new = np.concatenate([[True], keys[1:] != keys[:-1]])
    return keys[is_new], np.cumsum(is_new) - 1


def distinct_pairs(first: Array, second: Array) -> tuple[Array, Array, Array]:
    """The different pairs of nonnegative whole numbers (t,), by the first and then the second; and which of them each is.

    Examples
    --------
    >>> import numpy as np
    >>> distinct_pairs(np.array([1, 0, 1]), np.array([5, 2, 5]))
    (array([0, 1]), array([2, 5]), array([1, 0, 1]))
    """
    width = int(second.max(initial=0)) + 1
    keys, number = distinct(first * width + second)
    return *np.divmod(keys, width), number


def inside(size: int, *numbers: Array) -> Array:
    """The numbers from 0 to size - 1 that are among these, in order: what `np.unique` says, without sorting or hashing millions of them.

    Examples
    --------
    >>> import numpy as np
    >>> inside(5, np.array([3, 1, 3]), np.array([0]))
    array([0, 1, 3])
    """
    mask = np.zeros(size, dtype=bool)
    for some in numbers:
        mask[some] = True
    return np.flatnonzero(mask)


def outside(size: int, numbers: Array) -> Array:
    """The numbers from 0 to size - 1 that are not among these."""
    mask = np.ones(size, dtype=bool)
    mask[numbers] = False
    return np.flatnonzero(mask)
