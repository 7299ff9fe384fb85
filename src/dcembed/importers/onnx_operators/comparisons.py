"""Comparisons of computed values, where what is chosen by them does not jump: max, min, relu and shrinkage written out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcembed.importers import operations as ops
from dcembed.importers.onnx_operators.activations import cast
from dcembed.importers.onnx_operators.normalization import is_positive
from dcembed.importers.operations import Unsupported, Value
from dcembed.importers.operations.structure import blocks, ratio
from dcembed.network.builder import NetworkBuilder, Tensor

# What is chosen may differ by this where the comparison turns, relative to its size: constants come in single precision.
ROUNDING = 1e-6
_JUMPS = (
    "chooses by a comparison of computed values, and jumps where it turns; only continuous functions can be embedded. Write max, min, clip or "
    "relu where they do the same"
)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Whether a computed value is positive, entry by entry; also as the number 1 or 0."""

    gap: Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the value."""
        return self.gap.shape


def greater(builder: NetworkBuilder, left: Value, right: Value) -> Comparison:
    """left > right, or left >= right: which of them does not matter for what is continuous."""
    return Comparison(ops.as_tensor(ops.subtract(builder, left, right)))


def less(builder: NetworkBuilder, left: Value, right: Value) -> Comparison:
    """left < right, or left <= right."""
    return greater(builder, right, left)


def invert(builder: NetworkBuilder, condition: Comparison) -> Comparison:
    """The opposite."""
    return Comparison(builder.scale(condition.gap, -1.0))


def cast_comparison(builder: NetworkBuilder, x: Any, to: int, saturate: int = 1, round_mode: str = "up") -> Any:
    """A comparison as numbers, or another value in another type."""
    return x if isinstance(x, Comparison) else cast(builder, x, to, saturate, round_mode)


def where(builder: NetworkBuilder, condition: Any, left: Value, right: Value) -> Value:
    """left where a condition holds, right elsewhere: right + s relu(gap) if left - right is s times the value that is compared with zero."""
    if not isinstance(condition, Comparison):
        return ops.where(builder, condition, left, right)
    difference, gap = ops.broadcast(builder, ops.subtract(builder, left, right), condition.gap)
    if not blocks(difference.affine) and not difference.affine.bias.any():
        return right
    factor = ratio(difference.affine, gap.affine)
    if factor is None:
        raise Unsupported(_JUMPS)
    jump = np.abs(difference.affine.bias - factor * gap.affine.bias)
    if (jump > ROUNDING * (1.0 + np.abs(difference.affine.bias))).any():
        raise Unsupported(_JUMPS)
    return ops.add(builder, right, builder.scale(builder.relu(gap), factor.reshape(gap.shape)))


def multiply(builder: NetworkBuilder, left: Any, right: Any) -> Value:
    """A product; with a comparison, what it lets through."""
    if isinstance(left, Comparison):
        left, right = right, left
    if isinstance(left, Comparison):
        raise Unsupported(_JUMPS)
    return where(builder, right, left, np.asarray(0.0)) if isinstance(right, Comparison) else ops.multiply(builder, left, right)


def sign(builder: NetworkBuilder, x: Tensor) -> Value:
    """1 for what is positive all but everywhere, such as sums of squares; all else jumps."""
    if not is_positive(builder, x, ("square",)):
        raise Unsupported("jumps at zero; only continuous functions can be embedded. Export the model without it")
    return np.ones(x.shape)


def refuse_comparison(inputs: Any, handler: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """The handler, unless it would get a comparison that it does not know."""
    if handler in _KNOWN or not any(isinstance(value, Comparison) for value in inputs):
        return handler

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise Unsupported(_JUMPS)

    return refuse


_KNOWN = (cast_comparison, invert, multiply, where)
