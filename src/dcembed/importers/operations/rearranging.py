"""Moving, repeating, joining and dropping entries."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.importers.operations.values import Unsupported, Value, as_tensor, fold, rearrange, shape_of
from dcembed.network.affine import Affine
from dcembed.network.builder import NetworkBuilder, Tensor


def transpose(builder: NetworkBuilder, value: Value, axes: Sequence[int] | None = None) -> Value:
    """Permute the axes; None reverses them."""
    return rearrange(builder, value, lambda a: np.transpose(a, axes))


def reshape(builder: NetworkBuilder, value: Value, shape: Sequence[int]) -> Value:
    """The same entries in another shape; one -1 is filled in."""
    return builder.reshape(value, shape) if isinstance(value, Tensor) else np.reshape(value, tuple(shape))


def concat(builder: NetworkBuilder, values: Sequence[Value], axis: int) -> Value:
    """Join along `axis`."""
    if not any(isinstance(value, Tensor) for value in values):
        return np.concatenate([np.asarray(value) for value in values], axis=axis)
    return builder.concat([as_tensor(value) for value in values], axis=axis)


def stack(builder: NetworkBuilder, values: Sequence[Value], axis: int) -> Value:
    """Join along a new axis."""
    return concat(builder, [rearrange(builder, value, lambda a: np.expand_dims(a, axis)) for value in values], axis)


def split(builder: NetworkBuilder, value: Value, sizes: Sequence[int], axis: int) -> list[Value]:
    """Consecutive pieces of these sizes along `axis`."""
    ends = np.cumsum([0, *(int(size) for size in sizes)]).tolist()
    whole = shape_of(value)[axis]
    if ends[-1] != whole:
        raise Unsupported(f"splits an axis of size {whole} into pieces of sizes {[int(size) for size in sizes]}")
    return [take(builder, value, np.arange(begin, end), axis) for begin, end in itertools.pairwise(ends)]


def chunk_sizes(size: int, length: int) -> list[int]:
    """Pieces of `length`, the last one smaller where that does not go into `size`.

    Examples
    --------
    >>> chunk_sizes(7, 3)
    [3, 3, 1]
    """
    return [min(length, size - begin) for begin in range(0, size, length)]


def take(builder: NetworkBuilder, value: Value, indices: Any, axis: int) -> Value:
    """The entries with these constant indices along `axis`, which is replaced by the axes of `indices`; negative ones count from the end."""
    chosen = as_indices(indices)
    return rearrange(builder, value, lambda a: np.take(a, chosen, axis=axis))


def gather(builder: NetworkBuilder, value: Value, indices: Any, axis: int) -> Value:
    """One constant index along `axis` for every entry of the result, which has the shape of `indices`."""
    chosen = as_indices(indices)

    def choose(entries: Array) -> Array:
        # Along the other axes `indices` may be shorter.
        part = entries[tuple(slice(None) if k == axis % entries.ndim else slice(size) for k, size in enumerate(chosen.shape))]
        return np.take_along_axis(part, chosen, axis=axis)

    return rearrange(builder, value, choose)


def as_indices(indices: Any) -> Array:
    """Constant indices as whole numbers."""
    if isinstance(indices, Tensor):
        raise Unsupported("picks entries by an index that is computed from the input; indices have to be constants")
    return np.asarray(indices).astype(np.int64)


def index(builder: NetworkBuilder, value: Value, key: Any) -> Value:
    """value[key] with constant integers, slices, arrays and masks, as numpy has it."""
    items = key if isinstance(key, tuple) else (key,)
    if any(isinstance(item, Tensor) for item in items):
        raise Unsupported("picks entries by an index that is computed from the input; indices have to be constants")
    return rearrange(builder, value, lambda a: a[key])


def where(builder: NetworkBuilder, condition: Any, left: Value, right: Value) -> Value:
    """left where the constant condition holds, right elsewhere; infinite constants are kept as they are."""
    if isinstance(condition, Tensor):
        raise Unsupported("has a condition that is computed from the input, which jumps; use maximum, minimum or clamp where they do it")
    chosen = np.asarray(condition, dtype=bool)
    if not isinstance(left, Tensor) and not isinstance(right, Tensor):
        return np.where(chosen, left, right)
    shape = np.broadcast_shapes(chosen.shape, shape_of(left), shape_of(right))
    mask = np.broadcast_to(chosen, shape).reshape(-1)
    sides = [as_tensor(expand(builder, side, shape)).affine for side in (left, right)]
    parts = [
        {s: sp.diags_array(keep) @ block for s, block in side.weights.items()}
        for side, keep in zip(sides, (1.0 * mask, 1.0 * ~mask), strict=True)
    ]
    sources = sorted({*parts[0], *parts[1]})
    weights = {s: sum(part[s] for part in parts if s in part) for s in sources}
    return fold(Tensor(Affine(weights, np.where(mask, sides[0].bias, sides[1].bias)), shape))


def expand(builder: NetworkBuilder, value: Value, shape: Sequence[int]) -> Value:
    """Repeated to a shape as in broadcasting."""
    if shape_of(value) == tuple(shape):
        return value
    return rearrange(builder, value, lambda a: np.broadcast_to(a, tuple(shape)))


def tile(builder: NetworkBuilder, value: Value, times: Sequence[int]) -> Value:
    """Repeated as a whole along each axis."""
    return rearrange(builder, value, lambda a: np.tile(a, tuple(times)))


def repeat(builder: NetworkBuilder, value: Value, times: Any, axis: int) -> Value:
    """Every entry repeated along `axis`."""
    return rearrange(builder, value, lambda a: np.repeat(a, times, axis=axis))


def flip(builder: NetworkBuilder, value: Value, axes: Sequence[int]) -> Value:
    """In reverse order along `axes`."""
    return rearrange(builder, value, lambda a: np.flip(a, tuple(axes)))


def roll(builder: NetworkBuilder, value: Value, shifts: Any, axes: Any) -> Value:
    """Moved on along `axes`, around the end; along the flattened value where `axes` is None."""
    return rearrange(builder, value, lambda a: np.roll(a, shifts, axes))


def pixel_shuffle(builder: NetworkBuilder, value: Value, factor: int, by_channel: bool = True) -> Value:
    """(n, c r^2, h, w) -> (n, c, h r, w r).

    A block of channels is ordered as (c, r, r); with `by_channel` off as (r, r, c), which ONNX calls DCR.
    """

    def choose(entries: Array) -> Array:
        count, channels, height, width = entries.shape
        rest = channels // factor**2
        if by_channel:
            blocks = entries.reshape(count, rest, factor, factor, height, width).transpose(0, 1, 4, 2, 5, 3)
        else:
            blocks = entries.reshape(count, factor, factor, rest, height, width).transpose(0, 3, 4, 1, 5, 2)
        return blocks.reshape(count, rest, height * factor, width * factor)

    return rearrange(builder, value, choose)


def pixel_unshuffle(builder: NetworkBuilder, value: Value, factor: int, by_channel: bool = True) -> Value:
    """The inverse of `pixel_shuffle`."""

    def choose(entries: Array) -> Array:
        count, channels, height, width = entries.shape
        blocks = entries.reshape(count, channels, height // factor, factor, width // factor, factor)
        order = (0, 1, 3, 5, 2, 4) if by_channel else (0, 3, 5, 1, 2, 4)
        return blocks.transpose(order).reshape(count, channels * factor**2, height // factor, width // factor)

    return rearrange(builder, value, choose)


def embedding(builder: NetworkBuilder, indices: Any, table: Value) -> Value:
    """Rows of a table, by constant indices."""
    if isinstance(indices, Tensor):
        raise Unsupported(
            "looks up rows of a table by the input, which is an index there; embed the model behind the lookup, or fix that input"
        )
    return take(builder, table, indices, 0)
