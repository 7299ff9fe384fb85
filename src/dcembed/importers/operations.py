"""Operations of a computation graph on values that are computed (`Tensor`) or constant (`ndarray`).

Shapes are whole shapes, as the framework sees them when it is given one point: a batch axis, where a model
has one, is an axis of size 1. Whether a model treats real batches the same way is settled by `check`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.errors import NetworkError
from dcembed.network.activations import RELU, Activation
from dcembed.network.activations.smooth import square
from dcembed.network.affine import Affine
from dcembed.network.builder import NetworkBuilder, Tensor

Value = Tensor | Array


class Unsupported(Exception):
    """Raised by an operation that has no piecewise-linear form here; the message is the reason."""


def as_constant(value: Any, what: str) -> Array:
    """`value` as float64, or `Unsupported` when it is computed from the input."""
    if isinstance(value, Tensor):
        raise Unsupported(f"{what} is computed from the input; it must be a constant")
    return np.asarray(value, dtype=np.float64)


def as_tensor(value: Value | float) -> Tensor:
    """`value` as a Tensor; a constant becomes one that uses no source."""
    if isinstance(value, Tensor):
        return value
    array = np.asarray(value, dtype=np.float64)
    return Tensor(Affine({}, array.reshape(-1)), array.shape)


def select(builder: NetworkBuilder, value: Tensor, choose: Callable[[Array], Array]) -> Tensor:
    """Rearrange, repeat or drop entries: `choose` is what numpy would do to an array of this shape."""
    size = value.affine.num_rows
    entries = np.asarray(choose(np.arange(size).reshape(value.shape)))
    builder.growth.check(entries.size, f"A value of shape {entries.shape}")
    if entries.size == size and np.array_equal(entries.reshape(-1), np.arange(size)):
        return builder.reshape(value, entries.shape)
    picks = sp.csr_array((np.ones(entries.size), entries.reshape(-1), np.arange(entries.size + 1)), shape=(entries.size, size))
    return builder.reshape(builder.linear(builder.reshape(value, (size,)), picks), entries.shape)


def broadcast(builder: NetworkBuilder, left: Value, right: Value) -> tuple[Tensor, Tensor]:
    """Both values, repeated to their common shape."""
    left, right = as_tensor(left), as_tensor(right)
    shape = np.broadcast_shapes(left.shape, right.shape)
    spread = [value if value.shape == shape else select(builder, value, lambda a: np.broadcast_to(a, shape)) for value in (left, right)]
    return spread[0], spread[1]


def add(builder: NetworkBuilder, left: Value, right: Value) -> Value:
    """left + right."""
    if not isinstance(left, Tensor) and not isinstance(right, Tensor):
        total: Array = np.asarray(left) + np.asarray(right)
        return total
    return builder.add(*broadcast(builder, left, right))


def subtract(builder: NetworkBuilder, left: Value, right: Value) -> Value:
    """left - right."""
    return add(builder, left, negate(builder, right))


def negate(builder: NetworkBuilder, value: Value) -> Value:
    """-value."""
    return builder.scale(value, -1.0) if isinstance(value, Tensor) else -np.asarray(value)


def multiply(builder: NetworkBuilder, left: Value, right: Value) -> Value:
    """left * right; where both are computed, ((left + right)^2 - (left - right)^2) / 4."""
    if isinstance(right, Tensor):
        left, right = right, left
    if not isinstance(left, Tensor):
        product: Array = np.asarray(left) * np.asarray(right)
        return product
    if isinstance(right, Tensor):
        return _product(builder, left, right)
    factor = np.asarray(right, dtype=np.float64)
    wide, _ = broadcast(builder, left, factor)
    return builder.scale(wide, factor)


def _product(builder: NetworkBuilder, left: Tensor, right: Tensor) -> Tensor:
    left, right = broadcast(builder, left, right)
    if left.affine is right.affine:
        return builder.activate(left, square())
    total, gap = builder.add(left, right), builder.add(left, builder.scale(right, -1.0))
    # One stage for both, so that products of many entries stay few stages.
    both = builder.activate(builder.concat([_flat(builder, total), _flat(builder, gap)]), square())
    size = total.affine.num_rows
    signs = sp.hstack([sp.eye_array(size), -sp.eye_array(size)], format="csr") * 0.25
    return builder.reshape(builder.linear(both, signs), total.shape)


def _flat(builder: NetworkBuilder, value: Tensor) -> Tensor:
    return builder.reshape(value, (value.affine.num_rows,))


def divide(builder: NetworkBuilder, left: Value, right: Value) -> Value:
    """left / right; the divisor is constant."""
    if isinstance(right, Tensor):
        raise Unsupported("divides by a computed value")
    divisor = np.asarray(right, dtype=np.float64)
    if (divisor == 0).any():
        raise Unsupported("divides by zero")
    if not isinstance(left, Tensor):
        return np.asarray(left) / divisor
    return multiply(builder, left, 1.0 / divisor)


def matmul(builder: NetworkBuilder, left: Value, right: Value) -> Value:
    """left @ right; one of them is a constant matrix or vector."""
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        raise Unsupported("multiplies two computed values")
    if isinstance(left, Tensor):
        return _times_matrix(builder, left, as_constant(right, "the matrix"))
    matrix = as_constant(left, "the matrix")
    if not isinstance(right, Tensor):
        product: Array = matrix @ np.asarray(right)
        return product
    if matrix.ndim != 2:
        raise Unsupported(f"multiplies by an array of {matrix.ndim} axes from the left; a matrix is accepted")
    if len(right.shape) == 1:
        return builder.linear(right, matrix)
    swapped = select(builder, right, lambda a: np.swapaxes(a, -1, -2))
    return select(builder, builder.linear(swapped, matrix), lambda a: np.swapaxes(a, -1, -2))


def _times_matrix(builder: NetworkBuilder, value: Tensor, matrix: Array) -> Tensor:
    if matrix.ndim == 1:
        product = builder.linear(value, matrix[None, :])
        return builder.reshape(product, product.shape[:-1])
    if matrix.ndim != 2:
        raise Unsupported(f"multiplies by an array of {matrix.ndim} axes; a matrix is accepted")
    return builder.linear(value, matrix.T)


def relu(builder: NetworkBuilder, value: Value) -> Value:
    """max(value, 0)."""
    return activate(builder, value, RELU)


def activate(builder: NetworkBuilder, value: Value, activation: Activation) -> Value:
    """A function of every entry."""
    return builder.activate(value, activation) if isinstance(value, Tensor) else activation.value(np.asarray(value, dtype=np.float64))


def leaky_relu(builder: NetworkBuilder, value: Value, slope: Value | float) -> Tensor:
    """value where positive, slope * value where negative."""
    return builder.leaky_relu(as_tensor(value), as_constant(slope, "the slope"))


def clip(builder: NetworkBuilder, value: Value, low: Value | float | None, high: Value | float | None) -> Tensor:
    """Between `low` and `high`; None is no limit."""
    lower = as_constant(-np.inf if low is None else low, "the lower limit")
    upper = as_constant(np.inf if high is None else high, "the upper limit")
    if (lower > upper).any():
        raise Unsupported(f"has a lower limit ({lower}) above its upper limit ({upper})")
    if any(np.isinf(limit).any() and not np.isinf(limit).all() for limit in (lower, upper)):
        raise Unsupported("has limits that are finite for some entries only")
    return builder.clip(as_tensor(value), lower, upper)


def absolute(builder: NetworkBuilder, value: Value) -> Value:
    """|value| = 2 relu(value) - value."""
    if not isinstance(value, Tensor):
        return np.abs(value)
    return builder.add(builder.scale(builder.relu(value), 2.0), builder.scale(value, -1.0))


def maximum(builder: NetworkBuilder, left: Value, right: Value) -> Value:
    """max(left, right) = right + relu(left - right)."""
    return add(builder, right, relu(builder, subtract(builder, left, right)))


def minimum(builder: NetworkBuilder, left: Value, right: Value) -> Value:
    """min(left, right) = left - relu(left - right)."""
    return subtract(builder, left, relu(builder, subtract(builder, left, right)))


def transpose(builder: NetworkBuilder, value: Value, axes: Sequence[int] | None = None) -> Value:
    """Permute the axes; None reverses them."""
    if not isinstance(value, Tensor):
        return np.transpose(value, axes)
    return select(builder, value, lambda a: np.transpose(a, axes))


def reshape(builder: NetworkBuilder, value: Value, shape: Sequence[int]) -> Value:
    """The same entries in another shape; one -1 is filled in."""
    if not isinstance(value, Tensor):
        return np.reshape(value, tuple(shape))
    return builder.reshape(value, shape)


def concat(builder: NetworkBuilder, values: Sequence[Value], axis: int) -> Value:
    """Join along `axis`."""
    if not any(isinstance(value, Tensor) for value in values):
        return np.concatenate([np.asarray(value) for value in values], axis=axis)
    return builder.concat([as_tensor(value) for value in values], axis=axis)


def along_axis(vector: Any, axis: int, num_axes: int) -> Array:
    """A vector with one entry per channel, shaped to broadcast along `axis` of a value with `num_axes` axes.

    Examples
    --------
    >>> along_axis([1.0, 2.0, 3.0], axis=1, num_axes=3).shape
    (1, 3, 1)
    """
    array = np.asarray(vector, dtype=np.float64).reshape(-1)
    shape = [1] * num_axes
    shape[axis] = array.size
    return array.reshape(shape)


def batch_norm(
    builder: NetworkBuilder, value: Value, mean: Any, variance: Any, gamma: Any, beta: Any, epsilon: float, axis: int = 1
) -> Tensor:
    """Batch normalization at inference: gamma * (value - mean) / sqrt(variance + epsilon) + beta, a scale and a shift per channel.

    `gamma` and `beta` may be None (one and zero).
    """
    value = as_tensor(value)
    if axis >= len(value.shape) or np.size(mean) != value.shape[axis]:
        raise NetworkError(
            f"A batch normalization of {np.size(mean)} channels along axis {axis} does not fit a value of shape {value.shape}."
        )
    factor = (1.0 if gamma is None else as_constant(gamma, "gamma")) / np.sqrt(as_constant(variance, "the variance") + epsilon)
    amount = (0.0 if beta is None else as_constant(beta, "beta")) - as_constant(mean, "the mean") * factor
    num_axes = len(value.shape)
    return builder.shift(builder.scale(value, along_axis(factor, axis, num_axes)), along_axis(amount, axis, num_axes))
