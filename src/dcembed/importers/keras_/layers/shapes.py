"""Layers of Keras that move, repeat, drop and pad entries, and those that do nothing at inference."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcembed.importers import operations as ops
from dcembed.importers.keras_.backend import keras
from dcembed.importers.keras_.handlers import Handler, Walk
from dcembed.importers.keras_.places import channels_back, channels_first, is_last
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.builder import NetworkBuilder

layers = keras.layers


def resize(builder: NetworkBuilder, value: Value, sizes: Any, interpolation: str, data_format: Any) -> Value:
    """Two axes of places in new sizes, as keras.ops.image.resize has it without antialias."""
    modes = {"nearest": "nearest", "bilinear": "linear", "bicubic": "cubic"}
    if interpolation not in modes:
        raise Unsupported(f"resizes by '{interpolation}'; accepted are {', '.join(modes)}")
    inputs = channels_first(builder, value, data_format)
    new = [int(size) for size in sizes]
    return channels_back(builder, ops.resize(builder, inputs, new, mode=modes[interpolation]), data_format)


# Handlers.


def _same(walk: Walk, layer: Any, value: Value) -> Value:
    return value


def _flatten(walk: Walk, layer: Any, value: Value) -> Value:
    moved = value if is_last(layer.data_format) or len(ops.shape_of(value)) < 3 else channels_back(walk.builder, value, "channels_last")
    return ops.reshape(walk.builder, moved, (ops.shape_of(value)[0], -1))


def _reshape(walk: Walk, layer: Any, value: Value) -> Value:
    return ops.reshape(walk.builder, value, (ops.shape_of(value)[0], *layer.target_shape))


def _permute(walk: Walk, layer: Any, value: Value) -> Value:
    return ops.transpose(walk.builder, value, (0, *layer.dims))


def _repeat_vector(walk: Walk, layer: Any, value: Value) -> Value:
    return ops.rearrange(walk.builder, value, lambda a: np.repeat(a[:, None], layer.n, axis=1))


def _pads(layer: Any, amounts: Any) -> list[tuple[int, int]]:
    """A pair for every axis; layers of one axis of places have a single pair."""
    pairs = [amounts] if np.ndim(amounts) == 1 else list(amounts)
    places = [(int(before), int(after)) for before, after in pairs]
    last = is_last(layer.data_format) if hasattr(layer, "data_format") else True
    return [(0, 0), *places, (0, 0)] if last else [(0, 0), (0, 0), *places]


def _zero_padding(walk: Walk, layer: Any, value: Value) -> Value:
    return ops.pad(walk.builder, value, _pads(layer, layer.padding))


def _cropping(walk: Walk, layer: Any, value: Value) -> Value:
    cuts = _pads(layer, layer.cropping)
    if any(before + after >= size for (before, after), size in zip(cuts[1:], ops.shape_of(value)[1:], strict=True)):
        raise Unsupported(f"crops all of a value of shape {ops.shape_of(value)}")
    return ops.pad(walk.builder, value, [(-before, -after) for before, after in cuts])


def _up_sampling(walk: Walk, layer: Any, value: Value) -> Value:
    factors = [layer.size] if np.ndim(layer.size) == 0 else list(layer.size)
    last = is_last(layer.data_format) if hasattr(layer, "data_format") else True
    first = 1 if last else 2
    interpolation = getattr(layer, "interpolation", "nearest")
    if interpolation != "nearest":
        sizes = [size * factor for size, factor in zip(ops.shape_of(value)[first:], factors, strict=False)]
        return resize(walk.builder, value, sizes, interpolation, layer.data_format)
    for axis, factor in enumerate(factors, start=first):
        value = ops.repeat(walk.builder, value, int(factor), axis)
    return value


def _resizing(walk: Walk, layer: Any, value: Value) -> Value:
    for name in ("crop_to_aspect_ratio", "pad_to_aspect_ratio", "antialias"):
        if getattr(layer, name, False):
            raise Unsupported(f"{name}=True; accepted is False")
    return resize(walk.builder, value, (layer.height, layer.width), layer.interpolation, layer.data_format)


def _augmentations() -> list[type]:
    """Layers that change images in training alone; RandomCrop resizes them at inference."""
    names = [name for name in dir(layers) if name.startswith("Random") and name != "RandomCrop"]
    return [getattr(layers, name) for name in (*names, "AugMix", "CutMix", "MixUp", "RandAugment") if hasattr(layers, name)]


LAYERS: dict[type, Handler] = {
    **dict.fromkeys(_augmentations(), _same),
    **dict.fromkeys(
        (
            layers.InputLayer,
            layers.Identity,
            layers.Dropout,
            layers.AlphaDropout,
            layers.SpatialDropout1D,
            layers.SpatialDropout2D,
            layers.SpatialDropout3D,
            layers.GaussianDropout,
            layers.GaussianNoise,
            layers.ActivityRegularization,
        ),
        _same,
    ),
    layers.Flatten: _flatten,
    layers.Reshape: _reshape,
    layers.Permute: _permute,
    layers.RepeatVector: _repeat_vector,
    **dict.fromkeys((layers.ZeroPadding1D, layers.ZeroPadding2D, layers.ZeroPadding3D), _zero_padding),
    **dict.fromkeys((layers.Cropping1D, layers.Cropping2D, layers.Cropping3D), _cropping),
    **dict.fromkeys((layers.UpSampling1D, layers.UpSampling2D, layers.UpSampling3D), _up_sampling),
    layers.Resizing: _resizing,
}
