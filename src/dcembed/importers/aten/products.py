"""Operators that multiply matrices, and attention."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dcembed.importers import operations as ops
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.builder import NetworkBuilder, Tensor


def _linear(builder: NetworkBuilder, input: Value, weight: Value, bias: Any = None) -> Value:
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
    one, other = (
        ops.rearrange(builder, value, lambda entries, axis=axis: np.expand_dims(entries, axis)) for value, axis in ((left, -2), (right, -3))
    )
    return ops.norm(builder, ops.subtract(builder, one, other), p, -1)


def _attention(
    builder: NetworkBuilder,
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Value:
    """softmax(query key^T * scale + mask) value."""
    if dropout_p > 0:
        raise Unsupported("drops entries at random also at inference; export the model in evaluation mode (model.eval())")
    if enable_gqa:
        times = ops.shape_of(query)[-3] // ops.shape_of(key)[-3]
        key, value = (ops.repeat(builder, item, times, -3) for item in (key, value))
    factor = 1.0 / math.sqrt(ops.shape_of(query)[-1]) if scale is None else scale
    swapped = ops.rearrange(builder, key, lambda entries: np.swapaxes(entries, -1, -2))
    scores = ops.matmul(builder, ops.scale(builder, query, factor), swapped)
    scores = _masked(builder, scores, _causal(scores) if is_causal else attn_mask)
    return ops.matmul(builder, ops.softmax(builder, scores, -1), value)


def _causal(scores: Value) -> Any:
    return np.tril(np.ones(ops.shape_of(scores)[-2:], dtype=bool))


def _masked(builder: NetworkBuilder, scores: Value, mask: Any) -> Value:
    if mask is None:
        return scores
    if not isinstance(mask, Tensor) and np.asarray(mask).dtype == bool:
        return ops.where(builder, mask, scores, np.asarray(-np.inf))
    return ops.add(builder, scores, mask)


def _flash_attention(
    builder: NetworkBuilder, query: Value, key: Value, value: Value, dropout_p: float = 0.0, is_causal: bool = False, **kwargs: Any
) -> tuple[Value, None]:
    return _attention(builder, query, key, value, kwargs.get("attn_mask"), dropout_p, is_causal, scale=kwargs.get("scale")), None


PRODUCTS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("matmul", "mm", "bmm", "mv", "dot", "vdot", "linalg_matmul", "_sparse_mm"), ops.matmul),
    **dict.fromkeys(("addmm", "baddbmm", "addmv", "_sparse_addmm"), _add_product),
    **dict.fromkeys(("outer", "ger"), _outer),
    "linear": _linear,
    "addbmm": _add_products,
    "einsum": _einsum,
    "bilinear": _bilinear,
    **dict.fromkeys(("cdist", "_cdist_forward", "_euclidean_dist"), _distances),
    "scaled_dot_product_attention": _attention,
    "_scaled_dot_product_flash_attention_for_cpu": _flash_attention,
}
