"""Operators that multiply matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dcembed.importers import operations as ops
from dcembed.importers.operations import Value
from dcembed.network.builder import NetworkBuilder, Tensor


def linear(builder: NetworkBuilder, input: Value, weight: Value, bias: Any = None) -> Value:
    """input @ weight^T + bias."""
    if isinstance(input, Tensor) and not isinstance(weight, Tensor) and not isinstance(bias, Tensor):
        return builder.linear(input, np.asarray(weight, dtype=np.float64), None if bias is None else np.asarray(bias, dtype=np.float64))
    product = ops.matmul(builder, input, ops.transpose(builder, weight))
    return product if bias is None else ops.add(builder, product, bias)


def _add_product(builder: NetworkBuilder, input: Value, left: Value, right: Value, *, beta: float = 1, alpha: float = 1) -> Value:
    """beta * input + alpha * left @ right."""
    product = ops.scale(builder, ops.matmul(builder, left, right), alpha)
    return product if beta == 0 else ops.add(builder, ops.scale(builder, input, beta), product)


def _add_products(builder: NetworkBuilder, input: Value, left: Value, right: Value, *, beta: float = 1, alpha: float = 1) -> Value:
    """The same with a sum over the batch of matrices."""
    product = ops.scale(builder, ops.total(builder, ops.matmul(builder, left, right), 0), alpha)
    return product if beta == 0 else ops.add(builder, ops.scale(builder, input, beta), product)


def _outer(builder: NetworkBuilder, left: Value, right: Value) -> Value:
    return ops.einsum(builder, "i,j->ij", left, right)


def _einsum(builder: NetworkBuilder, equation: str, operands: Sequence[Value], *, path: Any = None) -> Value:
    return ops.einsum(builder, equation, *operands)


def _bilinear(builder: NetworkBuilder, left: Value, right: Value, weight: Any, bias: Any = None) -> Value:
    """left W right for every matrix W of the weight. The constant goes first into the left side: that is one product, not two."""
    half = ops.einsum(builder, "...i,oij->...oj", left, ops.as_constant(weight, "the weight"))
    result = ops.einsum(builder, "...oj,...j->...o", half, right)
    return result if bias is None else ops.add(builder, result, bias)


def _distances(builder: NetworkBuilder, left: Value, right: Value, p: float = 2.0, compute_mode: Any = None) -> Value:
    """Norms of the differences of all rows."""
    one = ops.rearrange(builder, left, lambda entries: np.expand_dims(entries, -2))
    other = ops.rearrange(builder, right, lambda entries: np.expand_dims(entries, -3))
    return ops.norm(builder, ops.subtract(builder, one, other), p, -1)


PRODUCTS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("matmul", "mm", "bmm", "mv", "dot", "vdot", "linalg_matmul", "_sparse_mm"), ops.matmul),
    **dict.fromkeys(("addmm", "baddbmm", "addmv", "_sparse_addmm"), _add_product),
    **dict.fromkeys(("outer", "ger"), _outer),
    "linear": linear,
    "addbmm": _add_products,
    "einsum": _einsum,
    "bilinear": _bilinear,
    **dict.fromkeys(("cdist", "_cdist_forward", "_euclidean_dist"), _distances),
}
