"""Operations of keras.ops that join entries: sums and other reductions, products of matrices, attention, normalization."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dcembed.importers import operations as ops
from dcembed.importers.keras_.backend import keras
from dcembed.importers.keras_.handlers import Handler, Walk, of_two
from dcembed.importers.keras_.layers.normalizations import normalize
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.builder import NetworkBuilder


def _reduce(function: Callable[..., Value]) -> Handler:
    return lambda walk, operation, value: function(walk.builder, value, operation.axis, keepdims=bool(operation.keepdims))


def _extreme(function: Callable[..., Value], pairwise: Callable[..., Value]) -> Handler:
    def handler(walk: Walk, operation: Any, value: Value) -> Value:
        result = function(walk.builder, value, operation.axis, keepdims=bool(operation.keepdims))
        initial = getattr(operation, "initial", None)
        return result if initial is None else pairwise(walk.builder, result, np.asarray(float(initial)))

    return handler


def _std(builder: NetworkBuilder, value: Value, axes: Any = None, keepdims: bool = False) -> Value:
    return ops.sqrt(builder, ops.variance(builder, value, axes, keepdims))


def _average(walk: Walk, operation: Any, value: Value, weights: Any = None) -> Value:
    if weights is None:
        return ops.mean(walk.builder, value, operation.axis)
    shares = ops.as_constant(weights, "weights")
    num_axes = len(ops.shape_of(value))
    if shares.ndim == 1 and num_axes > 1 and operation.axis is not None:
        shares = ops.along_axis(shares, operation.axis % num_axes, num_axes)
    weighted = ops.total(walk.builder, ops.multiply(walk.builder, value, shares), operation.axis)
    return ops.divide(walk.builder, weighted, np.broadcast_to(shares, ops.shape_of(value)).sum(axis=operation.axis))


def _moments(walk: Walk, operation: Any, value: Value) -> tuple[Value, Value]:
    axes, keepdims = operation.axes, bool(operation.keepdims)
    return ops.mean(walk.builder, value, axes, keepdims), ops.variance(walk.builder, value, axes, keepdims)


def _norm(walk: Walk, operation: Any, value: Value) -> Value:
    """Of vectors: of all entries where no axis is given."""
    order = 2.0 if operation.ord in (None, "fro") else operation.ord
    several = operation.axis is not None and np.ndim(operation.axis) > 0 and len(operation.axis) > 1
    if isinstance(order, str) or (several and operation.ord not in (None, "fro")):
        raise Unsupported(f"takes the norm ord={operation.ord!r} of matrices; accepted are norms of vectors and the Frobenius norm")
    return ops.norm(walk.builder, value, float(order), operation.axis, bool(operation.keepdims))


def _einsum(walk: Walk, operation: Any, *values: Value) -> Value:
    return ops.einsum(walk.builder, operation.subscripts, *values)


def _dot(walk: Walk, operation: Any, left: Value, right: Value) -> Value:
    """As numpy: over the last axis of the left and the last but one of the right."""
    shapes = [len(ops.shape_of(value)) for value in (left, right)]
    if 0 in shapes:
        return ops.multiply(walk.builder, left, right)
    return _tensordot_over(walk.builder, left, right, [shapes[0] - 1], [max(shapes[1] - 2, 0)])


def _tensordot(walk: Walk, operation: Any, left: Value, right: Value) -> Value:
    sizes = [len(ops.shape_of(value)) for value in (left, right)]
    if np.ndim(operation.axes) == 0:
        count = int(operation.axes)
        return _tensordot_over(walk.builder, left, right, list(range(sizes[0] - count, sizes[0])), list(range(count)))
    pairs = [[axes] if np.ndim(axes) == 0 else list(axes) for axes in operation.axes]
    first, second = ([axis % size for axis in axes] for axes, size in zip(pairs, sizes, strict=True))
    return _tensordot_over(walk.builder, left, right, first, second)


def _tensordot_over(builder: NetworkBuilder, left: Value, right: Value, first: Sequence[int], second: Sequence[int]) -> Value:
    letters = "abcdefghijklmnopqrstuvwxyz"
    one = list(letters[: len(ops.shape_of(left))])
    other = list(letters[len(one) : len(one) + len(ops.shape_of(right))])
    for mine, theirs in zip(first, second, strict=True):
        other[theirs] = one[mine]
    kept = [letter for axis, letter in enumerate(one) if axis not in first] + [x for axis, x in enumerate(other) if axis not in second]
    return ops.einsum(builder, f"{''.join(one)},{''.join(other)}->{''.join(kept)}", left, right)


def _outer(builder: NetworkBuilder, left: Value, right: Value) -> Value:
    return ops.einsum(builder, "a,b->ab", ops.reshape(builder, left, (-1,)), ops.reshape(builder, right, (-1,)))


def _batch_norm(walk: Walk, operation: Any, value: Value, mean: Any, variance: Any, offset: Any = None, scale: Any = None) -> Value:
    axis = operation.axis % len(ops.shape_of(value))
    return ops.batch_norm(walk.builder, value, mean, variance, scale, offset, operation.epsilon, axis)


def _layer_norm(walk: Walk, operation: Any, value: Value, gamma: Any = None, beta: Any = None) -> Value:
    if getattr(operation, "rms_scaling", False):
        raise Unsupported("rms_scaling=True; use keras.ops.rms_normalization")
    axes = ops.as_axes(operation.axis, len(ops.shape_of(value)))
    factor, amount = (None if weight is None else _along(value, axes, weight) for weight in (gamma, beta))
    return ops.layer_norm(walk.builder, value, axes, factor, amount, _epsilon(operation))


def _rms_norm(walk: Walk, operation: Any, value: Value, scale: Any = None) -> Value:
    axes = ops.as_axes(operation.axis, len(ops.shape_of(value)))
    return ops.rms_norm(walk.builder, value, axes, None if scale is None else _along(value, axes, scale), _epsilon(operation))


def _along(value: Value, axes: Sequence[int], weight: Any) -> Any:
    spread = [size if axis in axes else 1 for axis, size in enumerate(ops.shape_of(value))]
    return ops.as_constant(weight, "a weight").reshape(spread)


def _epsilon(operation: Any) -> float:
    return float(keras.config.epsilon() if operation.epsilon is None else operation.epsilon)


def _normalize(walk: Walk, operation: Any, value: Value) -> Value:
    return normalize(walk.builder, value, operation.axis, operation.order, operation.epsilon)


def _attention(
    walk: Walk, operation: Any, query: Value, key: Value, value: Value, bias: Any = None, mask: Any = None, scale: Any = None
) -> Value:
    """softmax(scale * query @ key + bias) @ value for each head; shapes are (batch, steps, heads, size)."""
    if getattr(operation, "attn_logits_soft_cap", None) is not None:
        raise Unsupported("attn_logits_soft_cap is set; leave it out")
    builder = walk.builder
    heads, size = ops.shape_of(query)[2:]
    key, value = (ops.repeat(builder, item, heads // ops.shape_of(item)[2], 2) for item in (key, value))
    products = ops.einsum(builder, "bthd,bshd->bhts", query, key)
    scores = ops.multiply(builder, products, np.asarray(1.0 / np.sqrt(size) if scale is None else float(scale)))
    if bias is not None:
        scores = ops.add(builder, scores, bias)
    allowed = _mask(mask, operation.is_causal, ops.shape_of(scores))
    if allowed is not None:
        scores = ops.where(builder, allowed, scores, np.asarray(-np.inf))
    return ops.einsum(builder, "bhts,bshd->bthd", ops.softmax(builder, scores, -1), value)


def _mask(mask: Any, is_causal: bool, shape: Sequence[int]) -> Any:
    """Which scores count; None for all of them."""
    if mask is None and not is_causal:
        return None
    allowed = np.ones(tuple(shape), dtype=bool) if mask is None else np.broadcast_to(ops.as_constant(mask, "the mask") != 0, tuple(shape))
    return allowed & np.tri(shape[-2], shape[-1], dtype=bool) if is_causal else allowed


REDUCTIONS: dict[str, Handler] = {
    "numpy.Sum": _reduce(ops.total),
    "numpy.Mean": _reduce(ops.mean),
    "numpy.Average": _average,
    "numpy.Prod": _reduce(ops.product_over),
    "numpy.Max": _extreme(ops.largest_over, ops.maximum),
    "numpy.Amax": _extreme(ops.largest_over, ops.maximum),
    "numpy.Min": _extreme(ops.smallest_over, ops.minimum),
    "numpy.Amin": _extreme(ops.smallest_over, ops.minimum),
    "numpy.Var": _reduce(ops.variance),
    "numpy.Std": _reduce(_std),
    "math.Logsumexp": _reduce(ops.log_sum_exp),
    "linalg.Norm": _norm,
    "nn.Moments": _moments,
}

PRODUCTS: dict[str, Handler] = {
    "numpy.Matmul": of_two(ops.matmul),
    "numpy.Dot": _dot,
    "numpy.Vdot": of_two(lambda builder, left, right: ops.total(builder, ops.multiply(builder, left, right))),
    "numpy.Tensordot": _tensordot,
    "numpy.Outer": of_two(_outer),
    "numpy.Einsum": _einsum,
    "nn.DotProductAttention": _attention,
    "nn.BatchNorm": _batch_norm,
    "nn.LayerNorm": _layer_norm,
    "nn.RMSNorm": _rms_norm,
    "nn.Normalize": _normalize,
}
