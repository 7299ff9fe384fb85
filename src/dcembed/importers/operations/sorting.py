"""Sorting along an axis, by a network of comparators that are a maximum and a minimum each: one unit for both."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.importers.operations.values import Value, flat, pick, shape_of
from dcembed.network.builder import NetworkBuilder, Tensor


def sort(builder: NetworkBuilder, value: Value, axis: int = -1, descending: bool = False) -> Value:
    """The entries in rising or falling order; what is at a place is continuous, where it came from is not."""
    if not isinstance(value, Tensor):
        rising = np.sort(np.asarray(value), axis=axis)
        return np.flip(rising, axis) if descending else rising
    size = shape_of(value)[axis]
    rows = np.moveaxis(np.arange(value.affine.num_rows).reshape(value.shape), axis, -1)
    current = flat(builder, value)
    for lower, upper in comparators(size):
        current = _compare(builder, current, rows[..., lower].reshape(-1), rows[..., upper].reshape(-1))
    ordered = rows[..., ::-1] if descending else rows
    return pick(builder, current, np.moveaxis(ordered, -1, axis))


def _compare(builder: NetworkBuilder, current: Tensor, low: Array, high: Array) -> Tensor:
    """The smaller one of each pair at the first place, the larger one at the second: with u = relu(a - b), a - u and b + u."""
    size, pairs = current.affine.num_rows, np.arange(len(low))
    signs = np.concatenate([np.ones(len(low)), -np.ones(len(low))])
    places = (np.concatenate([pairs, pairs]), np.concatenate([low, high]))
    units = builder.relu(builder.linear(current, sp.csr_array((signs, places), shape=(len(low), size))))
    change = sp.csr_array((-signs, (places[1], places[0])), shape=(size, len(low)))
    return builder.add(current, builder.linear(units, change))


def comparators(size: int) -> list[tuple[Array, Array]]:
    """Pairs of places to compare at the same time, step by step: the merge exchange of Batcher.

    Examples
    --------
    >>> [(low.tolist(), high.tolist()) for low, high in comparators(3)]
    [([0], [2]), ([0], [1]), ([1], [2])]
    """
    steps: list[tuple[Array, Array]] = []
    top = 1 << max(size - 1, 0).bit_length() >> 1
    span = top
    while span:
        reach, rest, distance = top, 0, span
        while True:
            low = np.array([place for place in range(size - distance) if place & span == rest], dtype=np.int64)
            if low.size:
                steps.append((low, low + distance))
            if reach == span:
                break
            distance, reach, rest = reach - span, reach // 2, span
        span //= 2
    return steps
