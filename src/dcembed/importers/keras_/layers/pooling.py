"""Pooling layers of Keras."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dcembed.importers import operations as ops
from dcembed.importers.keras_.backend import keras
from dcembed.importers.keras_.handlers import Handler, Walk
from dcembed.importers.keras_.places import channels_back, channels_first, is_last, padding_of, per_axis
from dcembed.importers.operations import Value
from dcembed.network.builder import NetworkBuilder

layers = keras.layers


def pool(builder: NetworkBuilder, value: Value, kind: str, *, size: Any, strides: Any, padding: str, data_format: Any) -> Value:
    """The largest or the average entry of every window."""
    inputs = channels_first(builder, value, data_format)
    places = ops.shape_of(inputs)[2:]
    kernel = per_axis(size, len(places))
    stride = kernel if strides is None else per_axis(strides, len(places))
    pads = padding_of(padding, places, kernel, stride, [1] * len(places))
    for count, length in zip(places, kernel, strict=True):
        builder.growth.check(count * length, f"A pooling over windows of {length} places")
    if kind == "max":
        result = ops.max_pool(builder, inputs, kernel, stride=stride, padding=pads)
    elif keras.config.backend() == "torch" and any(before != after for before, after in pads):
        # There Keras repeats the entries at the edges, and counts them, where the padding is not the same on both sides.
        repeated = ops.pad(builder, inputs, [(0, 0), (0, 0), *pads], mode="replicate")
        result = ops.average_pool(builder, repeated, kernel, stride=stride, padding=[(0, 0)] * len(places))
    else:
        result = ops.average_pool(builder, inputs, kernel, stride=stride, padding=pads, count_include_pad=False)
    return channels_back(builder, result, data_format)


def pool_adaptively(builder: NetworkBuilder, value: Value, kind: str, *, size: Any, data_format: Any) -> Value:
    """The largest or the average entry of windows so that there are `size` of them along each axis."""
    inputs = channels_first(builder, value, data_format)
    sizes = per_axis(size, len(ops.shape_of(inputs)) - 2)
    take = ops.adaptive_max_pool if kind == "max" else ops.adaptive_average_pool
    return channels_back(builder, take(builder, inputs, sizes), data_format)


def pooling(kind: str) -> Handler:
    """The handler of a layer, or of an operation: both call what they do by the same names."""

    def handler(walk: Walk, layer: Any, value: Value) -> Value:
        return pool(
            walk.builder,
            value,
            kind,
            size=layer.pool_size,
            strides=layer.strides,
            padding=layer.padding,
            data_format=layer.data_format,
        )

    return handler


def adaptive_pooling(kind: str) -> Handler:
    """The handler of a layer or operation that says how many windows there are."""

    def handler(walk: Walk, layer: Any, value: Value) -> Value:
        return pool_adaptively(walk.builder, value, kind, size=layer.output_size, data_format=layer.data_format)

    return handler


def _global(reduce: Callable[..., Value]) -> Handler:
    """One number for each channel."""

    def handler(walk: Walk, layer: Any, value: Value) -> Value:
        num_axes = len(ops.shape_of(value))
        places = range(1, num_axes - 1) if is_last(layer.data_format) else range(2, num_axes)
        return reduce(walk.builder, value, tuple(places), keepdims=bool(layer.keepdims))

    return handler


def _find(pattern: str) -> list[type]:
    """The layers of one, two and three axes of places; older versions do not have all of them."""
    return [getattr(layers, name) for count in (1, 2, 3) if hasattr(layers, name := pattern.format(count))]


LAYERS: dict[type, Handler] = {
    **dict.fromkeys(_find("MaxPooling{}D"), pooling("max")),
    **dict.fromkeys(_find("AveragePooling{}D"), pooling("average")),
    **dict.fromkeys(_find("GlobalMaxPooling{}D"), _global(ops.largest_over)),
    **dict.fromkeys(_find("GlobalAveragePooling{}D"), _global(ops.mean)),
    **dict.fromkeys(_find("AdaptiveMaxPooling{}D"), adaptive_pooling("max")),
    **dict.fromkeys(_find("AdaptiveAveragePooling{}D"), adaptive_pooling("average")),
}
