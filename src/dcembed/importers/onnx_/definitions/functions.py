"""Functions of entries, rows and places in plain numpy where the reference rounds to single precision, or is off in some other way."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special

from dcembed.arrays import Array


def erf(x: Array) -> Array:
    """In double precision."""
    value: Array = scipy.special.erf(x)
    return value


def gelu(x: Array, approximate: str = "none") -> Array:
    """In double precision."""
    if approximate == "tanh":
        return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))
    value: Array = x * scipy.special.ndtr(x)
    return value


def hard_swish(x: Array) -> Array:
    """With 1 / 6 in double precision."""
    return x * np.clip(x / 6.0 + 0.5, 0.0, 1.0)


def softplus(x: Array) -> Array:
    """The reference overflows."""
    return np.logaddexp(0.0, x)


def attention(
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None = None,
    is_causal: int = 0,
    kv_num_heads: int = 0,
    q_num_heads: int = 0,
    scale: float | None = None,
    softcap: float = 0.0,
    **others: Any,
) -> Array:
    """The reference takes the root of the scale in single precision."""

    def heads(x: Array, number: int) -> Array:
        return x if x.ndim == 4 else x.reshape(*x.shape[:2], number, -1).swapaxes(1, 2)

    q, k, v = heads(query, q_num_heads), heads(key, kv_num_heads), heads(value, kv_num_heads)
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    scores = q @ k.swapaxes(2, 3) * (1.0 / math.sqrt(q.shape[-1]) if scale is None else scale)
    scores = softcap * np.tanh(scores / softcap) if softcap else scores
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if is_causal:
        scores = np.where(np.tri(*scores.shape[2:]) > 0, scores, -np.inf)
    result: Array = scipy.special.softmax(scores, axis=-1) @ v
    return result if query.ndim == 4 else result.swapaxes(1, 2).reshape(*query.shape[:2], -1)


def group_norm(x: Array, gamma: Array, beta: Array, num_groups: int, epsilon: float = 1e-5, stash_type: int = 1) -> Array:
    """The reference rounds to single precision."""
    groups = x.reshape(x.shape[0], num_groups, -1)
    centred = groups - groups.mean(axis=2, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(axis=2, keepdims=True) + epsilon)
    per_channel = [np.repeat(array, x.shape[1] // array.size).reshape(-1, *(1,) * (x.ndim - 2)) for array in (gamma, beta)]
    value: Array = scaled.reshape(x.shape) * per_channel[0] + per_channel[1]
    return value


def lp_normalization(x: Array, axis: int = -1, p: int = 2) -> Array:
    """The reference forgets signs in the sum of absolute values."""
    value: Array = x / np.linalg.norm(x, p, axis=axis, keepdims=True)
    return value


def cumulative_sum(x: Array, axis: Array, exclusive: int = 0, reverse: int = 0) -> Array:
    """The reference wants a number for the axis where exporters write a vector of one."""
    place = int(np.reshape(axis, -1)[0])
    turned = np.flip(x, place) if reverse else x
    sums = np.cumsum(turned, axis=place) - (turned if exclusive else 0)
    return np.flip(sums, place) if reverse else sums


def one_hot(indices: Array, depth: Array, values: Array, axis: int = -1) -> Array:
    """The reference wants whole numbers for the depth where exporters write others."""
    count = int(np.reshape(depth, -1)[0])
    places = np.where(indices < 0, indices + count, indices).astype(np.int64)
    codes = np.where(places[..., None] == np.arange(count), values[1], values[0])
    return np.moveaxis(codes, -1, axis)


def dequantize(x: Array, scale: Array, zero: Array | None = None, axis: int = 1, block_size: int = 0, output_dtype: int = 0) -> Array:
    """The reference begins at opset 19, and rounds to single precision."""

    def spread(array: Array) -> Array:
        if block_size:
            return np.repeat(array, block_size, axis=axis)[tuple(slice(0, size) for size in x.shape)]
        return array.reshape([-1 if place == axis % x.ndim else 1 for place in range(x.ndim)]) if array.size > 1 else array.reshape(())

    offset = 0.0 if zero is None else spread(zero.astype(np.float64))
    value: Array = (x.astype(np.float64) - offset) * spread(scale)
    return value


def dropout(x: Array, *others: Any, **attributes: Any) -> tuple[Array, Array]:
    """At inference, as all models are read."""
    return x, np.ones(x.shape, dtype=bool)
