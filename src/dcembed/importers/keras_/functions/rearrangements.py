"""Operations of keras.ops that move, repeat, pick and join entries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.importers import operations as ops
from dcembed.importers.keras_.handlers import Handler, Walk
from dcembed.importers.operations import Unsupported, Value


def _rearranged(choose: Callable[[Array, Any], Array]) -> Handler:
    """What numpy does to an array with the attributes of the operation."""
    return lambda walk, operation, value: ops.rearrange(walk.builder, value, lambda a: choose(a, operation))


def _reshape(walk: Walk, operation: Any, value: Value) -> Value:
    return ops.reshape(walk.builder, value, [-1 if size is None else int(size) for size in operation.newshape])


def _squeeze(walk: Walk, operation: Any, value: Value) -> Value:
    """Without an axis all that have size 1, but the batch axis, which is of size 1 for one point only."""
    shape = ops.shape_of(value)
    axes = [axis for axis, size in enumerate(shape) if size == 1 and axis > 0] if operation.axis is None else operation.axis
    return ops.rearrange(walk.builder, value, lambda a: np.squeeze(a, tuple(axes) if np.ndim(axes) else axes))


def _concatenate(walk: Walk, operation: Any, values: Sequence[Value]) -> Value:
    num_axes = len(ops.shape_of(values[0]))
    if operation.axis is None:
        return ops.concat(walk.builder, [ops.reshape(walk.builder, value, (-1,)) for value in values], 0)
    if num_axes > 1 and operation.axis % num_axes == 0:
        raise Unsupported("joins along the batch axis; it can join along the others")
    return ops.concat(walk.builder, values, operation.axis)


def _stack(walk: Walk, operation: Any, values: Sequence[Value]) -> Value:
    return ops.stack(walk.builder, values, operation.axis)


def _hstack(walk: Walk, operation: Any, values: Sequence[Value]) -> Value:
    return ops.concat(walk.builder, values, 1 if len(ops.shape_of(values[0])) > 1 else 0)


def _append(walk: Walk, operation: Any, left: Value, right: Value) -> Value:
    return _concatenate(walk, operation, [left, right])


def _split(walk: Walk, operation: Any, value: Value) -> list[Value]:
    size = ops.shape_of(value)[operation.axis]
    places = operation.indices_or_sections
    if np.ndim(places) == 0:
        ends = np.linspace(0, size, int(places) + 1).astype(int).tolist()
        if size % int(places):
            raise Unsupported(f"splits an axis of size {size} into {places} parts")
    else:
        ends = [0, *(int(place) for place in places), size]
    return ops.split(walk.builder, value, np.diff(ends).tolist(), operation.axis)


def _unstack(walk: Walk, operation: Any, value: Value) -> list[Value]:
    size = ops.shape_of(value)[operation.axis]
    return [ops.take(walk.builder, value, number, operation.axis) for number in range(size)]


def _get_item(walk: Walk, operation: Any, value: Value, key: Any) -> Value:
    items = tuple(key) if isinstance(key, tuple | list) else (key,)
    if items and isinstance(items[0], int | np.integer) and len(ops.shape_of(value)) > 1:
        raise Unsupported("picks one point of the batch; leave the first axis as it is, x[:, ...]")
    return ops.index(walk.builder, value, items)


def _take(walk: Walk, operation: Any, value: Value, indices: Any) -> Value:
    if operation.axis is None:
        return ops.take(walk.builder, ops.reshape(walk.builder, value, (-1,)), indices, 0)
    return ops.take(walk.builder, value, indices, operation.axis)


def _take_along(walk: Walk, operation: Any, value: Value, indices: Any) -> Value:
    if operation.axis is None:
        return ops.gather(walk.builder, ops.reshape(walk.builder, value, (-1,)), indices, 0)
    return ops.gather(walk.builder, value, indices, operation.axis)


def _where(walk: Walk, operation: Any, condition: Any, x1: Any = None, x2: Any = None) -> Value:
    if x1 is None or x2 is None:
        raise Unsupported("gives the places of a condition; give it what to take there and elsewhere")
    return ops.where(walk.builder, condition, x1, x2)


def _slice(walk: Walk, operation: Any, value: Value, start_indices: Any) -> Value:
    starts = ops.as_constant(start_indices, "where it begins").astype(int)
    key = tuple(slice(start, start + size) for start, size in zip(starts.tolist(), operation.shape, strict=True))
    return ops.index(walk.builder, value, key)


def _broadcast_to(walk: Walk, operation: Any, value: Value) -> Value:
    old = ops.shape_of(value)
    first = [old[0]] if operation.shape[0] is None else [operation.shape[0]]
    return ops.expand(walk.builder, value, [*first, *operation.shape[1:]])


def _cumulative_sum(walk: Walk, operation: Any, value: Value) -> Value:
    if operation.axis is None:
        raise Unsupported("adds up over all axes; give it an axis")
    return ops.cumulative_sum(walk.builder, value, operation.axis)


def _differences(walk: Walk, operation: Any, value: Value) -> Value:
    for _ in range(operation.n):
        size = ops.shape_of(value)[operation.axis]
        later, earlier = (ops.take(walk.builder, value, np.arange(first, size - 1 + first), operation.axis) for first in (1, 0))
        value = ops.subtract(walk.builder, later, earlier)
    return value


def _pad(walk: Walk, operation: Any, value: Value, constant_values: Any = None) -> Value:
    modes = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}
    mode = modes.get(operation.mode, operation.mode)
    num_axes = len(ops.shape_of(value))
    widths = np.broadcast_to(np.asarray(operation.pad_width, dtype=int), (num_axes, 2)).tolist()
    return ops.pad(walk.builder, value, [(before, after) for before, after in widths], mode, float(constant_values or 0.0))


def _triangle(choose: Callable[..., Array]) -> Handler:
    def handler(walk: Walk, operation: Any, value: Value) -> Value:
        return ops.multiply(walk.builder, value, choose(np.ones(ops.shape_of(value)), operation.k))

    return handler


REARRANGEMENTS: dict[str, Handler] = {
    "numpy.Reshape": _reshape,
    "numpy.Ravel": lambda walk, operation, value: ops.reshape(walk.builder, value, (-1,)),
    "numpy.Squeeze": _squeeze,
    "numpy.ExpandDims": _rearranged(lambda a, op: np.expand_dims(a, tuple(op.axis) if np.ndim(op.axis) else op.axis)),
    "numpy.Transpose": _rearranged(lambda a, op: np.transpose(a, op.axes)),
    "numpy.Swapaxes": _rearranged(lambda a, op: np.swapaxes(a, op.axis1, op.axis2)),
    "numpy.Moveaxis": _rearranged(lambda a, op: np.moveaxis(a, op.source, op.destination)),
    "numpy.Flip": _rearranged(lambda a, op: np.flip(a, tuple(op.axis) if op.axis is not None and np.ndim(op.axis) else op.axis)),
    "numpy.Roll": _rearranged(lambda a, op: np.roll(a, op.shift, op.axis)),
    "numpy.Rot90": _rearranged(lambda a, op: np.rot90(a, op.k, op.axes)),
    "numpy.Repeat": _rearranged(lambda a, op: np.repeat(a, np.asarray(op.repeats), op.axis)),
    "numpy.Tile": _rearranged(lambda a, op: np.tile(a, tuple(op.repeats) if np.ndim(op.repeats) else op.repeats)),
    "numpy.Diagonal": _rearranged(lambda a, op: np.diagonal(a, op.offset, op.axis1, op.axis2)),
    "numpy.BroadcastTo": _broadcast_to,
    "numpy.Concatenate": _concatenate,
    "numpy.Append": _append,
    "numpy.Stack": _stack,
    "numpy.Hstack": _hstack,
    "numpy.Split": _split,
    "numpy.GetItem": _get_item,
    "numpy.Take": _take,
    "numpy.TakeAlongAxis": _take_along,
    "numpy.Where": _where,
    "numpy.Pad": _pad,
    "numpy.Cumsum": _cumulative_sum,
    "numpy.Diff": _differences,
    "numpy.Tril": _triangle(np.tril),
    "numpy.Triu": _triangle(np.triu),
    "core.Slice": _slice,
    "core.Unstack": _unstack,
}
