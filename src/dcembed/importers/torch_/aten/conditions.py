"""Comparisons of computed values, and choices by them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.importers import operations as ops
from dcembed.importers.operations import Unsupported, Value
from dcembed.importers.operations.conditions import Condition, choose, is_above, is_below, is_not, let_through
from dcembed.importers.operations.structure import blocks
from dcembed.network.builder import NetworkBuilder, Tensor

__all__ = ["CONDITIONS", "TAKE_CONDITIONS", "Condition"]


def _equal(builder: NetworkBuilder, left: Value, right: Value) -> Array:
    """Of a computed value and itself, and of one and infinity: where a constant has made them so."""
    gap = ops.subtract(builder, left, right)
    if not isinstance(gap, Tensor) or not blocks(gap.affine):
        return np.asarray(gap == 0) if not isinstance(gap, Tensor) else (gap.affine.bias == 0).reshape(gap.shape)
    if isinstance(left, Tensor) and not isinstance(right, Tensor) and np.isinf(right).all():
        return np.broadcast_to(left.affine.bias.reshape(left.shape) == right, gap.shape)
    raise Unsupported("asks whether values are equal, which jumps")


def _not_equal(builder: NetworkBuilder, left: Value, right: Value) -> Array:
    return ~_equal(builder, left, right)


def _infinite(builder: NetworkBuilder, value: Tensor) -> Array:
    return np.isinf(value.affine.bias).reshape(value.shape)


def _masked_fill(builder: NetworkBuilder, input: Value, mask: Any, value: Any) -> Value:
    return choose(builder, mask, value, input)


CONDITIONS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("gt", "ge", "greater", "greater_equal"), is_above),
    **dict.fromkeys(("lt", "le", "less", "less_equal"), is_below),
    **dict.fromkeys(("mul", "multiply"), let_through),
    **dict.fromkeys(("logical_not", "bitwise_not"), is_not),
    "eq": _equal,
    "ne": _not_equal,
    **dict.fromkeys(("isinf", "isposinf", "isneginf"), _infinite),
    "isnan": lambda builder, value: np.zeros(value.shape, dtype=bool),
    "isfinite": lambda builder, value: ~_infinite(builder, value),
    "nan_to_num": lambda builder, value, *args, **kwargs: value,
    "where": choose,
    "masked_fill": _masked_fill,
}

# Operators that are defined for conditions; all others compute with a jump.
TAKE_CONDITIONS = frozenset({"where", "masked_fill", "mul", "multiply", "logical_not", "bitwise_not", "_to_copy", "clone", "to"})
