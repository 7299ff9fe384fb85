"""Arithmetic of ONNX: sums, products, matrix products. Handlers take inputs by position and attributes by their ONNX names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dcembed.importers import operations as ops
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.builder import NetworkBuilder, Tensor

Binary = Callable[[NetworkBuilder, Value, Value], Value]


def lay_along(operation: Binary) -> Callable[..., Value]:
    """An operation before opset 7: the right value is laid along the left one from `axis` on, its last axes by default."""

    def handler(builder: NetworkBuilder, left: Value, right: Value, axis: int | None = None, broadcast: int = 0) -> Value:
        shape = ops.shape_of(right)
        if broadcast and axis is not None and shape:
            ahead = len(ops.shape_of(left)) - len(shape) - axis % max(len(ops.shape_of(left)), 1)
            right = ops.reshape(builder, right, (*shape, *(1,) * ahead))
        return operation(builder, left, right)

    return handler


def pairwise(operation: Binary) -> Callable[..., Value]:
    """An operation of two values for any number of them, by a balanced tree."""

    def handler(builder: NetworkBuilder, *values: Value) -> Value:
        if not values:
            raise Unsupported("has no inputs")
        while len(values) > 1:
            pairs = [operation(builder, *values[start : start + 2]) for start in range(0, len(values) - 1, 2)]
            values = (*pairs, *values[2 * len(pairs) :])
        return values[0]

    return handler


def mean(builder: NetworkBuilder, *values: Value) -> Value:
    """The mean of several values, entry by entry."""
    return ops.scale(builder, pairwise(ops.add)(builder, *values), 1.0 / len(values))


def gemm(
    builder: NetworkBuilder,
    a: Value,
    b: Value,
    c: Value | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Value:
    """alpha a b + beta c."""
    left = ops.transpose(builder, a) if transA else a
    right = ops.transpose(builder, b) if transB else b
    product = ops.scale(builder, ops.matmul(builder, left, right), alpha)
    return product if c is None else ops.add(builder, product, ops.scale(builder, c, beta))


def einsum(builder: NetworkBuilder, *values: Value, equation: str) -> Value:
    """Sums of products in Einstein's notation."""
    return ops.einsum(builder, equation, *values)


def cumulative_sum(builder: NetworkBuilder, x: Value, axis: Any, exclusive: int = 0, reverse: int = 0) -> Value:
    """Sums up to each entry along a constant axis."""
    if isinstance(axis, Tensor):
        raise Unsupported("has an axis that is computed from the input")
    place = int(np.asarray(axis).reshape(-1)[0])
    return ops.cumulative_sum(builder, x, place, bool(exclusive), bool(reverse))
