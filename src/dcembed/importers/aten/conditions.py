"""Comparisons of computed values, and choices by them.

A choice jumps where its condition changes, unless what it chooses between is the same there. Then it is a function that is known by another
name: a rectifier, a maximum, an exponential unit written out. Those are recognized; the others are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.importers import operations as ops
from dcembed.importers.operations import Unsupported, Value
from dcembed.importers.operations.structure import blocks, ratio, read_units
from dcembed.network.affine import Affine
from dcembed.network.builder import NetworkBuilder, Tensor

# Beyond it softplus is taken for a straight line: they differ by less than 1e-6.
STRAIGHT = 14.0
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Condition:
    """Holds where `above` is positive."""

    above: Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        """As that of the value."""
        return self.above.shape


def _above(builder: NetworkBuilder, left: Value, right: Value) -> Condition | Array:
    """left > right; no computed value is infinite, unless a constant in it is."""
    gap = ops.subtract(builder, left, right)
    if not isinstance(gap, Tensor):
        return np.asarray(gap > 0)
    infinite = np.isinf(gap.affine.bias)
    if infinite.all():
        return (gap.affine.bias > 0).reshape(gap.shape)
    if infinite.any():
        raise Unsupported("compares values of which some are infinite")
    return Condition(gap)


def _below(builder: NetworkBuilder, left: Value, right: Value) -> Condition | Array:
    return _above(builder, right, left)


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


def _not(builder: NetworkBuilder, condition: Any) -> Any:
    if isinstance(condition, Condition):
        return Condition(builder.scale(condition.above, -1.0))
    raise Unsupported("negates a computed number")


def where(builder: NetworkBuilder, condition: Any, left: Value, right: Value) -> Value:
    """left where the condition holds, right elsewhere."""
    if not isinstance(condition, Condition):
        return ops.where(builder, condition, left, right)
    shape = np.broadcast_shapes(condition.above.shape, ops.shape_of(left), ops.shape_of(right))
    above, yes, no = (_flat(builder, value, shape) for value in (condition.above, left, right))
    for sign, one, other in ((1.0, yes, no), (-1.0, no, yes)):
        for read in (_rectifier, _exponential_unit, _softplus):
            found = read(builder, builder.scale(above, sign), one, other)
            if found is not None:
                return builder.reshape(found, shape)
    raise Unsupported(
        "chooses by a computed value between two that may differ where the choice changes: it jumps there; "
        "use maximum, minimum, clamp or relu where they do it"
    )


def _flat(builder: NetworkBuilder, value: Value, shape: tuple[int, ...]) -> Tensor:
    return builder.reshape(ops.as_tensor(ops.expand(builder, value, shape)), (-1,))


def _multiple(value: Affine, base: Affine) -> Array | None:
    """Numbers s with value = s * base, biases included; None if there are none."""
    if not any(np.any(block.data if hasattr(block, "data") else block) for block in value.weights.values()):
        return np.zeros(value.num_rows) if not value.bias.any() else None
    factor = ratio(value, base)
    if factor is None:
        return None
    size = max(1.0, float(np.abs(value.bias).max(initial=0.0)))
    return factor if np.abs(value.bias - factor * base.bias).max(initial=0.0) <= ROUNDING * size else None


def _rectifier(builder: NetworkBuilder, above: Tensor, yes: Tensor, no: Tensor) -> Tensor | None:
    """no + s relu(above), where yes - no = s above."""
    factor = _multiple(builder.add(yes, builder.scale(no, -1.0)).affine, above.affine)
    return None if factor is None else builder.add(no, builder.scale(builder.relu(above), factor))


def _exponential_unit(builder: NetworkBuilder, above: Tensor, yes: Tensor, no: Tensor) -> Tensor | None:
    """s x where x is positive, c (exp(k x) - 1) elsewhere: s relu(x) + c (elu(k x) - k relu(x))."""
    units = read_units(builder, no.affine)
    slope = _multiple(yes.affine, above.affine)
    if units is None or slope is None or units.activation.name != "exp" or not np.allclose(units.shift, -units.factor, rtol=1e-12):
        return None
    inner = _multiple(units.before, above.affine)
    if inner is None or (inner <= 0).any():
        return None
    rest = builder.scale(builder.relu(above), slope - units.factor * inner)
    elu = ops.elu(builder, builder.scale(above, inner))
    return builder.add(rest, builder.scale(ops.as_tensor(elu), units.factor))


def _softplus(builder: NetworkBuilder, above: Tensor, yes: Tensor, no: Tensor) -> Tensor | None:
    """Softplus, with a straight line in its place where they hardly differ."""
    units = read_units(builder, no.affine)
    if units is None or units.activation.name != "softplus":
        return None
    straight = _multiple(yes.affine, units.before)
    beyond = ratio(above.affine, units.before)
    if straight is None or beyond is None or (beyond <= 0).any() or not np.allclose(straight, units.factor, rtol=1e-12):
        return None
    limit = units.before.bias - above.affine.bias / beyond
    return no if not units.shift.any() and (limit >= STRAIGHT).all() else None


def multiply(builder: NetworkBuilder, left: Any, right: Any) -> Value:
    """Times a condition: the other factor where it holds, zero elsewhere."""
    if isinstance(right, Condition):
        left, right = right, left
    return where(builder, left, right, np.asarray(0.0)) if isinstance(left, Condition) else ops.multiply(builder, left, right)


def _masked_fill(builder: NetworkBuilder, input: Value, mask: Any, value: Any) -> Value:
    return where(builder, mask, value, input)


CONDITIONS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("gt", "ge", "greater", "greater_equal"), _above),
    **dict.fromkeys(("lt", "le", "less", "less_equal"), _below),
    **dict.fromkeys(("mul", "multiply"), multiply),
    **dict.fromkeys(("logical_not", "bitwise_not"), _not),
    "eq": _equal,
    "ne": _not_equal,
    **dict.fromkeys(("isinf", "isposinf", "isneginf"), _infinite),
    "isnan": lambda builder, value: np.zeros(value.shape, dtype=bool),
    "isfinite": lambda builder, value: ~_infinite(builder, value),
    "nan_to_num": lambda builder, value, *args, **kwargs: value,
    "where": where,
    "masked_fill": _masked_fill,
}

# Operators that are defined for conditions; all others compute with a jump.
TAKE_CONDITIONS = frozenset({"where", "masked_fill", "mul", "multiply", "logical_not", "bitwise_not", "_to_copy", "clone", "to"})
