"""Reductions of ONNX over axes, which are attributes in older opsets and inputs in newer ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dcembed.importers import operations as ops
from dcembed.importers.lowering import UNKNOWN
from dcembed.importers.onnx_.operators.shapes import whole_numbers
from dcembed.importers.operations import Value
from dcembed.network.builder import NetworkBuilder

Reduction = Callable[..., Value]


def over_axes(reduction: Reduction) -> Reduction:
    """A reduction with the arguments of ONNX; without axes it goes over all of them, or does nothing if it is told so."""

    def handler(
        builder: NetworkBuilder, x: Value, axes_input: Any = None, axes: Any = None, keepdims: int = 1, noop_with_empty_axes: int = 0
    ) -> Value:
        given = axes if axes_input is None else axes_input
        chosen = None if given is None else whole_numbers(given, "axes")
        if not chosen and noop_with_empty_axes:
            chosen = []
        return reduction(builder, x, chosen if chosen or noop_with_empty_axes else None, bool(keepdims))

    return handler


def top_k(
    builder: NetworkBuilder, x: Value, count: Any = None, axis: int = -1, largest: int = 1, sorted: int = 1, k: int | None = None
) -> tuple[Value, Any]:
    """The largest or smallest entries along an axis in their order; where they were jumps, and is not given."""
    number = k if count is None else whole_numbers(count, "a number")[0]
    ordered = ops.sort(builder, x, axis, descending=bool(largest))
    return ops.take(builder, ordered, np.arange(number or 0), axis), UNKNOWN


def norm(order: float) -> Reduction:
    """The norm of this order."""
    return lambda builder, x, axes, keepdims: ops.norm(builder, x, order, axes, keepdims)
