"""Operators of ONNX on comparisons of computed values, where what is chosen by them does not jump."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dcembed.importers import operations as ops
from dcembed.importers.onnx_.operators.activations import cast
from dcembed.importers.onnx_.operators.normalization import is_positive
from dcembed.importers.operations import Condition, Unsupported, Value
from dcembed.network.builder import NetworkBuilder, Tensor


def cast_comparison(builder: NetworkBuilder, x: Any, to: int, saturate: int = 1, round_mode: str = "up") -> Any:
    """A comparison as numbers, or another value in another type."""
    return x if isinstance(x, Condition) else cast(builder, x, to, saturate, round_mode)


def sign(builder: NetworkBuilder, x: Tensor) -> Value:
    """1 for what is positive all but everywhere, such as sums of squares; all else jumps."""
    if not is_positive(builder, x, ("square",)):
        raise Unsupported("jumps at zero; only continuous functions can be embedded. Export the model without it")
    return np.ones(x.shape)


def refuse_comparison(inputs: Any, handler: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """The handler, unless it would get a comparison that it does not know."""
    if handler in _KNOWN or not any(isinstance(value, Condition) for value in inputs):
        return handler

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise Unsupported(
            "computes with a comparison of computed values, which jumps; only continuous functions can be embedded. Write max, min, clip or "
            "relu where they do the same"
        )

    return refuse


_KNOWN = (cast_comparison, ops.choose, ops.is_not, ops.let_through)
