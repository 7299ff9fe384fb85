"""Convolutions as sparse matrices: one entry per weight and place, by index arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.importers.operations.values import Unsupported, Value, along_axis, as_constant, as_tensor, fold
from dcembed.network.builder import NetworkBuilder

Pairs = Sequence[tuple[int, int]]


def convolve(
    builder: NetworkBuilder,
    value: Value,
    weight: Any,
    bias: Any = None,
    *,
    stride: Sequence[int],
    padding: Pairs,
    dilation: Sequence[int],
    groups: int = 1,
) -> Value:
    """A convolution (as frameworks have it, without flipping) over the axes after the first two.

    Parameters
    ----------
    value
        Shape (batch, channels, places...).
    weight
        Shape (output channels, channels / groups, kernel...).
    bias
        One per output channel, or None.
    stride, dilation
        One per axis of places.
    padding
        Zeros before and after, a pair per axis of places.
    """
    kernel = as_constant(weight, "the weight")
    tensor = as_tensor(value)
    _check_channels(tensor.shape, kernel.ndim, kernel.shape[1] * groups)
    sizes = tensor.shape[2:]
    places = [
        (size + sum(pads) - dilated * (length - 1) - 1) // step + 1
        for size, pads, dilated, length, step in zip(sizes, padding, dilation, kernel.shape[2:], stride, strict=True)
    ]
    if min(places) < 1:
        raise Unsupported(f"has a kernel of shape {kernel.shape[2:]} that is larger than the padded value of shape {tensor.shape}")
    _check_growth(builder, kernel, places)
    matrix = _matrix(kernel, sizes, places, stride, [before for before, _ in padding], dilation, groups)
    return _apply(builder, tensor, matrix, bias, (kernel.shape[0], *places))


def convolve_transposed(
    builder: NetworkBuilder,
    value: Value,
    weight: Any,
    bias: Any = None,
    *,
    stride: Sequence[int],
    padding: Pairs,
    output_padding: Sequence[int],
    dilation: Sequence[int],
    groups: int = 1,
) -> Value:
    """The transpose of a convolution, which spreads every entry over its kernel.

    As `convolve`, but `weight` has shape (channels, output channels / groups, kernel...), `padding` is cut off from the result, and
    `output_padding` is added after it.
    """
    kernel = as_constant(weight, "the weight")
    tensor = as_tensor(value)
    _check_channels(tensor.shape, kernel.ndim, kernel.shape[0])
    sizes = tensor.shape[2:]
    places = [
        (size - 1) * step - sum(pads) + dilated * (length - 1) + more + 1
        for size, step, pads, dilated, length, more in zip(sizes, stride, padding, dilation, kernel.shape[2:], output_padding, strict=True)
    ]
    if min(places) < 1:
        raise Unsupported(f"cuts off more than there is: nothing is left of a value of shape {tensor.shape}")
    _check_growth(builder, kernel, sizes)
    # The convolution in the other direction takes the places of the result to those of the value.
    matrix = _matrix(kernel, places, sizes, stride, [before for before, _ in padding], dilation, groups)
    return _apply(builder, tensor, sp.csr_array(matrix.T), bias, (kernel.shape[1] * groups, *places))


def _check_channels(shape: tuple[int, ...], num_axes: int, channels: int) -> None:
    if len(shape) != num_axes or shape[1] != channels:
        raise Unsupported(
            f"takes {channels} channels and {num_axes - 2} axes of places behind the batch axis, received a value of shape {shape}"
        )


def _check_growth(builder: NetworkBuilder, kernel: Array, places: Sequence[int]) -> None:
    builder.growth.check(kernel.size * math.prod(places), f"A convolution with a kernel of shape {kernel.shape}")


def _apply(builder: NetworkBuilder, tensor: Any, matrix: sp.csr_array, bias: Any, shape: tuple[int, ...]) -> Value:
    batch = tensor.shape[0]
    result = builder.reshape(builder.linear(builder.reshape(tensor, (batch, matrix.shape[1])), matrix), (batch, *shape))
    if bias is not None:
        result = builder.shift(result, along_axis(as_constant(bias, "the bias"), 1, len(result.shape)))
    return fold(result)


def _matrix(
    kernel: Array,
    sizes: Sequence[int],
    places: Sequence[int],
    stride: Sequence[int],
    before: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> sp.csr_array:
    """The matrix (output channels * places, channels * sizes) of a convolution."""
    to, taps, source = _triples(kernel.shape[2:], sizes, places, stride, before, dilation)
    num_out, per_group = kernel.shape[:2]
    outputs, offsets = np.divmod(np.arange(num_out * per_group), per_group)
    channels = outputs // (num_out // groups) * per_group + offsets
    values = kernel.reshape(num_out * per_group, -1)[:, taps]
    rows = outputs[:, None] * math.prod(places) + to
    columns = channels[:, None] * math.prod(sizes) + source
    # Pruned kernels are sparse themselves.
    kept = values != 0
    shape = (num_out * math.prod(places), per_group * groups * math.prod(sizes))
    return sp.csr_array((values[kept], (rows[kept], columns[kept])), shape=shape)


def _triples(
    kernel: Sequence[int],
    sizes: Sequence[int],
    places: Sequence[int],
    stride: Sequence[int],
    before: Sequence[int],
    dilation: Sequence[int],
) -> tuple[Array, Array, Array]:
    """All (place, tap of the kernel, source place) inside of the value, as flat numbers over all axes."""
    to = taps = source = np.zeros(1, dtype=np.int64)
    for length, size, count, step, pads, dilated in zip(kernel, sizes, places, stride, before, dilation, strict=True):
        place, tap = (grid.reshape(-1) for grid in np.meshgrid(np.arange(count), np.arange(length), indexing="ij"))
        index = place * step - pads + tap * dilated
        inside = (index >= 0) & (index < size)
        place, tap, index = place[inside], tap[inside], index[inside]
        to = (to[:, None] * count + place).reshape(-1)
        taps = (taps[:, None] * length + tap).reshape(-1)
        source = (source[:, None] * size + index).reshape(-1)
    return to, taps, source
