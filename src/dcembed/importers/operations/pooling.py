"""Pooling: the largest, the average or a norm of the entries in windows over the axes after the first two."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.importers.operations.arithmetic import multiply
from dcembed.importers.operations.extremes import largest_along
from dcembed.importers.operations.powers import sqrt, square
from dcembed.importers.operations.values import Unsupported, Value, map_last_axes, shape_of
from dcembed.importers.operations.windows import Windows, adaptive_windows, sliding_windows
from dcembed.network.builder import NetworkBuilder

Pairs = Sequence[tuple[int, int]]


def max_pool(
    builder: NetworkBuilder,
    value: Value,
    kernel: Sequence[int],
    *,
    stride: Sequence[int],
    padding: Pairs,
    dilation: Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Value:
    """The largest entry of every window; padding counts for nothing."""
    return _pool_largest(builder, value, _slide(value, kernel, stride, padding, dilation, ceil_mode))


def adaptive_max_pool(builder: NetworkBuilder, value: Value, sizes: Sequence[int | None]) -> Value:
    """The largest entries, in windows so that the axes get these sizes; None keeps a size."""
    return _pool_largest(builder, value, _adapt(value, sizes))


def average_pool(
    builder: NetworkBuilder,
    value: Value,
    kernel: Sequence[int],
    *,
    stride: Sequence[int],
    padding: Pairs,
    dilation: Sequence[int] | None = None,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor: float | None = None,
) -> Value:
    """The average of every window, or its sum over `divisor`; zeros of the padding count where `count_include_pad` says so."""
    windows = _slide(value, kernel, stride, padding, dilation, ceil_mode)
    if divisor is not None:
        return multiply(builder, _pool_sum(builder, value, windows), np.asarray(1.0 / divisor))
    counts = [window.counts if count_include_pad else (window.positions >= 0).sum(axis=1) for window in windows]
    return multiply(builder, _pool_sum(builder, value, windows), 1.0 / np.maximum(functools.reduce(np.multiply.outer, counts), 1))


def adaptive_average_pool(builder: NetworkBuilder, value: Value, sizes: Sequence[int | None]) -> Value:
    """The averages, in windows so that the axes get these sizes; None keeps a size."""
    windows = _adapt(value, sizes)
    return multiply(
        builder, _pool_sum(builder, value, windows), 1.0 / functools.reduce(np.multiply.outer, [window.counts for window in windows])
    )


def norm_pool(
    builder: NetworkBuilder,
    value: Value,
    order: float,
    kernel: Sequence[int],
    *,
    stride: Sequence[int],
    padding: Pairs,
    ceil_mode: bool = False,
) -> Value:
    """The Euclidean norm of every window."""
    if order != 2:
        raise Unsupported(f"takes a norm of order {order:g} of every window; the order 2 is accepted")
    return sqrt(builder, _pool_sum(builder, square(builder, value), _slide(value, kernel, stride, padding, None, ceil_mode)))


def _slide(
    value: Value, kernel: Sequence[int], stride: Sequence[int], padding: Pairs, dilation: Sequence[int] | None, ceil_mode: bool
) -> list[Windows]:
    sizes = shape_of(value)[-len(kernel) :]
    axes = zip(sizes, kernel, stride, padding, dilation or (1,) * len(kernel), strict=True)
    return [sliding_windows(size, length, step, pads, dilated, ceil_mode) for size, length, step, pads, dilated in axes]


def _adapt(value: Value, sizes: Sequence[int | None]) -> list[Windows]:
    return [adaptive_windows(old, old if new is None else new) for old, new in zip(shape_of(value)[-len(sizes) :], sizes, strict=True)]


def _pool_largest(builder: NetworkBuilder, value: Value, windows: Sequence[Windows]) -> Value:
    """Axis by axis: the largest of the largest is the same, and windows that overlap share their work."""
    for axis, window in enumerate(windows, start=-len(windows)):
        if window.positions.shape[1] > 1 or len(window.positions) != shape_of(value)[axis]:
            value = largest_along(builder, value, axis, window.positions)
    return value


def _pool_sum(builder: NetworkBuilder, value: Value, windows: Sequence[Windows]) -> Value:
    sizes = shape_of(value)[-len(windows) :]
    return map_last_axes(builder, value, [_sums(window.positions, size) for window, size in zip(windows, sizes, strict=True)])


def _sums(positions: Array, size: int) -> sp.csr_array:
    """The matrix (windows, size) that adds up what is in each window."""
    rows, columns = np.nonzero(positions >= 0)
    return sp.csr_array((np.ones(len(rows)), (rows, positions[rows, columns])), shape=(len(positions), size))
