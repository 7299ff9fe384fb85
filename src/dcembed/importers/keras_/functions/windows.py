"""Operations of keras.ops over windows: convolutions, pooling, resizing, blocks of places."""

from __future__ import annotations

from typing import Any

from dcembed.importers import operations as ops
from dcembed.importers.keras_.handlers import Handler, Walk
from dcembed.importers.keras_.layers.convolutions import convolve, convolve_depthwise, convolve_separably, convolve_transposed, how
from dcembed.importers.keras_.layers.pooling import adaptive_pooling, pooling
from dcembed.importers.keras_.layers.shapes import resize
from dcembed.importers.keras_.places import channels_back, channels_first, is_last
from dcembed.importers.operations import Unsupported, Value


def _conv(walk: Walk, operation: Any, value: Value, kernel: Any) -> Value:
    return convolve(walk.builder, value, ops.as_constant(kernel, "the kernel"), None, **how(operation))


def _depthwise(walk: Walk, operation: Any, value: Value, kernel: Any) -> Value:
    return convolve_depthwise(walk.builder, value, ops.as_constant(kernel, "the kernel"), None, **how(operation))


def _separable(walk: Walk, operation: Any, value: Value, depthwise: Any, pointwise: Any) -> Value:
    first, second = (ops.as_constant(kernel, "the kernel") for kernel in (depthwise, pointwise))
    return convolve_separably(walk.builder, value, first, second, None, **how(operation))


def _transposed(walk: Walk, operation: Any, value: Value, kernel: Any) -> Value:
    weight = ops.as_constant(kernel, "the kernel")
    return convolve_transposed(walk.builder, value, weight, None, output_padding=operation.output_padding, **how(operation))


def _resize(walk: Walk, operation: Any, value: Value) -> Value:
    for name in ("crop_to_aspect_ratio", "pad_to_aspect_ratio", "antialias"):
        if getattr(operation, name, False):
            raise Unsupported(f"{name}=True; accepted is False")
    return resize(walk.builder, value, operation.size, operation.interpolation, operation.data_format)


def _blocks(is_back: bool) -> Handler:
    """Blocks of places as channels, and back; Keras counts the places of a block before the channels."""

    def handler(walk: Walk, operation: Any, value: Value) -> Value:
        inputs = channels_first(walk.builder, value, operation.data_format)
        change = ops.pixel_shuffle if is_back else ops.pixel_unshuffle
        result = change(walk.builder, inputs, operation.block_size, by_channel=not is_last(operation.data_format))
        return channels_back(walk.builder, result, operation.data_format)

    return handler


WINDOWS: dict[str, Handler] = {
    "nn.Conv": _conv,
    "nn.DepthwiseConv": _depthwise,
    "nn.SeparableConv": _separable,
    "nn.ConvTranspose": _transposed,
    "nn.MaxPool": pooling("max"),
    "nn.AveragePool": pooling("average"),
    "nn.AdaptiveMaxPool": adaptive_pooling("max"),
    "nn.AdaptiveAveragePool": adaptive_pooling("average"),
    "nn.DepthToSpace": _blocks(is_back=True),
    "nn.SpaceToDepth": _blocks(is_back=False),
    "image.Resize": _resize,
}
