"""Operators in plain numpy where onnx's reference implementation lacks them, does something else, or takes seconds.

They follow the text of the operator's definition. Models are compared with what these give, so nothing here shares code with the
handlers, apart from where windows lie (`onnx_windows`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.special
from numpy.lib.stride_tricks import sliding_window_view
from onnx.reference.op_run import OpRun

from dcembed.arrays import Array
from dcembed.importers.onnx_windows import Windows, read_windows

Definition = Callable[..., Any]


def definitions(opsets: Mapping[str, int]) -> list[type[OpRun]]:
    """The classes to be used by a ReferenceEvaluator for a model of these opsets."""
    version = opsets.get("", 1)
    named = {name: function for before, table in _SINCE.items() if version < before for name, function in table.items()}
    return [
        *(_define(name, function) for name, function in named.items()),
        *(_define(name, function, "ai.onnx.ml") for name, function in _TABLES.items()),
    ]


def _define(name: str, function: Definition, domain: str = "") -> type[OpRun]:
    def run(self: Any, *inputs: Any, **attributes: Any) -> tuple[Any, ...]:
        # Attributes come as single-precision numbers, and so would what is computed of them alone.
        exact = {key: float(value) if isinstance(value, np.floating) else value for key, value in attributes.items()}
        result = function(*inputs, **exact)
        return result if isinstance(result, tuple) else (result,)

    # Without a schema only the attributes that are written in the node are passed on.
    return type(name, (OpRun,), {"op_domain": domain, "op_schema": None, "_run": run})


# Windows: the reference goes through them one by one, and shares out the padding of `ceil_mode` in its own way.


def _max_pool(x: Array, kernel_shape: Any, storage_order: int = 0, **where: Any) -> Array:
    values: Array = _cut(x, read_windows(x.shape[2:], kernel_shape, **where), -np.inf)
    return values.max(axis=_inner(x))


def _average_pool(x: Array, kernel_shape: Any, count_include_pad: int = 0, **where: Any) -> Array:
    windows = read_windows(x.shape[2:], kernel_shape, **where)
    inside = np.ones(x.shape[2:])
    if count_include_pad:
        inside = np.pad(inside, windows.pads, constant_values=1.0)
        whole = Windows(windows.kernel, windows.strides, windows.dilations, ((0, 0),) * len(windows.pads), windows.counts)
        counts = _cut(inside[None, None], whole, 0.0)
    else:
        counts = _cut(inside[None, None], windows, 0.0)
    return _cut(x, windows, 0.0).sum(axis=_inner(x)) / counts.sum(axis=_inner(x))


def _lp_pool(x: Array, kernel_shape: Any, p: int = 2, **where: Any) -> Array:
    powers = _cut(np.abs(x) ** p, read_windows(x.shape[2:], kernel_shape, **where), 0.0)
    total: Array = powers.sum(axis=_inner(x)) ** (1.0 / p)
    return total


def _global_lp_pool(x: Array, p: int = 2) -> Array:
    total: Array = (np.abs(x) ** p).sum(axis=_inner(x), keepdims=True) ** (1.0 / p)
    return total


def _pad(x: Array, *inputs: Any, mode: str = "constant", pads: Any = None, value: float = 0.0) -> Array:
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


def _scatter(x: Array, indices: Array, updates: Array, axis: int = 0) -> Array:
    """The name that ScatterElements had before opset 11."""
    result = x.copy()
    np.put_along_axis(result, indices, updates, axis)
    return result


def _upsample(x: Array, scales: Any, mode: str = "nearest") -> Array:
    """Entry i of an axis lies at i over its factor. The reference has no linear mode, and no factors as attributes."""
    for axis, factor in enumerate(np.asarray(scales, dtype=np.float64)):
        size = x.shape[axis]
        at = np.arange(math.floor(size * factor)) / factor
        low = np.minimum(np.floor(at).astype(int), size - 1)
        high, share = np.minimum(low + 1, size - 1), (at - low) * (mode != "nearest")
        shape = [-1 if place == axis else 1 for place in range(x.ndim)]
        x = np.take(x, low, axis) * (1.0 - share).reshape(shape) + np.take(x, high, axis) * share.reshape(shape)
    return x


def _resize(
    x: Array,
    roi: Any = None,
    scales: Any = None,
    sizes: Any = None,
    axes: Any = None,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
    **others: Any,
) -> Array:
    """Axis by axis, by weights of all old entries for every new one. The reference rounds factors that come from sizes."""
    if others.get("antialias") or others.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise NotImplementedError(f"Resize with {others}")
    given = scales if scales is not None and np.size(scales) else sizes
    for axis, number in zip(range(x.ndim) if axes is None else axes, np.asarray(given), strict=True):
        old = x.shape[axis]
        new, factor = (math.floor(old * number), number) if given is scales else (int(number), number / old)
        at = _old_places(np.arange(new), coordinate_transformation_mode, old, new, factor)
        weights = _weights(at, old, mode, nearest_mode, cubic_coeff_a, bool(exclude_outside))
        x = np.moveaxis(np.tensordot(weights, x, (1, axis)), 0, axis)
    return x


def _old_places(index: Array, transformation: str, old: int, new: int, factor: float) -> Array:
    if transformation == "align_corners":
        return index * (old - 1) / (new - 1) if new > 1 else np.zeros(new)
    if transformation == "asymmetric":
        return index / factor
    if transformation == "pytorch_half_pixel" and new == 1:
        return np.zeros(1)
    if transformation == "half_pixel_symmetric":
        return old / 2 * (1 - new / (factor * old)) + (index + 0.5) / factor - 0.5
    if transformation in ("half_pixel", "pytorch_half_pixel"):
        return (index + 0.5) / factor - 0.5
    raise NotImplementedError(f"Resize with the coordinates {transformation}")


def _weights(at: Array, old: int, mode: str, rounding: str, a: float, only_inside: bool) -> Array:
    """Shape (new size, old size)."""
    rounded = {
        "round_prefer_floor": np.ceil(at - 0.5),
        "round_prefer_ceil": np.floor(at + 0.5),
        "floor": np.floor(at),
        "ceil": np.ceil(at),
    }
    total = np.zeros((len(at), old))
    for place in range(-2, old + 2):
        gap = np.abs(at - place)
        if mode == "nearest":
            share = 1.0 * (np.clip(rounded[rounding], 0, old - 1) == place)
        elif mode == "linear":
            share = np.maximum(1.0 - gap, 0.0)
        else:
            inner = (a + 2) * gap**3 - (a + 3) * gap**2 + 1
            outer = a * gap**3 - 5 * a * gap**2 + 8 * a * gap - 4 * a
            share = np.where(gap <= 1, inner, np.where(gap < 2, outer, 0.0))
        if 0 <= place < old or not only_inside:
            total[:, min(max(place, 0), old - 1)] += share
    return total / total.sum(axis=1, keepdims=True)


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


def _conv_transpose(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    auto_pad: str = "NOTSET",
    dilations: Any = None,
    group: int = 1,
    kernel_shape: Any = None,
    output_padding: Any = None,
    output_shape: Any = None,
    pads: Any = None,
    strides: Any = None,
) -> Array:
    """Every entry adds its multiple of the kernel to the result."""
    num = x.ndim - 2
    steps, gaps, extra = (strides or [1] * num), (dilations or [1] * num), (output_padding or [0] * num)
    full = [
        (size - 1) * step + (taps - 1) * gap + 1 for size, step, taps, gap in zip(x.shape[2:], steps, weight.shape[2:], gaps, strict=True)
    ]
    parts = np.split(x, group, axis=1), np.split(weight, group, axis=0)
    total = np.zeros((x.shape[0], weight.shape[1] * group, *full))
    for place in np.ndindex(*weight.shape[2:]):
        spot = tuple(
            slice(tap * gap, tap * gap + (size - 1) * step + 1, step)
            for tap, gap, size, step in zip(place, gaps, x.shape[2:], steps, strict=True)
        )
        pieces = [np.einsum("nc...,cm->nm...", part, block[(..., *place)]) for part, block in zip(*parts, strict=True)]
        total[(slice(None), slice(None), *spot)] += np.concatenate(pieces, axis=1)
    same = auto_pad in ("SAME_UPPER", "SAME_LOWER")
    wanted = list(output_shape or [size * step for size, step in zip(x.shape[2:], steps, strict=True)]) if output_shape or same else None
    around = _trimmed(full, extra, wanted, pads, auto_pad)
    for axis, ((first, last), size, more) in enumerate(zip(around, full, extra, strict=True), start=2):
        grown = np.pad(total, [(0, more + max(-last, 0)) if index == axis else (0, 0) for index in range(total.ndim)])
        total = np.take(grown, range(first, size + more - last), axis=axis)
    return total if bias is None else total + bias.reshape(-1, *(1,) * num)


def _trimmed(full: Any, extra: Any, wanted: Any, pads: Any, auto_pad: str) -> list[tuple[int, int]]:
    """What is cut off before and behind, per axis."""
    num = len(full)
    if wanted is None:
        flat = pads if pads and auto_pad != "VALID" else [0] * (2 * num)
        return list(zip(flat[:num], flat[num:], strict=True))
    totals = [size + more - goal for size, more, goal in zip(full, extra, wanted, strict=True)]
    halves = [(total // 2, total - total // 2) for total in totals]
    return halves if auto_pad == "SAME_UPPER" else [(more, less) for less, more in halves]


# Others.


def _lrn(x: Array, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> Array:
    """The reference goes through as many channels as there are points."""
    before = (size - 1) // 2
    squares = np.pad(x * x, [(0, 0), (before, size - 1 - before), *[(0, 0)] * (x.ndim - 2)])
    sums = sliding_window_view(squares, size, axis=1).sum(axis=-1)
    value: Array = x / (bias + alpha / size * sums) ** beta
    return value


def _lp_normalization(x: Array, axis: int = -1, p: int = 2) -> Array:
    """The reference forgets signs in the sum of absolute values."""
    return x / np.linalg.norm(x, p, axis=axis, keepdims=True)


def _group_norm(x: Array, gamma: Array, beta: Array, num_groups: int, epsilon: float = 1e-5, stash_type: int = 1) -> Array:
    """The reference rounds to single precision."""
    groups = x.reshape(x.shape[0], num_groups, -1)
    centred = groups - groups.mean(axis=2, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(axis=2, keepdims=True) + epsilon)
    per_channel = [np.repeat(array, x.shape[1] // array.size).reshape(-1, *(1,) * (x.ndim - 2)) for array in (gamma, beta)]
    return scaled.reshape(x.shape) * per_channel[0] + per_channel[1]


def _softplus(x: Array) -> Array:
    """The reference overflows."""
    return np.logaddexp(0.0, x)


def _gelu(x: Array, approximate: str = "none") -> Array:
    """The reference rounds to single precision, as in `Erf` and `HardSwish`."""
    if approximate == "tanh":
        return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))
    value: Array = x * scipy.special.ndtr(x)
    return value


def _hard_swish(x: Array) -> Array:
    return x * np.clip(x / 6.0 + 0.5, 0.0, 1.0)


def _erf(x: Array) -> Array:
    value: Array = scipy.special.erf(x)
    return value


def _dropout(x: Array, *others: Any, **attributes: Any) -> tuple[Array, Array]:
    """At inference, as all models are read."""
    return x, np.ones(x.shape, dtype=bool)


def _dequantize(x: Array, scale: Array, zero: Array | None = None, axis: int = 1, block_size: int = 0, output_dtype: int = 0) -> Array:
    """The reference begins at opset 19, and rounds to single precision."""

    def spread(array: Array) -> Array:
        if block_size:
            return np.repeat(array, block_size, axis=axis)[tuple(slice(0, size) for size in x.shape)]
        return array.reshape([-1 if place == axis % x.ndim else 1 for place in range(x.ndim)]) if array.size > 1 else array.reshape(())

    offset = 0.0 if zero is None else spread(zero.astype(np.float64))
    value: Array = (x.astype(np.float64) - offset) * spread(scale)
    return value


def _linear_regressor(x: Array, coefficients: Any, intercepts: Any = None, targets: int = 1, post_transform: str = "NONE") -> Array:
    """The reference makes NaN of intercepts that are not there."""
    if post_transform != "NONE":
        raise NotImplementedError(f"LinearRegressor with the post_transform {post_transform}")
    value: Array = x @ np.reshape(coefficients, (targets, -1)).T + (0.0 if intercepts is None else np.asarray(intercepts))
    return value


def _linear_classifier(
    x: Array,
    coefficients: Any,
    intercepts: Any = None,
    classlabels_ints: Any = None,
    classlabels_strings: Any = None,
    multi_class: int = 0,
    post_transform: str = "NONE",
) -> tuple[Array, Array]:
    """The reference rounds to single precision. The labels, which nobody asks for, are places."""
    scores = x @ np.reshape(coefficients, (-1, x.shape[1])).T + (0.0 if intercepts is None else np.asarray(intercepts))
    if scores.shape[1] == 1 and max(len(classlabels_ints or ()), len(classlabels_strings or ())) == 2:
        scores = np.hstack([-scores, scores])
    kinds: dict[str, Callable[[Array], Array]] = {
        "NONE": lambda a: a,
        "LOGISTIC": scipy.special.expit,
        "SOFTMAX": lambda a: scipy.special.softmax(a, axis=1),
    }
    values = kinds[post_transform](scores)
    return values.argmax(axis=1), values


# Before version 13, 14 and 7 of the operators.


def _flat_softmax(function: Callable[..., Array]) -> Definition:
    """The axes from `axis` on count as one."""

    def run(x: Array, axis: int = 1) -> Array:
        rows = x.reshape(math.prod(x.shape[: axis % x.ndim if axis < 0 else axis]), -1)
        return function(rows, axis=1).reshape(x.shape)

    return run


def _batch_norm(x: Array, gamma: Array, beta: Array, mean: Array, variance: Array, epsilon: float = 1e-5, **training: Any) -> Array:
    """The reference takes `momentum` for a sign of training."""
    shape = (-1, *(1,) * (x.ndim - 2))
    value: Array = (x - mean.reshape(shape)) / np.sqrt(variance.reshape(shape) + epsilon) * gamma.reshape(shape) + beta.reshape(shape)
    return value


def _old_binary(function: Callable[[Array, Array], Array]) -> Definition:
    """The right value is laid along the left one from `axis` on, its last axes by default."""

    def run(left: Array, right: Array, axis: int | None = None, broadcast: int = 0) -> Array:
        if axis is not None and broadcast and right.ndim:
            right = right.reshape(right.shape + (1,) * (left.ndim - right.ndim - axis % left.ndim))
        return function(left, right)

    return run


def _old_prelu(x: Array, slope: Array) -> Array:
    """One slope per channel."""
    along = slope.reshape(-1, *(1,) * (x.ndim - 2)) if slope.size > 1 and slope.ndim == 1 else slope
    return np.where(x > 0, x, along * x)


def _old_reshape(x: Array, *sizes: Array, shape: Any = None) -> Array:
    """The shape is an attribute before opset 5."""
    wanted = [int(size) for size in (sizes[0] if sizes else shape)]
    return x.reshape([x.shape[place] if size == 0 else size for place, size in enumerate(wanted)])


_ALWAYS = 10**6
_SINCE: dict[int, dict[str, Definition]] = {
    _ALWAYS: {
        "AveragePool": _average_pool,
        "ConvTranspose": _conv_transpose,
        "DequantizeLinear": _dequantize,
        "Dropout": _dropout,
        "Erf": _erf,
        "Gelu": _gelu,
        "GlobalLpPool": _global_lp_pool,
        "GroupNormalization": _group_norm,
        "HardSwish": _hard_swish,
        "LpNormalization": _lp_normalization,
        "LpPool": _lp_pool,
        "LRN": _lrn,
        "MaxPool": _max_pool,
        "Pad": _pad,
        "Resize": _resize,
        "Softplus": _softplus,
        "Upsample": _upsample,
    },
    14: {"BatchNormalization": _batch_norm},
    13: {"LogSoftmax": _flat_softmax(scipy.special.log_softmax), "Softmax": _flat_softmax(scipy.special.softmax)},
    11: {"Scatter": _scatter},
    7: {
        "Add": _old_binary(np.add),
        "Div": _old_binary(np.divide),
        "Mul": _old_binary(np.multiply),
        "Pow": _old_binary(np.power),
        "PRelu": _old_prelu,
        "Sub": _old_binary(np.subtract),
    },
    5: {"Reshape": _old_reshape},
}
_TABLES: dict[str, Definition] = {"LinearClassifier": _linear_classifier, "LinearRegressor": _linear_regressor}
