"""Convolutions, pooling, padding and response normalization in plain numpy.

The reference goes through windows one by one, shares out the padding of `ceil_mode` in its own way, and takes the wrong weights for groups of
a transposed convolution.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from dcembed.arrays import Array
from dcembed.importers.onnx_.operators.spreads import read_spread
from dcembed.importers.onnx_.operators.windows import Windows, read_windows


def max_pool(x: Array, kernel_shape: Any, storage_order: int = 0, **where: Any) -> Array:
    """The largest entry of every window."""
    largest: Array = _cut(x, read_windows(x.shape[2:], kernel_shape, **where), -np.inf).max(axis=_inner(x))
    return largest


def average_pool(x: Array, kernel_shape: Any, count_include_pad: int = 0, **where: Any) -> Array:
    """The average of every window, over what of it counts."""
    windows = read_windows(x.shape[2:], kernel_shape, **where)
    inside = np.ones(x.shape[2:])
    if count_include_pad:
        inside = np.pad(inside, windows.pads, constant_values=1.0)
        whole = Windows(windows.kernel, windows.strides, windows.dilations, ((0, 0),) * len(windows.pads), windows.counts)
        counts = _cut(inside[None, None], whole, 0.0)
    else:
        counts = _cut(inside[None, None], windows, 0.0)
    average: Array = _cut(x, windows, 0.0).sum(axis=_inner(x)) / counts.sum(axis=_inner(x))
    return average


def lp_pool(x: Array, kernel_shape: Any, p: int = 2, **where: Any) -> Array:
    """The norm of every window."""
    powers = _cut(np.abs(x) ** p, read_windows(x.shape[2:], kernel_shape, **where), 0.0)
    total: Array = powers.sum(axis=_inner(x)) ** (1.0 / p)
    return total


def global_lp_pool(x: Array, p: int = 2) -> Array:
    """The norm over all places."""
    total: Array = (np.abs(x) ** p).sum(axis=_inner(x), keepdims=True) ** (1.0 / p)
    return total


def _inner(x: Array) -> tuple[int, ...]:
    return tuple(range(-(x.ndim - 2), 0))


def _cut(x: Array, windows: Windows, fill: float) -> Array:
    """The entries of every window, its axes behind those of the value."""
    needed = [(count - 1) * stride + extent for count, stride, extent in zip(windows.counts, windows.strides, windows.extents, strict=True)]
    around = [
        (first, max(last, reach - size - first)) for (first, last), reach, size in zip(windows.pads, needed, x.shape[2:], strict=True)
    ]
    wide = np.pad(x, ((0, 0), (0, 0), *around), constant_values=fill)
    axes = tuple(range(2, x.ndim))
    view = sliding_window_view(wide, windows.extents, axis=axes)
    places = [slice(0, count * stride, stride) for count, stride in zip(windows.counts, windows.strides, strict=True)]
    taps = [slice(None, None, dilation) for dilation in windows.dilations]
    cut: Array = view[(slice(None), slice(None), *places, *taps)]
    return cut


def conv(x: Array, weight: Array, bias: Array | None = None, group: int = 1, kernel_shape: Any = None, **where: Any) -> Array:
    """The products of the windows with the kernels. Older versions of the reference take other padding for `auto_pad`."""
    windows = read_windows(x.shape[2:], weight.shape[2:], **where)
    cut, num = _cut(x, windows, 0.0), x.ndim - 2
    taps = tuple(range(-num, 0))
    parts = [
        np.tensordot(part, kernel, ((1, *(axis + cut.ndim for axis in taps)), (1, *range(2, 2 + num))))
        for part, kernel in zip(np.split(cut, group, axis=1), np.split(weight, group, axis=0), strict=True)
    ]
    total = np.moveaxis(np.concatenate(parts, axis=-1), -1, 1)
    return total if bias is None else total + bias.reshape(-1, *(1,) * num)


def conv_transpose(x: Array, weight: Array, bias: Array | None = None, group: int = 1, kernel_shape: Any = None, **where: Any) -> Array:
    """Every entry adds its multiple of the kernel to the result."""
    spread = read_spread(x.shape[2:], weight.shape[2:], **where)
    parts = np.split(x, group, axis=1), np.split(weight, group, axis=0)
    total = np.zeros((x.shape[0], weight.shape[1] * group, *spread.reach))
    axes = list(zip(spread.dilations, x.shape[2:], spread.strides, strict=True))
    for place in np.ndindex(*weight.shape[2:]):
        spot = [slice(tap * gap, tap * gap + (size - 1) * step + 1, step) for tap, (gap, size, step) in zip(place, axes, strict=True)]
        pieces = [np.einsum("nc...,cm->nm...", part, block[(..., *place)]) for part, block in zip(*parts, strict=True)]
        total[(slice(None), slice(None), *spot)] += np.concatenate(pieces, axis=1)
    before, behind = zip(*((-first, more - last) for (first, last), more in zip(spread.cuts, spread.extra, strict=True)), strict=True)
    result = pad(total, pads=(0, 0, *before, 0, 0, *behind))
    return result if bias is None else result + bias.reshape(-1, *(1,) * len(axes))


def pad(x: Array, *inputs: Any, mode: str = "constant", pads: Any = None, value: float = 0.0) -> Array:
    """The reference does not crop."""
    widths, fill, axes = (*inputs, None, None, None)[:3]
    given = [int(width) for width in (pads if widths is None else widths)]
    places = range(x.ndim) if axes is None else [int(axis) for axis in axes]
    around = np.zeros((x.ndim, 2), dtype=np.int64)
    around[list(places)] = np.reshape(given, (2, -1)).T
    inside = x[tuple(slice(max(-first, 0), size - max(-last, 0)) for (first, last), size in zip(around, x.shape, strict=True))]
    options = {"constant_values": value if fill is None else np.reshape(fill, ())} if mode == "constant" else {}
    wide: Array = np.pad(inside, np.maximum(around, 0), mode=mode, **options)  # type: ignore[call-overload]
    return wide


def lrn(x: Array, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> Array:
    """The reference goes through as many channels as there are points."""
    before = (size - 1) // 2
    squares = np.pad(x * x, [(0, 0), (before, size - 1 - before), *[(0, 0)] * (x.ndim - 2)])
    sums = sliding_window_view(squares, size, axis=1).sum(axis=-1)
    value: Array = x / (bias + alpha / size * sums) ** beta
    return value
