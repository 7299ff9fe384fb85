"""Attention, in all the forms that torch has it in one operator."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dcembed.importers import operations as ops
from dcembed.importers.aten.products import linear
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.builder import NetworkBuilder, Tensor


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


def _heads(builder: NetworkBuilder, value: Value, count: int) -> Value:
    """(batch, places, features) -> (batch, heads, places, features of a head)."""
    batch, places, features = ops.shape_of(value)
    return ops.transpose(builder, ops.reshape(builder, value, (batch, places, count, features // count)), (0, 2, 1, 3))


def _self_attention(builder: NetworkBuilder, value: Value, num_heads: int, weights: Sequence[Any], mask: Any) -> Value:
    """Of a value with itself; the weights are those of query, key and value together, and those of the result."""
    size = ops.shape_of(value)[-1]
    together = linear(builder, value, weights[0], weights[1])
    parts = [_heads(builder, part, num_heads) for part in ops.split(builder, together, [size] * 3, -1)]
    joined = ops.transpose(builder, _attention(builder, parts[0], parts[1], parts[2], mask), (0, 2, 1, 3))
    return linear(builder, ops.reshape(builder, joined, ops.shape_of(value)), weights[2], weights[3])


def _encoder_layer(builder: NetworkBuilder, src: Value, embed_dim: int, num_heads: int, *rest: Any) -> Value:
    """What torch runs for nn.TransformerEncoderLayer at inference."""
    attention, (use_gelu, norm_first, eps), norms, feed = rest[:4], rest[4:7], rest[7:11], rest[11:15]
    if len(rest) > 15 and rest[15] is not None:
        raise Unsupported("has a mask; take the Python module, or one in training mode, before it is scripted")

    def norm(value: Value, place: int) -> Value:
        return ops.layer_norm(builder, value, -1, norms[place], norms[place + 1], eps)

    def attend(value: Value) -> Value:
        return _self_attention(builder, value, num_heads, attention, None)

    def forward(value: Value) -> Value:
        inner = linear(builder, value, feed[0], feed[1])
        return linear(builder, ops.gelu(builder, inner) if use_gelu else ops.relu(builder, inner), feed[2], feed[3])

    if norm_first:
        src = ops.add(builder, src, attend(norm(src, 0)))
        return ops.add(builder, src, forward(norm(src, 2)))
    src = norm(ops.add(builder, src, attend(src)), 0)
    return norm(ops.add(builder, src, forward(src)), 2)


ATTENTION: dict[str, Callable[..., Any]] = {
    "scaled_dot_product_attention": _attention,
    "_scaled_dot_product_flash_attention_for_cpu": _flash_attention,
    "_transformer_encoder_layer_fwd": _encoder_layer,
}
