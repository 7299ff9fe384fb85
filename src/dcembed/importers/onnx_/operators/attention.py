"""Attention of ONNX: softmax of products of computed values, times computed values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.importers import operations as ops
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.builder import NetworkBuilder, Tensor


def attention(
    builder: NetworkBuilder,
    query: Value,
    key: Value,
    value: Value,
    mask: Any = None,
    past_key: Any = None,
    past_value: Any = None,
    is_causal: int = 0,
    kv_num_heads: int = 0,
    q_num_heads: int = 0,
    qk_matmul_output_mode: int = 0,
    scale: float | None = None,
    softcap: float = 0.0,
    softmax_precision: int = 0,
) -> Value:
    """softmax(query key' / root of their size + mask) value, for every head; heads are an axis, or side by side in the last one."""
    if past_key is not None or past_value is not None:
        raise Unsupported("goes on from keys and values of before; export it without them")
    together = len(ops.shape_of(query)) == 3
    q = _heads(builder, query, q_num_heads) if together else query
    k, v = (_heads(builder, item, kv_num_heads) if together else item for item in (key, value))
    k, v = (_repeat(builder, item, ops.shape_of(q)[1]) for item in (k, v))
    size = ops.shape_of(q)[-1]
    turned = ops.transpose(builder, k, (0, 1, 3, 2))
    scores = ops.scale(builder, ops.matmul(builder, q, turned), 1.0 / math.sqrt(size) if scale is None else scale)
    if softcap:
        scores = ops.scale(builder, ops.tanh(builder, ops.scale(builder, scores, 1.0 / softcap)), softcap)
    added = _mask(mask, bool(is_causal), ops.shape_of(scores))
    weights = ops.softmax(builder, scores if added is None else ops.add(builder, scores, added), -1)
    result = ops.matmul(builder, weights, v)
    if not together:
        return result
    count, heads, length, width = ops.shape_of(result)
    return ops.reshape(builder, ops.transpose(builder, result, (0, 2, 1, 3)), (count, length, heads * width))


def _heads(builder: NetworkBuilder, value: Value, num_heads: int) -> Value:
    """(batch, length, heads * size) -> (batch, heads, length, size)."""
    count, length, width = ops.shape_of(value)
    if num_heads < 1 or width % num_heads:
        raise Unsupported(f"divides {width} columns into {num_heads} heads")
    return ops.transpose(builder, ops.reshape(builder, value, (count, length, num_heads, width // num_heads)), (0, 2, 1, 3))


def _repeat(builder: NetworkBuilder, value: Value, num_heads: int) -> Value:
    """Several heads of the query share one of keys and values."""
    own = ops.shape_of(value)[1]
    return value if own == num_heads else ops.repeat(builder, value, num_heads // own, 1)


def _mask(mask: Any, is_causal: bool, shape: tuple[int, ...]) -> Array | None:
    """What is added to the scores: minus infinity, or so, where nothing is to be seen."""
    if isinstance(mask, Tensor):
        raise Unsupported("has a mask that is computed from the input; give it a value with inputs={...}")
    seen = np.tri(shape[-2], shape[-1]) > 0 if is_causal else np.ones(shape[-2:], dtype=bool)
    added = np.zeros(shape[-2:])
    if mask is not None:
        array = np.asarray(mask)
        seen, added = (seen & array, added) if array.dtype.kind == "b" else (seen, added + array)
    return None if seen.all() and not added.any() else np.where(seen, added, -np.inf)
