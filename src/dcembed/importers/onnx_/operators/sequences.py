"""Sequences of values in ONNX, which exporters of PyTorch write for lists of tensors."""

from __future__ import annotations

from typing import Any

from dcembed.importers import operations as ops
from dcembed.importers.onnx_.operators.shapes import whole_numbers
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.builder import NetworkBuilder

Values = list[Value]


def construct(builder: NetworkBuilder, *values: Value) -> Values:
    """A sequence of values."""
    return list(values)


def empty(builder: NetworkBuilder, dtype: int = 1) -> Values:
    """A sequence of nothing."""
    return []


def insert(builder: NetworkBuilder, values: Values, value: Value, position: Any = None) -> Values:
    """One value more, at the end by default."""
    place = len(values) if position is None else whole_numbers(position, "a position")[0]
    place = place + len(values) if place < 0 else place
    return [*values[:place], value, *values[place:]]


def at(builder: NetworkBuilder, values: Values, position: Any) -> Value:
    """One of the values."""
    place = whole_numbers(position, "a position")[0]
    if not -len(values) <= place < len(values):
        raise Unsupported(f"takes value {place} of {len(values)}")
    return values[place]


def join(builder: NetworkBuilder, values: Values, axis: int = 0, new_axis: int = 0) -> Value:
    """All of them side by side, along an axis or a new one."""
    return ops.stack(builder, values, axis) if new_axis else ops.concat(builder, values, axis)


def split(builder: NetworkBuilder, x: Value, sizes: Any = None, axis: int = 0, keepdims: int = 1) -> Values:
    """Pieces of one size, of given sizes, or single entries."""
    whole = ops.shape_of(x)[axis]
    if sizes is None:
        pieces = ops.split(builder, x, [1] * whole, axis)
        return pieces if keepdims else [ops.take(builder, piece, 0, axis) for piece in pieces]
    given = whole_numbers(sizes, "sizes")
    is_one = len(ops.shape_of(sizes)) == 0
    return ops.split(builder, x, ops.chunk_sizes(whole, given[0]) if is_one else given, axis)
