"""Attention, in all the forms that torch has it in one operator."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dcembed.importers import operations as ops
from dcembed.importers.operations import Unsupported, Value
from dcembed.importers.torch_.aten.products import linear
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
    return ops.matmul(builder, _shares(builder, query, key, attn_mask, is_causal, scale), value)


def _shares(builder: NetworkBuilder, query: Value, key: Value, mask: Any, is_causal: bool = False, scale: float | None = None) -> Value:
    """softmax(query key^T * scale + mask): how much every place takes of every other."""
    factor = 1.0 / math.sqrt(ops.shape_of(query)[-1]) if scale is None else scale
    swapped = ops.rearrange(builder, key, lambda entries: np.swapaxes(entries, -1, -2))
    scores = ops.matmul(builder, ops.scale(builder, query, factor), swapped)
    return ops.softmax(builder, _masked(builder, scores, _causal(scores) if is_causal else mask), -1)


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


def _together(builder: NetworkBuilder, shares: Value, value: Value, weight: Any, bias: Any) -> Value:
    """What the heads give, side by side and through a last layer."""
    heads = ops.matmul(builder, shares, value)
    batch, count, places, size = ops.shape_of(heads)
    joined = ops.reshape(builder, ops.transpose(builder, heads, (0, 2, 1, 3)), (batch, places, count * size))
    return linear(builder, joined, weight, bias)


def _multi_head(
    builder: NetworkBuilder,
    query: Value,
    key: Value,
    value: Value,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Any,
    qkv_bias: Any,
    proj_weight: Any,
    proj_bias: Any,
    mask: Any = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: Any = None,
) -> tuple[Value, Value | None]:
    """What torch runs for nn.MultiheadAttention at inference: values, and the shares of all places."""
    if mask is not None:
        raise Unsupported("has a mask in a form that is not known; pass the Python module instead of TorchScript")
    weights, biases = (np.split(ops.as_constant(item, "a weight"), 3) for item in (qkv_weight, qkv_bias))
    first, second, third = (
        _heads(builder, linear(builder, item, weight, bias), num_heads)
        for item, weight, bias in zip((query, key, value), weights, biases, strict=True)
    )
    shares = _shares(builder, first, second, None)
    result = _together(builder, shares, third, proj_weight, proj_bias)
    if not need_weights:
        return result, None
    return result, ops.mean(builder, shares, 1) if average_attn_weights else shares


def _encoder_layer(builder: NetworkBuilder, src: Value, embed_dim: int, num_heads: int, *rest: Any) -> Value:
    """What torch runs for nn.TransformerEncoderLayer at inference."""
    (qkv_weight, qkv_bias, proj_weight, proj_bias), (use_gelu, norm_first, eps) = rest[:4], rest[4:7]
    norms, feed = rest[7:11], rest[11:15]
    mask = rest[15] if len(rest) > 15 else None

    def norm(value: Value, place: int) -> Value:
        return ops.layer_norm(builder, value, -1, norms[place], norms[place + 1], eps)

    def attend(value: Value) -> Value:
        return _multi_head(
            builder, value, value, value, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, need_weights=False
        )[0]

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
    "_native_multi_head_attention": _multi_head,
    "_transformer_encoder_layer_fwd": _encoder_layer,
}
