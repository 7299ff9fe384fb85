"""Products on a stack of boxes, and how many boxes are worked on at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dcembed.arrays import Array, Matrix
from dcembed.network.chunks import slices

# So many boxes are worked on at a time that their numbers, this many, stay in the processor's cache: reducing 30 boxes of a network with
# 3 stages of 256 is four times quicker than all at once.
CACHED_ENTRIES = 100_000


def chunks_of_boxes(k: int, entries: int) -> Iterator[slice]:
    """k boxes, or terms on them, in chunks; each of them has so many numbers."""
    return slices(k, entries, CACHED_ENTRIES)


def apply_to_boxes(block: Matrix, values: Array) -> Array:
    """block @ values for each box, as one product: values is (k, n, d)."""
    k, n, d = values.shape
    flat = block @ values.transpose(1, 0, 2).reshape(n, k * d)
    return flat.reshape(-1, k, d).transpose(1, 0, 2)


def times_each(matrices: Array, vectors: Array) -> Array:
    """Matrix times vector for each box: (k, n, d) and (k, d) give (k, n)."""
    return (matrices @ vectors[:, :, None])[:, :, 0]


def back_each(vectors: Array, matrices: Array) -> Array:
    """Transposed matrix times vector for each box: (k, n) and (k, n, d) give (k, d)."""
    return (vectors[:, None, :] @ matrices)[:, 0, :]


def of_boxes(values: Array, block: Array) -> Array:
    """The values of the given boxes; not copied where these stand one after the other."""
    if block.size and np.array_equal(block, np.arange(block[0], block[0] + block.size)):
        return values[block[0] : block[0] + block.size]
    return values[block]
