"""Operators as they were before a version that changed them, in plain numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dcembed.arrays import Array


def flat_softmax(function: Callable[..., Array]) -> Callable[..., Array]:
    """The axes from `axis` on count as one."""

    def run(x: Array, axis: int = 1) -> Array:
        rows = x.reshape(math.prod(x.shape[: axis % x.ndim if axis < 0 else axis]), -1)
        return function(rows, axis=1).reshape(x.shape)

    return run


def batch_norm(x: Array, gamma: Array, beta: Array, mean: Array, variance: Array, epsilon: float = 1e-5, **training: Any) -> Array:
    """The reference takes `momentum` for a sign of training."""
    shape = (-1, *(1,) * (x.ndim - 2))
    value: Array = (x - mean.reshape(shape)) / np.sqrt(variance.reshape(shape) + epsilon) * gamma.reshape(shape) + beta.reshape(shape)
    return value


def laid_along(function: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    """The right value is laid along the left one from `axis` on, its last axes by default."""

    def run(left: Array, right: Array, axis: int | None = None, broadcast: int = 0) -> Array:
        if axis is not None and broadcast and right.ndim:
            right = right.reshape(right.shape + (1,) * (left.ndim - right.ndim - axis % left.ndim))
        return function(left, right)

    return run


def prelu(x: Array, slope: Array) -> Array:
    """One slope per channel."""
    along = slope.reshape(-1, *(1,) * (x.ndim - 2)) if slope.size > 1 and slope.ndim == 1 else slope
    return np.where(x > 0, x, along * x)


def reshape(x: Array, *sizes: Array, shape: Any = None) -> Array:
    """The shape is an attribute before opset 5."""
    wanted = [int(size) for size in (sizes[0] if sizes else shape)]
    return x.reshape([x.shape[place] if size == 0 else size for place, size in enumerate(wanted)])


def scatter(x: Array, indices: Array, updates: Array, axis: int = 0) -> Array:
    """The name that ScatterElements had before opset 11."""
    result = x.copy()
    np.put_along_axis(result, indices, updates, axis)
    return result
