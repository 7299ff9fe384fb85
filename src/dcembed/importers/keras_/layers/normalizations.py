"""Normalization layers of Keras: with the statistics of training, or with those of the value itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcembed.importers import operations as ops
from dcembed.importers.keras_.backend import as_array, keras
from dcembed.importers.keras_.handlers import Handler, Walk
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.builder import NetworkBuilder

layers = keras.layers


def normalize(builder: NetworkBuilder, value: Value, axis: Any, order: float, epsilon: float | None) -> Value:
    """value / max(norm, epsilon) over `axis`, as keras.ops.normalize has it."""
    raise_to = float(order)
    least = keras.config.epsilon() if epsilon is None else float(epsilon)
    if raise_to != 2.0:
        size = ops.clip(builder, ops.norm(builder, value, raise_to, axis, keepdims=True), least, None)
        return ops.divide(builder, value, size)
    # Below epsilon^2 the sum of squares counts for epsilon^2.
    sums = ops.clip(builder, ops.sum_of_squares(builder, value, axis, keepdims=True), least**2, None)
    return ops.multiply(builder, value, ops.rsqrt(builder, sums))


# Handlers.


def _weight(layer: Any, name: str, is_used: bool) -> Any:
    weight = getattr(layer, name, None)
    return as_array(weight) if is_used and weight is not None else None


def _batch_norm(walk: Walk, layer: Any, value: Value) -> Value:
    gamma, beta = _weight(layer, "gamma", layer.scale), _weight(layer, "beta", layer.center)
    axis = layer.axis % len(ops.shape_of(value))
    mean, variance = as_array(layer.moving_mean), as_array(layer.moving_variance)
    return ops.batch_norm(walk.builder, value, mean, variance, gamma, beta, layer.epsilon, axis)


def _layer_norm(walk: Walk, layer: Any, value: Value) -> Value:
    shape = ops.shape_of(value)
    axes = ops.as_axes(layer.axis, len(shape))
    spread = tuple(size if axis in axes else 1 for axis, size in enumerate(shape))
    weights = [_weight(layer, name, is_used) for name, is_used in (("gamma", layer.scale), ("beta", layer.center))]
    gamma, beta = (None if weight is None else weight.reshape(spread) for weight in weights)
    if getattr(layer, "rms_scaling", False):
        return _rms_scaling(walk.builder, value, axes, _weight(layer, "gamma", True).reshape(spread), layer.epsilon)
    return ops.layer_norm(walk.builder, value, axes, gamma, beta, layer.epsilon)


def _rms_scaling(builder: NetworkBuilder, value: Value, axes: Any, gamma: Any, epsilon: float) -> Value:
    """With rms_scaling the value is divided by its standard deviation, but its mean is not taken off."""
    spread = ops.add(builder, ops.variance(builder, value, axes, keepdims=True), np.asarray(epsilon))
    return ops.multiply(builder, ops.multiply(builder, value, ops.rsqrt(builder, spread)), gamma)


def _rms_norm(walk: Walk, layer: Any, value: Value) -> Value:
    shape = ops.shape_of(value)
    axes = ops.as_axes(layer.axis, len(shape))
    spread = tuple(size if axis in axes else 1 for axis, size in enumerate(shape))
    return ops.rms_norm(walk.builder, value, axes, as_array(layer.scale).reshape(spread), layer.epsilon)


def _group_norm(walk: Walk, layer: Any, value: Value) -> Value:
    gamma, beta = _weight(layer, "gamma", layer.scale), _weight(layer, "beta", layer.center)
    axis = layer.axis % len(ops.shape_of(value))
    first = ops.rearrange(walk.builder, value, lambda a: np.moveaxis(a, axis, 1))
    groups = ops.shape_of(first)[1] if layer.groups == -1 else layer.groups
    result = ops.group_norm(walk.builder, first, groups, gamma, beta, layer.epsilon)
    return ops.rearrange(walk.builder, result, lambda a: np.moveaxis(a, 1, axis))


def _unit_norm(walk: Walk, layer: Any, value: Value) -> Value:
    return normalize(walk.builder, value, layer.axis, 2, 1e-12)


def _normalization(walk: Walk, layer: Any, value: Value) -> Value:
    if getattr(layer, "mean", None) is None:
        raise Unsupported("is not adapted; call its adapt() on data, or pass mean and variance")
    mean, spread = as_array(layer.mean), np.maximum(np.sqrt(as_array(layer.variance)), keras.config.epsilon())
    if layer.invert:
        return ops.add(walk.builder, ops.multiply(walk.builder, value, spread), mean)
    return ops.divide(walk.builder, ops.subtract(walk.builder, value, mean), spread)


def _rescaling(walk: Walk, layer: Any, value: Value) -> Value:
    scale, offset = (np.asarray(number, dtype=np.float64) for number in (layer.scale, layer.offset))
    if scale.ndim and keras.config.image_data_format() == "channels_first":
        scale = scale.reshape(*scale.shape, *[1] * (3 - scale.ndim))
    return ops.add(walk.builder, ops.multiply(walk.builder, value, scale), offset)


LAYERS: dict[type, Handler] = {
    layers.BatchNormalization: _batch_norm,
    layers.LayerNormalization: _layer_norm,
    layers.GroupNormalization: _group_norm,
    layers.UnitNormalization: _unit_norm,
    layers.Normalization: _normalization,
    layers.Rescaling: _rescaling,
    **({layers.RMSNormalization: _rms_norm} if hasattr(layers, "RMSNormalization") else {}),
}
