"""Operators of ONNX that move, pick and join entries. Handlers take inputs by position and attributes by their ONNX names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.importers import operations as ops
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.builder import NetworkBuilder, Tensor


def whole_numbers(value: Any, what: str) -> list[int]:
    """Constant whole numbers, as shapes and axes are."""
    if isinstance(value, Tensor):
        raise Unsupported(f"has {what} computed from the input; constants are accepted")
    return [int(number) for number in np.asarray(value).reshape(-1)]


def flatten(builder: NetworkBuilder, x: Value, axis: int = 1) -> Value:
    """As a matrix, split at `axis`."""
    shape = ops.shape_of(x)
    start = axis % len(shape) if axis < 0 else axis
    return ops.reshape(builder, x, (math.prod(shape[:start]), math.prod(shape[start:])))


def reshape(builder: NetworkBuilder, x: Value, sizes: Any = None, allowzero: int = 0, shape: Any = None) -> Value:
    """A zero copies the size of the same axis. The shape is an attribute before opset 5."""
    wanted = whole_numbers(shape if sizes is None else sizes, "a shape")
    old = ops.shape_of(x)
    return ops.reshape(builder, x, [old[axis] if size == 0 and not allowzero else size for axis, size in enumerate(wanted)])


def squeeze(builder: NetworkBuilder, x: Value, axes_input: Any = None, axes: Any = None) -> Value:
    """Without axes, the first one stays: it is the batch axis, which has size 1 only because one point is looked at."""
    chosen = axes if axes_input is None else axes_input
    if chosen is None:
        return ops.reshape(builder, x, [size for axis, size in enumerate(ops.shape_of(x)) if axis == 0 or size != 1])
    places = tuple(whole_numbers(chosen, "axes"))
    return ops.rearrange(builder, x, lambda entries: np.squeeze(entries, places))


def unsqueeze(builder: NetworkBuilder, x: Value, axes_input: Any = None, axes: Any = None) -> Value:
    """New axes of size 1."""
    places = tuple(whole_numbers(axes if axes_input is None else axes_input, "axes"))
    return ops.rearrange(builder, x, lambda entries: np.expand_dims(entries, places))


def transpose(builder: NetworkBuilder, x: Value, perm: Any = None) -> Value:
    """Permute the axes."""
    return ops.transpose(builder, x, None if perm is None else list(perm))


def concat(builder: NetworkBuilder, *values: Value, axis: int = 1) -> Value:
    """Join along an axis."""
    return ops.concat(builder, values, axis)


def shape(builder: NetworkBuilder, x: Tensor, start: int = 0, end: int | None = None) -> Array:
    """The shape for one point."""
    return np.array(x.shape[start:end], dtype=np.int64)


def size(builder: NetworkBuilder, x: Tensor) -> Array:
    """The number of entries."""
    return np.array(math.prod(x.shape), dtype=np.int64)


def slice_(
    builder: NetworkBuilder,
    x: Value,
    starts_input: Any = None,
    ends_input: Any = None,
    axes_input: Any = None,
    steps: Any = None,
    starts: Any = None,
    ends: Any = None,
    axes: Any = None,
) -> Value:
    """Every so many entries from a start to an end. Before opset 10 these are attributes."""
    first, last = (whole_numbers(value, "limits") for value in ((starts, ends) if starts_input is None else (starts_input, ends_input)))
    given = axes if axes_input is None else axes_input
    places = list(range(len(first))) if given is None else whole_numbers(given, "axes")
    by = [1] * len(first) if steps is None else whole_numbers(steps, "steps")
    key = [slice(None)] * len(ops.shape_of(x))
    for axis, begin, end, step in zip(places, first, last, by, strict=True):
        key[axis] = _slice(begin, end, step, ops.shape_of(x)[axis])
    return ops.index(builder, x, tuple(key))


def _slice(begin: int, end: int, step: int, length: int) -> slice:
    """Going down, an end before the first entry is beyond it; counted from the last as numpy does it would be another one."""
    if step < 0 and end < -length:
        return slice(begin, None, step)
    return slice(begin, end, step)


def split(builder: NetworkBuilder, x: Value, sizes: Any = None, axis: int = 0, split: Any = None, num_outputs: int | None = None) -> Any:
    """Consecutive pieces of given sizes, or as many of equal size as the node has outputs."""
    given = split if sizes is None else sizes
    whole = ops.shape_of(x)[axis]
    if given is None and num_outputs is None:
        raise Unsupported("does not say into how many pieces it splits")
    pieces = ops.chunk_sizes(whole, -(-whole // (num_outputs or 1))) if given is None else whole_numbers(given, "sizes")
    return tuple(ops.split(builder, x, pieces, axis))


def gather(builder: NetworkBuilder, x: Value, indices: Any, axis: int = 0) -> Value:
    """Entries along an axis by constant indices."""
    if isinstance(indices, Tensor) and not isinstance(x, Tensor):
        return ops.embedding(builder, indices, x)
    return ops.take(builder, x, indices, axis)


def gather_elements(builder: NetworkBuilder, x: Value, indices: Any, axis: int = 0) -> Value:
    """One constant index along an axis for every entry."""
    return ops.gather(builder, x, indices, axis)


def gather_nd(builder: NetworkBuilder, x: Value, indices: Any, batch_dims: int = 0) -> Value:
    """Slices by constant tuples of indices; the first axes of both may go together."""
    places = _constant_indices(indices)

    def choose(entries: Array) -> Array:
        lead = entries.shape[:batch_dims]
        rows = [entries[place][tuple(np.moveaxis(places[place], -1, 0))] for place in np.ndindex(*lead)]
        return np.stack(rows).reshape(*lead, *rows[0].shape)

    return ops.rearrange(builder, x, choose)


def scatter_elements(builder: NetworkBuilder, x: Value, indices: Any, updates: Value, axis: int = 0, reduction: str = "none") -> Value:
    """x with some entries replaced or added to, by one constant index along an axis for each."""
    places = _constant_indices(indices)
    grid = np.meshgrid(*[np.arange(length) for length in places.shape], indexing="ij")
    key = tuple(places if place == axis % len(ops.shape_of(x)) else index for place, index in enumerate(grid))
    return _scatter(builder, x, updates, key, reduction)


def scatter_nd(builder: NetworkBuilder, x: Value, indices: Any, updates: Value, reduction: str = "none") -> Value:
    """x with some slices replaced or added to, by constant tuples of indices."""
    return _scatter(builder, x, updates, tuple(np.moveaxis(_constant_indices(indices), -1, 0)), reduction)


def _scatter(builder: NetworkBuilder, x: Value, updates: Value, key: tuple[Array, ...], reduction: str) -> Value:
    values, new = ops.as_tensor(x), ops.as_tensor(updates)
    count, more = values.affine.num_rows, new.affine.num_rows
    numbers = np.arange(count).reshape(values.shape)
    if reduction == "add":
        matrix = sp.csr_array((np.ones(more), (numbers[key].reshape(-1), np.arange(more))), shape=(count, more))
        return ops.add(builder, values, ops.transform(builder, new, matrix, values.shape))
    if reduction != "none":
        raise Unsupported(f"combines entries by '{reduction}'; replacing and adding are accepted")
    numbers[key] = count + np.arange(more).reshape(new.shape)
    both = builder.concat([builder.reshape(part, (part.affine.num_rows,)) for part in (values, new)])
    return ops.pick(builder, both, numbers)


def _constant_indices(indices: Any) -> Array:
    if isinstance(indices, Tensor):
        raise Unsupported("picks entries by an index that is computed from the input; indices have to be constants")
    return np.asarray(indices).astype(np.int64)


def array_feature_extractor(builder: NetworkBuilder, x: Value, indices: Any) -> Value:
    """Entries along the last axis."""
    return ops.take(builder, x, _constant_indices(indices).reshape(-1), -1)


def expand(builder: NetworkBuilder, x: Value, shape: Any) -> Value:
    """Repeated to a shape, in both directions."""
    wanted = np.broadcast_shapes(ops.shape_of(x), tuple(whole_numbers(shape, "a shape")))
    return ops.expand(builder, x, wanted)


def tile(builder: NetworkBuilder, x: Value, repeats: Any) -> Value:
    """Repeated as a whole."""
    times = whole_numbers(repeats, "repeats")
    builder.growth.check(math.prod(ops.shape_of(x)) * math.prod(times), "A repeated value")
    return ops.tile(builder, x, times)


def trilu(builder: NetworkBuilder, x: Value, k: Any = None, upper: int = 1) -> Value:
    """What is above or below a diagonal, zeros elsewhere."""
    offset = 0 if k is None else whole_numbers(k, "a diagonal")[0]
    ones = np.ones(ops.shape_of(x)[-2:])
    return ops.multiply(builder, x, np.triu(ones, offset) if upper else np.tril(ones, offset))


def depth_to_space(builder: NetworkBuilder, x: Value, blocksize: int, mode: str = "DCR") -> Value:
    """Blocks of channels become places."""
    return ops.pixel_shuffle(builder, x, blocksize, by_channel=mode == "CRD")


def space_to_depth(builder: NetworkBuilder, x: Value, blocksize: int) -> Value:
    """Blocks of places become channels."""
    return ops.pixel_unshuffle(builder, x, blocksize, by_channel=False)


def eye_like(builder: NetworkBuilder, x: Tensor, dtype: int | None = None, k: int = 0) -> Array:
    """The unit matrix in the shape of x."""
    rows, columns = x.shape
    return np.eye(rows, columns, k=k)
