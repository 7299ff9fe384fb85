"""Normalization: with the statistics of training it is affine, with those of the value itself a product of two computed values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.errors import NetworkError
from dcembed.importers.operations.arithmetic import add, multiply, subtract
from dcembed.importers.operations.powers import power, square
from dcembed.importers.operations.rearranging import reshape
from dcembed.importers.operations.reductions import Axes, mean
from dcembed.importers.operations.units import activate
from dcembed.importers.operations.values import Unsupported, Value, along_axis, as_constant, map_last_axes, rearrange, shape_of
from dcembed.network.activations import smooth
from dcembed.network.builder import NetworkBuilder


def batch_norm(
    builder: NetworkBuilder, value: Value, mean: Any, variance: Any, gamma: Any, beta: Any, epsilon: float, axis: int = 1
) -> Value:
    """Batch normalization at inference: gamma * (value - mean) / sqrt(variance + epsilon) + beta, a scale and a shift per channel.

    `gamma` and `beta` may be None (one and zero).
    """
    shape = shape_of(value)
    if axis >= len(shape) or np.size(mean) != shape[axis]:
        raise NetworkError(f"A batch normalization of {np.size(mean)} channels along axis {axis} does not fit a value of shape {shape}.")
    factor = (1.0 if gamma is None else as_constant(gamma, "gamma")) / np.sqrt(as_constant(variance, "the variance") + epsilon)
    amount = (0.0 if beta is None else as_constant(beta, "beta")) - as_constant(mean, "the mean") * factor
    return add(builder, multiply(builder, value, along_axis(factor, axis, len(shape))), along_axis(amount, axis, len(shape)))


def layer_norm(builder: NetworkBuilder, value: Value, axes: Axes, gamma: Any, beta: Any, epsilon: float) -> Value:
    """(value - mean) / sqrt(variance + epsilon) over `axes`, times gamma plus beta, which broadcast against the value or are None."""
    centred = subtract(builder, value, mean(builder, value, axes, keepdims=True))
    return _scale_and_shift(builder, _divide_by_size(builder, centred, axes, epsilon), gamma, beta)


def rms_norm(builder: NetworkBuilder, value: Value, axes: Axes, gamma: Any, epsilon: float) -> Value:
    """value / sqrt(mean(value^2) + epsilon) over `axes`, times gamma."""
    return _scale_and_shift(builder, _divide_by_size(builder, value, axes, epsilon), gamma, None)


def group_norm(builder: NetworkBuilder, value: Value, num_groups: int, gamma: Any, beta: Any, epsilon: float) -> Value:
    """Layer normalization of groups of channels (axis 1), with one gamma and beta per channel; as many groups as channels normalize instances."""
    shape = shape_of(value)
    if shape[1] % num_groups:
        raise Unsupported(f"divides {shape[1]} channels into {num_groups} groups")
    size = math.prod(shape[1:]) // num_groups
    grouped = layer_norm(builder, reshape(builder, value, (shape[0], num_groups, size)), 2, None, None, epsilon)
    factors = [None if item is None else along_axis(as_constant(item, "a weight"), 1, len(shape)) for item in (gamma, beta)]
    return _scale_and_shift(builder, reshape(builder, grouped, shape), *factors)


def local_response_norm(builder: NetworkBuilder, value: Value, size: int, alpha: float, beta: float, k: float) -> Value:
    """value / (k + alpha / size * sum of squares of the channels around)^beta; `size` channels, more of them after than before."""
    if k <= 0 or alpha < 0:
        raise Unsupported(f"has k={k:g} and alpha={alpha:g}; a positive and a nonnegative number are accepted")
    channels = shape_of(value)[1]
    before, after = size // 2, (size - 1) // 2
    offsets = np.arange(-before, after + 1)
    near = sp.diags_array(
        [np.full(channels - abs(offset), alpha / size) for offset in offsets if abs(offset) < channels],
        offsets=[int(offset) for offset in offsets if abs(offset) < channels],
        shape=(channels, channels),
        format="csr",
    )
    moved = rearrange(builder, square(builder, value), lambda a: np.moveaxis(a, 1, -1))
    sums = rearrange(builder, map_last_axes(builder, moved, [near]), lambda a: np.moveaxis(a, -1, 1))
    return multiply(builder, value, power(builder, add(builder, sums, np.asarray(k)), -beta))


def _divide_by_size(builder: NetworkBuilder, value: Value, axes: Axes, epsilon: float) -> Value:
    sizes = add(builder, mean(builder, square(builder, value), axes, keepdims=True), np.asarray(epsilon))
    if epsilon <= 0:
        raise Unsupported("divides by a root without an epsilon, which is not defined where all entries are equal; give it a positive one")
    return multiply(builder, value, activate(builder, sizes, smooth.power(-0.5, epsilon)))


def _scale_and_shift(builder: NetworkBuilder, value: Value, gamma: Any, beta: Any) -> Value:
    scaled = value if gamma is None else multiply(builder, value, as_constant(gamma, "gamma"))
    return scaled if beta is None else add(builder, scaled, as_constant(beta, "beta"))
