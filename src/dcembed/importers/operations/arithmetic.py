"""Sums, products, and the larger and smaller of values."""

from __future__ import annotations

import numpy as np

from dcembed.arrays import Array
from dcembed.importers.operations import recognition
from dcembed.importers.operations.units import relu
from dcembed.importers.operations.values import Value, broadcast, fold
from dcembed.network.builder import NetworkBuilder, Tensor


def add(builder: NetworkBuilder, left: Value, right: Value) -> Value:
    """left + right."""
    if not isinstance(left, Tensor) and not isinstance(right, Tensor):
        total: Array = np.asarray(left) + np.asarray(right)
        return total
    return fold(builder.add(*broadcast(builder, left, right)))


def subtract(builder: NetworkBuilder, left: Value, right: Value) -> Value:
    """left - right."""
    return add(builder, left, negate(builder, right))


def negate(builder: NetworkBuilder, value: Value) -> Value:
    """-value."""
    return builder.scale(value, -1.0) if isinstance(value, Tensor) else -np.asarray(value)


def multiply(builder: NetworkBuilder, left: Value, right: Value) -> Value:
    """left * right; where both are computed, a known activation of one of them, or ((left + right)^2 - (left - right)^2) / 4."""
    if isinstance(right, Tensor):
        left, right = right, left
    if not isinstance(left, Tensor):
        product: Array = np.asarray(left) * np.asarray(right)
        return product
    if isinstance(right, Tensor):
        return recognition.product(builder, *broadcast(builder, left, right))
    factor = np.asarray(right, dtype=np.float64)
    wide, _ = broadcast(builder, left, factor)
    return builder.scale(wide, factor)


def scale(builder: NetworkBuilder, value: Value, factor: float) -> Value:
    """factor * value."""
    return value if factor == 1 else multiply(builder, value, np.asarray(factor))


def absolute(builder: NetworkBuilder, value: Value) -> Value:
    """|value| = 2 relu(value) - value."""
    if not isinstance(value, Tensor):
        return np.abs(value)
    return builder.add(builder.scale(builder.relu(value), 2.0), builder.scale(value, -1.0))


def maximum(builder: NetworkBuilder, left: Value, right: Value) -> Value:
    """max(left, right) = right + relu(left - right)."""
    return add(builder, right, relu(builder, subtract(builder, left, right)))


def minimum(builder: NetworkBuilder, left: Value, right: Value) -> Value:
    """min(left, right) = left - relu(left - right)."""
    return subtract(builder, left, relu(builder, subtract(builder, left, right)))
