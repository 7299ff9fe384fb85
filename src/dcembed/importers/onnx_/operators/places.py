"""Operators of ONNX over axes of places: convolution, pooling, padding, resizing. Handlers take attributes by their ONNX names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dcembed.importers import operations as ops
from dcembed.importers.onnx_.operators.shapes import whole_numbers
from dcembed.importers.onnx_.operators.spreads import read_spread
from dcembed.importers.onnx_.operators.windows import Windows, read_windows
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.builder import NetworkBuilder

# The coefficient of the cubic kernel, a single-precision number as all defaults.
_CUBIC = -0.75
_PADDING = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}


def conv(
    builder: NetworkBuilder,
    x: Value,
    weight: Value,
    bias: Value | None = None,
    group: int = 1,
    kernel_shape: Any = None,
    **where: Any,
) -> Value:
    """A convolution with constant weights."""
    kernel = ops.as_constant(weight, "the weight")
    windows = read_windows(ops.shape_of(x)[2:], kernel.shape[2:], **where)
    return ops.convolve(builder, x, kernel, bias, stride=windows.strides, padding=windows.pads, dilation=windows.dilations, groups=group)


def conv_transpose(
    builder: NetworkBuilder,
    x: Value,
    weight: Value,
    bias: Value | None = None,
    group: int = 1,
    kernel_shape: Any = None,
    **where: Any,
) -> Value:
    """The transpose of a convolution; `output_shape` and the modes of padding say what is cut off."""
    kernel = ops.as_constant(weight, "the weight")
    spread = read_spread(ops.shape_of(x)[2:], kernel.shape[2:], **where)
    builder.growth.check(kernel.shape[1] * group * max(spread.size, 0), "A transposed convolution")
    return ops.convolve_transposed(
        builder,
        x,
        kernel,
        bias,
        stride=spread.strides,
        padding=spread.cuts,
        output_padding=spread.extra,
        dilation=spread.dilations,
        groups=group,
    )


def col2im(
    builder: NetworkBuilder,
    x: Value,
    image_shape: Any,
    block_shape: Any,
    dilations: Any = None,
    pads: Any = None,
    strides: Any = None,
) -> Value:
    """Blocks of columns added up where they overlap: a transposed convolution with one tap per channel."""
    image, block = whole_numbers(image_shape, "an image shape"), whole_numbers(block_shape, "a block shape")
    builder.growth.check(math.prod(image) * math.prod(block), f"An image of shape {tuple(image)}")
    windows = read_windows(image, block, strides, dilations, pads)
    taps = int(np.prod(block))
    count, channels, _ = ops.shape_of(x)
    kernel = np.tile(np.eye(taps).reshape(taps, 1, *block), (channels // taps, *(1,) * (len(block) + 1)))
    spread = ops.reshape(builder, x, (count, channels, *windows.counts))
    full = [
        (number - 1) * step + extent - sum(around)
        for number, step, extent, around in zip(windows.counts, windows.strides, windows.extents, windows.pads, strict=True)
    ]
    return ops.convolve_transposed(
        builder,
        spread,
        kernel,
        stride=windows.strides,
        padding=windows.pads,
        output_padding=[size - reached for size, reached in zip(image, full, strict=True)],
        dilation=windows.dilations,
        groups=channels // taps,
    )


def _pool_windows(builder: NetworkBuilder, x: Value, kernel_shape: Any, **where: Any) -> Windows:
    shape = ops.shape_of(x)
    windows = read_windows(shape[2:], kernel_shape, **where)
    count = math.prod((*shape[:2], *windows.counts, *windows.kernel))
    builder.growth.check(count, f"A pooling with windows of shape {windows.kernel}")
    return windows


def max_pool(builder: NetworkBuilder, x: Value, kernel_shape: Any, storage_order: int = 0, ceil_mode: int = 0, **where: Any) -> Value:
    """The largest entries of windows; where they are is not given."""
    windows = _pool_windows(builder, x, kernel_shape, ceil_mode=ceil_mode, **where)
    return ops.max_pool(
        builder, x, windows.kernel, stride=windows.strides, padding=windows.pads, dilation=windows.dilations, ceil_mode=bool(ceil_mode)
    )


def average_pool(
    builder: NetworkBuilder, x: Value, kernel_shape: Any, count_include_pad: int = 0, ceil_mode: int = 0, **where: Any
) -> Value:
    """The averages of windows."""
    windows = _pool_windows(builder, x, kernel_shape, ceil_mode=ceil_mode, **where)
    return ops.average_pool(
        builder,
        x,
        windows.kernel,
        stride=windows.strides,
        padding=windows.pads,
        dilation=windows.dilations,
        ceil_mode=bool(ceil_mode),
        count_include_pad=bool(count_include_pad),
    )


def lp_pool(builder: NetworkBuilder, x: Value, kernel_shape: Any, p: int = 2, ceil_mode: int = 0, **where: Any) -> Value:
    """Norms of windows."""
    windows = _pool_windows(builder, x, kernel_shape, ceil_mode=ceil_mode, **where)
    if max(windows.dilations) > 1:
        raise Unsupported("has dilations; none are accepted")
    return ops.norm_pool(builder, x, p, windows.kernel, stride=windows.strides, padding=windows.pads, ceil_mode=bool(ceil_mode))


def _places(x: Value) -> tuple[int, ...]:
    return tuple(range(2, len(ops.shape_of(x))))


def global_average_pool(builder: NetworkBuilder, x: Value) -> Value:
    """The average over all places."""
    return ops.mean(builder, x, _places(x), keepdims=True)


def global_max_pool(builder: NetworkBuilder, x: Value) -> Value:
    """The largest over all places."""
    return ops.largest_over(builder, x, _places(x), keepdims=True)


def global_lp_pool(builder: NetworkBuilder, x: Value, p: int = 2) -> Value:
    """The norm over all places."""
    return ops.norm(builder, x, p, _places(x), keepdims=True)


def pad(
    builder: NetworkBuilder,
    x: Value,
    pads_input: Any = None,
    fill: Any = None,
    axes: Any = None,
    mode: str = "constant",
    pads: Any = None,
    paddings: Any = None,
    value: float = 0.0,
) -> Value:
    """Entries before and behind. Before opset 11 how many is an attribute."""
    given = whole_numbers(next(item for item in (pads_input, pads, paddings) if item is not None), "widths")
    num = len(ops.shape_of(x))
    places = list(range(num)) if axes is None else [axis % num for axis in whole_numbers(axes, "axes")]
    widths = [(0, 0)] * num
    for place, axis in enumerate(places):
        widths[axis] = (given[place], given[len(places) + place])
    size = math.prod(length + max(sum(width), 0) for length, width in zip(ops.shape_of(x), widths, strict=True))
    builder.growth.check(size, "A padded value")
    amount = value if fill is None else float(ops.as_constant(fill, "what is put there").reshape(-1)[0])
    return ops.pad(builder, x, widths, _PADDING.get(mode, mode), amount)


def resize(
    builder: NetworkBuilder,
    x: Value,
    roi: Any = None,
    scales: Any = None,
    sizes: Any = None,
    antialias: int = 0,
    axes: Any = None,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = _CUBIC,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch",
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Value:
    """Since opset 11: by factors or to sizes."""
    if antialias or keep_aspect_ratio_policy != "stretch":
        raise Unsupported("resizes with antialias or keep_aspect_ratio_policy; leave them out when you export")
    old = list(ops.shape_of(x))
    places = list(range(len(old))) if axes is None else [axis % len(old) for axis in axes]
    new, factors = list(old), [1.0] * len(old)
    if scales is not None and np.size(scales):
        for axis, factor in zip(places, ops.as_constant(scales, "the factors").reshape(-1), strict=True):
            new[axis], factors[axis] = int(np.floor(old[axis] * factor)), float(factor)
    else:
        for axis, length in zip(places, whole_numbers(sizes, "sizes"), strict=True):
            new[axis], factors[axis] = length, length / old[axis]
    builder.growth.check(math.prod(new), f"A value of shape {tuple(new)}")
    return ops.resize(
        builder,
        x,
        new,
        mode="linear" if mode == "bilinear" else mode,
        coordinates=coordinate_transformation_mode,
        scales=factors,
        rounding=nearest_mode,
        cubic=cubic_coeff_a,
        exclude_outside=bool(exclude_outside),
    )


def old_resize(builder: NetworkBuilder, x: Value, scales: Any, mode: str = "nearest") -> Value:
    """Resize of opset 10 and Upsample of opset 9: positions are divided by the factors."""
    return resize(builder, x, None, scales, mode=mode, coordinate_transformation_mode="asymmetric", nearest_mode="floor")


def oldest_upsample(
    builder: NetworkBuilder, x: Value, scales: Any = None, height_scale: float = 1.0, width_scale: float = 1.0, mode: str = "nearest"
) -> Value:
    """Upsample before opset 9: the factors are attributes."""
    return old_resize(builder, x, np.array([1.0, 1.0, height_scale, width_scale] if scales is None else scales), mode)
