"""Convolutions of Keras. Kernels have the shape (places..., inputs, outputs), those of transposed ones (places..., outputs, inputs)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.importers import operations as ops
from dcembed.importers.keras_.backend import as_array, keras
from dcembed.importers.keras_.handlers import Handler, Walk
from dcembed.importers.keras_.layers.activations import refuse_activation
from dcembed.importers.keras_.layers.dense import refuse_quantized
from dcembed.importers.keras_.places import channels_back, channels_first, padding_of, per_axis
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.builder import NetworkBuilder

layers = keras.layers


def convolve(
    builder: NetworkBuilder, value: Value, kernel: Array, bias: Array | None, *, strides: Any, padding: str, dilation: Any, data_format: Any
) -> Value:
    """A convolution; the number of groups follows from the channels of the kernel."""
    inputs = channels_first(builder, value, data_format)
    channels, sizes = ops.shape_of(inputs)[1], ops.shape_of(inputs)[2:]
    stride, steps = per_axis(strides, len(sizes)), per_axis(dilation, len(sizes))
    if channels % kernel.shape[-2]:
        raise Unsupported(f"has a kernel for {kernel.shape[-2]} channels, received {channels}")
    result = ops.convolve(
        builder,
        inputs,
        np.moveaxis(kernel, (-1, -2), (0, 1)),
        bias,
        stride=stride,
        padding=padding_of(padding, sizes, kernel.shape[:-2], stride, steps),
        dilation=steps,
        groups=channels // kernel.shape[-2],
    )
    return channels_back(builder, result, data_format)


def convolve_depthwise(builder: NetworkBuilder, value: Value, kernel: Array, bias: Array | None, **windows: Any) -> Value:
    """Every channel by itself; the kernel has shape (places..., channels, multiples)."""
    grouped = kernel.reshape(*kernel.shape[:-2], 1, kernel.shape[-2] * kernel.shape[-1])
    return convolve(builder, value, grouped, bias, **windows)


def convolve_separably(
    builder: NetworkBuilder, value: Value, depthwise: Array, pointwise: Array, bias: Array | None, **windows: Any
) -> Value:
    """Every channel by itself, then all channels of each place together."""
    alone = convolve_depthwise(builder, value, depthwise, None, **windows)
    return convolve(builder, alone, pointwise, bias, strides=1, padding="valid", dilation=1, data_format=windows["data_format"])


def convolve_transposed(
    builder: NetworkBuilder,
    value: Value,
    kernel: Array,
    bias: Array | None,
    *,
    strides: Any,
    padding: str,
    output_padding: Any,
    dilation: Any,
    data_format: Any,
) -> Value:
    """The transpose of a convolution. What is cut off may be negative: then zeros are added."""
    inputs = channels_first(builder, value, data_format)
    num_axes = len(ops.shape_of(inputs)) - 2
    stride, steps = per_axis(strides, num_axes), per_axis(dilation, num_axes)
    more = [None] * num_axes if output_padding is None else per_axis(output_padding, num_axes)
    cuts = [_cut(padding, *axis) for axis in zip(kernel.shape[:-2], stride, steps, more, strict=True)]
    whole = ops.convolve_transposed(
        builder,
        inputs,
        np.moveaxis(kernel, (-1, -2), (0, 1)),
        None,
        stride=stride,
        padding=[(0, 0)] * num_axes,
        output_padding=[0] * num_axes,
        dilation=steps,
    )
    result = ops.pad(builder, whole, [(0, 0), (0, 0), *((-before, -after) for before, after in cuts)])
    if bias is not None:
        result = ops.add(builder, result, ops.along_axis(bias, 1, num_axes + 2))
    return channels_back(builder, result, data_format)


def _cut(padding: str, length: int, stride: int, dilation: int, more: int | None) -> tuple[int, int]:
    """What is left out before and after the (n - 1) stride + reach + 1 places that n entries reach."""
    reach = (length - 1) * dilation
    if padding == "valid":
        return 0, -(max(stride - reach - 1, 0) if more is None else more)
    if padding != "same":
        raise Unsupported(f"padding='{padding}'; accepted are valid and same")
    # So many places remain beside the (n - 1) stride of the entries themselves.
    kept = stride - 1 if more is None else (reach + 1) % 2 - 1 + more
    total = reach - kept
    before = max(reach - (reach + kept + 1) // 2, 0)
    return before, total - before


# Handlers.


def _bias(layer: Any) -> Array | None:
    return as_array(layer.bias) if layer.use_bias else None


def how(layer: Any) -> dict[str, Any]:
    """Where the windows of a layer or operation lie: both call it by the same names."""
    return {"strides": layer.strides, "padding": layer.padding, "dilation": layer.dilation_rate, "data_format": layer.data_format}


def _convolution(walk: Walk, layer: Any, value: Value) -> Value:
    refuse_quantized(layer)
    refuse_activation(layer)
    return walk.activate(layer.activation, convolve(walk.builder, value, as_array(layer.kernel), _bias(layer), **how(layer)))


def _depthwise(walk: Walk, layer: Any, value: Value) -> Value:
    refuse_activation(layer)
    return walk.activate(layer.activation, convolve_depthwise(walk.builder, value, as_array(layer.kernel), _bias(layer), **how(layer)))


def _separable(walk: Walk, layer: Any, value: Value) -> Value:
    refuse_activation(layer)
    kernels = as_array(layer.depthwise_kernel), as_array(layer.pointwise_kernel)
    return walk.activate(layer.activation, convolve_separably(walk.builder, value, *kernels, _bias(layer), **how(layer)))


def _transposed(walk: Walk, layer: Any, value: Value) -> Value:
    refuse_activation(layer)
    result = convolve_transposed(
        walk.builder, value, as_array(layer.kernel), _bias(layer), output_padding=layer.output_padding, **how(layer)
    )
    return walk.activate(layer.activation, result)


LAYERS: dict[type, Handler] = {
    **dict.fromkeys((layers.Conv1D, layers.Conv2D, layers.Conv3D), _convolution),
    **dict.fromkeys((layers.DepthwiseConv1D, layers.DepthwiseConv2D), _depthwise),
    **dict.fromkeys((layers.SeparableConv1D, layers.SeparableConv2D), _separable),
    **dict.fromkeys((layers.Conv1DTranspose, layers.Conv2DTranspose, layers.Conv3DTranspose), _transposed),
}
