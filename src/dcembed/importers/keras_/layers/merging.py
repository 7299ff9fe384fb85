"""Layers of Keras with several inputs, and those that run another layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dcembed.importers import operations as ops
from dcembed.importers.keras_.backend import keras
from dcembed.importers.keras_.handlers import Handler, Walk
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.builder import NetworkBuilder

layers = keras.layers


def _merge(operation: Callable[[NetworkBuilder, Value, Value], Value]) -> Handler:
    """A merging layer: its inputs come as one list. Missing axes are put in behind the batch axis, as Keras does."""

    def handler(walk: Walk, layer: Any, values: Sequence[Value]) -> Value:
        num_axes = max(len(ops.shape_of(value)) for value in values)
        result, *others = [_with_axes(walk.builder, value, num_axes) for value in values]
        for value in others:
            result = operation(walk.builder, result, value)
        return result

    return handler


def _with_axes(builder: NetworkBuilder, value: Value, num_axes: int) -> Value:
    shape = ops.shape_of(value)
    return ops.reshape(builder, value, (shape[0], *[1] * (num_axes - len(shape)), *shape[1:]))


def _subtract(walk: Walk, layer: Any, values: Sequence[Value]) -> Value:
    left, right = values
    return ops.subtract(walk.builder, left, right)


def _average(walk: Walk, layer: Any, values: Sequence[Value]) -> Value:
    return ops.scale(walk.builder, _merge(ops.add)(walk, layer, values), 1.0 / len(values))


def _concatenate(walk: Walk, layer: Any, values: Sequence[Value]) -> Value:
    if layer.axis % len(ops.shape_of(values[0])) == 0:
        raise Unsupported("joins along the batch axis; it can join along the others")
    return ops.concat(walk.builder, values, layer.axis)


def _time_distributed(walk: Walk, layer: Any, value: Value) -> Value:
    """Time steps are points of a batch to the layer inside."""
    batch, steps, *rest = ops.shape_of(value)
    result = walk.run(layer.layer, ops.reshape(walk.builder, value, (batch * steps, *rest)))
    return ops.reshape(walk.builder, result, (batch, steps, *ops.shape_of(result)[1:]))


def _wrapper(walk: Walk, layer: Any, value: Value) -> Value:
    """At inference the layer inside is run with the weights that training has left."""
    result: Value = walk.run(layer.layer, value)
    return result


LAYERS: dict[type, Handler] = {
    layers.Add: _merge(ops.add),
    layers.Subtract: _subtract,
    layers.Multiply: _merge(ops.multiply),
    layers.Average: _average,
    layers.Maximum: _merge(ops.maximum),
    layers.Minimum: _merge(ops.minimum),
    layers.Concatenate: _concatenate,
    layers.TimeDistributed: _time_distributed,
    layers.SpectralNormalization: _wrapper,
}
