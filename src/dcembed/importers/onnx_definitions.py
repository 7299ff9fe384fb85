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
    return [*(_define(name, function) for name, function in named.items()), _define("LinearClassifier", _linear_classifier, "ai.onnx.ml")]


def _define(name: str, function: Definition, domain: str = "") -> type[OpRun]:
    def run(self: Any, *inputs: Any, **attributes: Any) -> tuple[Any, ...]:
        result = function(*inputs, **attributes)
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


def _inner(x: Array) -> tuple[int, ...]:
    return tuple(range(-(x.ndim - 2), 0))


def _cut(x: Array, windows: Windows, fill: float) -> Array:
    """The entries of every window, its axes behind those of the value."""
    needed = [(count - 1) * stride + extent for count, stride, extent in zip(windows.counts, windows.strides, windows.extents, strict=True)]
    around = [(first, max(last, reach - size - first)) for (first, last), reach, size in zip(windows.pads, needed, x.shape[2:], strict=True)]
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
    full = [(size - 1) * step + (taps - 1) * gap + 1 for size, step, taps, gap in zip(x.shape[2:], steps, weight.shape[2:], gaps, strict=True)]
    parts = np.split(x, group, axis=1), np.split(weight, group, axis=0)
    total = np.zeros((x.shape[0], weight.shape[1] * group, *full))
    for place in np.ndindex(*weight.shape[2:]):
        spot = tuple(slice(tap * gap, tap * gap + (size - 1) * step + 1, step) for tap, gap, size, step in zip(place, gaps, x.shape[2:], steps, strict=True))
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


def _softplus(x: Array) -> Array:
    """The reference overflows."""
    return np.logaddexp(0.0, x)


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


def _batch_norm(
    x: Array, gamma: Array, beta: Array, mean: Array, variance: Array, epsilon: float = 1e-5, **training: Any
) -> Array:
    """The reference takes `momentum` for a sign of training."""
    shape = (-1, *(1,) * (x.ndim - 2))
    value: Array = (x - mean.reshape(shape)) / np.sqrt(variance.reshape(shape) + epsilon) * gamma.reshape(shape) + beta.reshape(shape)
    return value


def _old_binary(function: Callable[[Array, Array], Array]) -> Definition:
    """The right value is laid along the left one from `axis` on, its last axes by default."""

    def run(left: Array, right: Array, axis: int | None = None, broadcast: int = 0, consumed_inputs: Any = None) -> Array:
        if axis is not None and broadcast and right.ndim:
            right = right.reshape(right.shape + (1,) * (left.ndim - right.ndim - axis % left.ndim))
        return function(left, right)

    return run


def _old_prelu(x: Array, slope: Array, consumed_inputs: Any = None) -> Array:
    """One slope per channel."""
    along = slope.reshape(-1, *(1,) * (x.ndim - 2)) if slope.size > 1 and slope.ndim == 1 else slope
    return np.where(x > 0, x, along * x)


def _old_unary(function: Callable[[Array], Array]) -> Definition:
    def run(x: Array, consumed_inputs: Any = None) -> Array:
        return function(x)

    return run


_ALWAYS = 10**6
_SINCE: dict[int, dict[str, Definition]] = {
    _ALWAYS: {
        "AveragePool": _average_pool,
        "ConvTranspose": _conv_transpose,
        "DequantizeLinear": _dequantize,
        "Dropout": _dropout,
        "LpPool": _lp_pool,
        "LRN": _lrn,
        "MaxPool": _max_pool,
        "Softplus": _softplus,
    },
    14: {"BatchNormalization": _batch_norm},
    13: {"LogSoftmax": _flat_softmax(scipy.special.log_softmax), "Softmax": _flat_softmax(scipy.special.softmax)},
    7: {
        "Add": _old_binary(np.add),
        "Div": _old_binary(np.divide),
        "Mul": _old_binary(np.multiply),
        "Pow": _old_binary(np.power),
        "PRelu": _old_prelu,
        "Sub": _old_binary(np.subtract),
    },
    6: {
        "Abs": _old_unary(np.abs),
        "Exp": _old_unary(np.exp),
        "Log": _old_unary(np.log),
        "Neg": _old_unary(np.negative),
        "Reciprocal": _old_unary(np.reciprocal),
        "Relu": _old_unary(lambda x: np.maximum(x, 0.0)),
        "Sigmoid": _old_unary(scipy.special.expit),
        "Sqrt": _old_unary(np.sqrt),
        "Tanh": _old_unary(np.tanh),
    },
}
