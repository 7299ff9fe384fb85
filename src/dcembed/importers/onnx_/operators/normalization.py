"""Normalization of ONNX, and softmax as it was before. Handlers take inputs by position and attributes by their ONNX names."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dcembed.importers import operations as ops
from dcembed.importers.operations import Unsupported, Value
from dcembed.importers.operations.structure import blocks
from dcembed.network.builder import NetworkBuilder, Tensor

# Defaults of ONNX are single-precision numbers.
_EPSILON = float(np.float32(1e-5))
_LRN_ALPHA = float(np.float32(1e-4))
_POSITIVE = ("exp", "sigmoid", "softplus")


def batch_norm(
    builder: NetworkBuilder,
    x: Value,
    gamma: Value,
    beta: Value,
    mean: Value,
    variance: Value,
    epsilon: float = _EPSILON,
    momentum: float = 0.9,
    training_mode: int = 0,
    spatial: int = 1,
    is_test: int = 1,
) -> Value:
    """With the statistics of training."""
    if training_mode or not spatial:
        raise Unsupported(
            "is in training mode; export the model for inference" if training_mode else "has spatial=0; one mean per channel is accepted"
        )
    return ops.batch_norm(builder, x, mean, variance, gamma, beta, epsilon)


def instance_norm(builder: NetworkBuilder, x: Value, gamma: Value, beta: Value, epsilon: float = _EPSILON) -> Value:
    """Every channel by itself."""
    return ops.group_norm(builder, x, ops.shape_of(x)[1], gamma, beta, epsilon)


def group_norm(
    builder: NetworkBuilder, x: Value, gamma: Value, beta: Value, num_groups: int, epsilon: float = _EPSILON, stash_type: int = 1
) -> Value:
    """Groups of channels; before opset 21 there is one gamma and beta per group."""
    per_group = ops.shape_of(x)[1] // num_groups
    factors = [
        np.repeat(array, per_group) if array.size == num_groups else array
        for array in (ops.as_constant(item, "a weight").reshape(-1) for item in (gamma, beta))
    ]
    return ops.group_norm(builder, x, num_groups, factors[0], factors[1], epsilon)


def layer_norm(
    builder: NetworkBuilder,
    x: Value,
    gamma: Value,
    beta: Value | None = None,
    axis: int = -1,
    epsilon: float = _EPSILON,
    stash_type: int = 1,
) -> Value:
    """Over the axes from `axis` on."""
    num = len(ops.shape_of(x))
    return ops.layer_norm(builder, x, tuple(range(axis % num, num)), gamma, beta, epsilon)


def rms_norm(builder: NetworkBuilder, x: Value, gamma: Value, axis: int = -1, epsilon: float = _EPSILON, stash_type: int = 1) -> Value:
    """x over the root of its mean square, over the axes from `axis` on."""
    num = len(ops.shape_of(x))
    return ops.rms_norm(builder, x, tuple(range(axis % num, num)), gamma, epsilon)


def local_response_norm(
    builder: NetworkBuilder, x: Value, size: int, alpha: float = _LRN_ALPHA, beta: float = 0.75, bias: float = 1.0
) -> Value:
    """x over a power of the sum of squares of the channels around; of an even number of them one more lies behind than before."""
    if size < 1 or size > 2 * ops.shape_of(x)[1]:
        raise Unsupported(f"goes over {size} channels of {ops.shape_of(x)[1]}")
    turned = ops.rearrange(builder, x, lambda a: np.flip(a, 1)) if size % 2 == 0 else x
    result = ops.local_response_norm(builder, turned, size, alpha, beta, bias)
    return ops.rearrange(builder, result, lambda a: np.flip(a, 1)) if size % 2 == 0 else result


def lp_norm(builder: NetworkBuilder, x: Value, axis: int = -1, p: int = 2) -> Value:
    """x over the sum of its absolute values, where that is never zero."""
    return over_norm(builder, x, p, axis)


def over_norm(builder: NetworkBuilder, x: Value, order: float, axis: int) -> Value:
    """A value over its norm: over its sum, for positive values such as probabilities; all else jumps where it is zero."""
    if order != 1 or not is_positive(builder, x):
        raise Unsupported(
            "divides by a norm that can be zero, and jumps there; only continuous functions can be embedded. Scale the columns instead, or use "
            "layer normalization, which adds a small number to the norm"
        )
    return ops.divide(builder, x, ops.total(builder, x, axis, keepdims=True))


def is_positive(builder: NetworkBuilder, x: Value, others: tuple[str, ...] = ()) -> bool:
    """Whether all entries are sums of units that are positive everywhere, or of others."""
    if not isinstance(x, Tensor):
        return bool((np.asarray(x) > 0).all())
    units = {source: builder.stage(source)[1].name if source else "" for source in blocks(x.affine)}
    sums = all(kind in (*_POSITIVE, *others) and blocks(x.affine)[source].data.min() > 0 for source, kind in units.items())
    return sums and bool((x.affine.bias >= 0).all())


def flat(along_last: Callable[..., Value]) -> Callable[..., Value]:
    """Softmax before opset 13: the axes from `axis` on count as one."""

    def handler(builder: NetworkBuilder, x: Value, axis: int = 1) -> Value:
        shape = ops.shape_of(x)
        rows = math.prod(shape[: axis % len(shape) if axis < 0 else axis])
        return ops.reshape(builder, along_last(builder, ops.reshape(builder, x, (rows, -1))), shape)

    return handler
