"""Comparisons of computed values, and choices by them.

A choice jumps where its condition changes, unless what it chooses between is the same there. Then it is a function that is known by another
name: a rectifier, a maximum, an exponential unit written out. Those are recognized; the others are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.importers.operations import arithmetic, rearranging
from dcembed.importers.operations.activations import elu
from dcembed.importers.operations.structure import ratio, read_units
from dcembed.importers.operations.values import Unsupported, Value, as_tensor, shape_of
from dcembed.network.affine import Affine
from dcembed.network.builder import NetworkBuilder, Tensor

# Beyond it softplus is taken for a straight line: they differ by less than 1e-6.
STRAIGHT = 14.0
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Condition:
    """Holds where `above` is positive; also the number 1 there and 0 elsewhere."""

    above: Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        """As that of the value."""
        return self.above.shape


def is_above(builder: NetworkBuilder, left: Value, right: Value) -> Condition | Array:
    """left > right; no computed value is infinite, unless a constant in it is."""
    gap = arithmetic.subtract(builder, left, right)
    if not isinstance(gap, Tensor):
        return np.asarray(gap > 0)
    infinite = np.isinf(gap.affine.bias)
    if infinite.all():
        return (gap.affine.bias > 0).reshape(gap.shape)
    if infinite.any():
        raise Unsupported("compares values of which some are infinite")
    return Condition(gap)


def is_below(builder: NetworkBuilder, left: Value, right: Value) -> Condition | Array:
    """left < right."""
    return is_above(builder, right, left)


def is_not(builder: NetworkBuilder, condition: Any) -> Any:
    """The opposite."""
    if isinstance(condition, Condition):
        return Condition(builder.scale(condition.above, -1.0))
    raise Unsupported("negates a computed number")


def choose(builder: NetworkBuilder, condition: Any, left: Value, right: Value) -> Value:
    """left where the condition holds, right elsewhere; the condition is constant or a comparison."""
    if not isinstance(condition, Condition):
        return rearranging.where(builder, condition, left, right)
    shape = np.broadcast_shapes(condition.above.shape, shape_of(left), shape_of(right))
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


def let_through(builder: NetworkBuilder, left: Any, right: Any) -> Value:
    """A product; times a condition, the other factor where it holds and zero elsewhere."""
    if isinstance(right, Condition):
        left, right = right, left
    if isinstance(left, Condition):
        return choose(builder, left, right, np.asarray(0.0))
    return arithmetic.multiply(builder, left, right)


def _flat(builder: NetworkBuilder, value: Value, shape: tuple[int, ...]) -> Tensor:
    return builder.reshape(as_tensor(rearranging.expand(builder, value, shape)), (-1,))


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
    return builder.add(rest, builder.scale(as_tensor(elu(builder, builder.scale(above, inner))), units.factor))


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
