"""Convolutions and pooling. Values without a batch axis are taken as batches of one, as torch does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dcembed.importers import operations as ops
from dcembed.importers.lowering import UNKNOWN
from dcembed.importers.operations import Value
from dcembed.network.builder import NetworkBuilder

Handler = Callable[..., Any]
Sizes = Any


def _each(value: Sizes, count: int) -> list[int]:
    """One number per axis; a single one is meant for all of them."""
    numbers = [int(value)] if isinstance(value, int) else [int(number) for number in value]
    return numbers * count if len(numbers) == 1 else numbers


def _pairs(padding: Sizes, count: int) -> list[tuple[int, int]]:
    return [(width, width) for width in _each(padding, count)]


def _in_batch(builder: NetworkBuilder, value: Value, count: int, operation: Callable[[Value], Value]) -> Value:
    """Applied to a value of `count` axes beside a batch and a channel axis."""
    shape = ops.shape_of(value)
    if len(shape) != count + 1:
        return operation(value)
    result = operation(ops.reshape(builder, value, (1, *shape)))
    return ops.reshape(builder, result, ops.shape_of(result)[1:])


def _same_padding(kernel: Sequence[int], dilation: Sequence[int]) -> list[tuple[int, int]]:
    """So that the size stays; an odd one goes to the end."""
    widths = [step * (length - 1) for length, step in zip(kernel, dilation, strict=True)]
    return [(width // 2, width - width // 2) for width in widths]


def _convolution(builder: NetworkBuilder, input: Value, weight: Any, bias: Any = None, *rest: Any) -> Value:
    """Rest: stride, padding, dilation, transposed, output padding, groups."""
    stride, padding, dilation, transposed, output_padding, groups = rest[:6]
    if transposed:
        return _transposed(builder, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return _conv(builder, input, weight, bias, stride, padding, dilation, groups)


def _conv(
    builder: NetworkBuilder,
    input: Value,
    weight: Any,
    bias: Any = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Value:
    kernel = ops.as_constant(weight, "the weight")
    count = kernel.ndim - 2
    steps, spread = _each(stride, count), _each(dilation, count)
    if isinstance(padding, str):
        pads = _same_padding(kernel.shape[2:], spread) if padding == "same" else [(0, 0)] * count
    else:
        pads = _pairs(padding, count)

    def apply(value: Value) -> Value:
        return ops.convolve(builder, value, kernel, bias, stride=steps, padding=pads, dilation=spread, groups=groups)

    return _in_batch(builder, input, count, apply)


def _transposed(
    builder: NetworkBuilder,
    input: Value,
    weight: Any,
    bias: Any = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Value:
    kernel = ops.as_constant(weight, "the weight")
    count = kernel.ndim - 2

    def apply(value: Value) -> Value:
        return ops.convolve_transposed(
            builder,
            value,
            kernel,
            bias,
            stride=_each(stride, count),
            padding=_pairs(padding, count),
            output_padding=_each(output_padding, count),
            dilation=_each(dilation, count),
            groups=groups,
        )

    return _in_batch(builder, input, count, apply)


def _max_pool(count: int, with_places: bool = False) -> Handler:
    def handler(
        builder: NetworkBuilder,
        input: Value,
        kernel_size: Sizes,
        stride: Sizes = (),
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
    ) -> Any:
        kernel = _each(kernel_size, count)
        steps = _each(stride, count) if stride else kernel

        def apply(value: Value) -> Value:
            pads, spread = _pairs(padding, count), _each(dilation, count)
            return ops.max_pool(builder, value, kernel, stride=steps, padding=pads, dilation=spread, ceil_mode=ceil_mode)

        result = _in_batch(builder, input, count, apply)
        return (result, UNKNOWN) if with_places else result

    return handler


def _average_pool(count: int) -> Handler:
    def handler(
        builder: NetworkBuilder,
        input: Value,
        kernel_size: Sizes,
        stride: Sizes = (),
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: float | None = None,
    ) -> Value:
        kernel = _each(kernel_size, count)
        steps = _each(stride, count) if stride else kernel

        def apply(value: Value) -> Value:
            return ops.average_pool(
                builder,
                value,
                kernel,
                stride=steps,
                padding=_pairs(padding, count),
                ceil_mode=ceil_mode,
                count_include_pad=count_include_pad,
                divisor=divisor_override,
            )

        return _in_batch(builder, input, count, apply)

    return handler


def _adaptive_average(count: int) -> Handler:
    def handler(builder: NetworkBuilder, input: Value, output_size: Sizes) -> Value:
        sizes = _each(output_size, count)
        return _in_batch(builder, input, count, lambda value: ops.adaptive_average_pool(builder, value, sizes))

    return handler


def _adaptive_max(count: int) -> Handler:
    def handler(builder: NetworkBuilder, input: Value, output_size: Sizes) -> Any:
        sizes = _each(output_size, count)
        return _in_batch(builder, input, count, lambda value: ops.adaptive_max_pool(builder, value, sizes)), UNKNOWN

    return handler


LAYERS: dict[str, Handler] = {
    **dict.fromkeys(("convolution", "_convolution", "convolution_overrideable"), _convolution),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), _conv),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), _transposed),
    **{f"max_pool{axes}d": _max_pool(axes) for axes in (1, 2, 3)},
    **{f"max_pool{axes}d_with_indices": _max_pool(axes, with_places=True) for axes in (1, 2, 3)},
    **{f"avg_pool{axes}d": _average_pool(axes) for axes in (1, 2, 3)},
    **{f"adaptive_avg_pool{axes}d": _adaptive_average(axes) for axes in (1, 2, 3)},
    **{f"_adaptive_avg_pool{axes}d": _adaptive_average(axes) for axes in (2, 3)},
    **{f"adaptive_max_pool{axes}d": _adaptive_max(axes) for axes in (1, 2, 3)},
}
