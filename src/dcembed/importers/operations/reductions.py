"""Sums, means, products, extremes and norms over axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.importers.operations.arithmetic import absolute, multiply, negate, subtract
from dcembed.importers.operations.extremes import largest, log_sum_exp_of
from dcembed.importers.operations.powers import log, power, sqrt, square
from dcembed.importers.operations.rearranging import reshape, take
from dcembed.importers.operations.values import Unsupported, Value, rearrange, shape_of, transform
from dcembed.network.builder import NetworkBuilder, Tensor

Axes = int | Sequence[int] | None


def total(builder: NetworkBuilder, value: Value, axes: Axes = None, keepdims: bool = False) -> Value:
    """The sum over `axes`; over all of them if None."""
    shape, chosen = shape_of(value), as_axes(axes, len(shape_of(value)))
    if not isinstance(value, Tensor):
        added: Array = np.sum(np.asarray(value), axis=chosen, keepdims=keepdims)
        return added
    to = np.arange(math.prod(_reduced(shape, chosen, True))).reshape(_reduced(shape, chosen, True))
    rows = np.broadcast_to(to, shape).reshape(-1)
    matrix = sp.csr_array((np.ones(rows.size), (rows, np.arange(rows.size))), shape=(to.size, rows.size))
    return transform(builder, value, matrix, _reduced(shape, chosen, keepdims))


def mean(builder: NetworkBuilder, value: Value, axes: Axes = None, keepdims: bool = False) -> Value:
    """The average over `axes`."""
    return multiply(builder, total(builder, value, axes, keepdims), np.asarray(1.0 / _count(value, axes)))


def largest_over(builder: NetworkBuilder, value: Value, axes: Axes = None, keepdims: bool = False) -> Value:
    """The largest entry over `axes`."""
    return _by_rows(builder, value, axes, keepdims, largest)


def log_sum_exp(builder: NetworkBuilder, value: Value, axes: Axes = None, keepdims: bool = False) -> Value:
    """log(sum(exp(value))) over `axes`."""
    return _by_rows(builder, value, axes, keepdims, log_sum_exp_of)


def _by_rows(
    builder: NetworkBuilder, value: Value, axes: Axes, keepdims: bool, operation: Callable[[NetworkBuilder, Value, Array], Value]
) -> Value:
    """An operation on rows of entry numbers, those over `axes` in one row."""
    shape, chosen = shape_of(value), as_axes(axes, len(shape_of(value)))
    kept = [axis for axis in range(len(shape)) if axis not in chosen]
    table = np.arange(math.prod(shape)).reshape(shape).transpose(*kept, *chosen).reshape(-1, _count(value, axes))
    return reshape(builder, operation(builder, value, table), _reduced(shape, chosen, keepdims))


def smallest_over(builder: NetworkBuilder, value: Value, axes: Axes = None, keepdims: bool = False) -> Value:
    """The smallest entry over `axes`."""
    return negate(builder, largest_over(builder, negate(builder, value), axes, keepdims))


def product_over(builder: NetworkBuilder, value: Value, axes: Axes = None, keepdims: bool = False) -> Value:
    """The product over `axes`, as a balanced tree of products of two."""
    shape, chosen = shape_of(value), as_axes(axes, len(shape_of(value)))
    if not isinstance(value, Tensor):
        multiplied: Array = np.prod(np.asarray(value), axis=chosen, keepdims=keepdims)
        return multiplied
    kept = [axis for axis in range(len(shape)) if axis not in chosen]
    factors: Value = rearrange(builder, value, lambda a: a.transpose(*kept, *chosen).reshape(-1, _count(value, axes)))
    while (count := shape_of(factors)[1]) > 1:
        half = count // 2
        pairs = multiply(builder, take(builder, factors, np.arange(half), 1), take(builder, factors, np.arange(half, 2 * half), 1))
        rest = [take(builder, factors, [count - 1], 1)] if count % 2 else []
        factors = builder.concat([pairs, *rest], axis=1) if rest else pairs  # type: ignore[list-item]
    return reshape(builder, factors, _reduced(shape, chosen, keepdims))


def variance(builder: NetworkBuilder, value: Value, axes: Axes = None, keepdims: bool = False, correction: float = 0.0) -> Value:
    """The mean square distance from the mean; `correction` is what is taken off the number of entries."""
    centred = subtract(builder, value, mean(builder, value, axes, keepdims=True))
    count = _count(value, axes) - correction
    if count <= 0:
        raise Unsupported(f"takes the variance of {_count(value, axes)} entries with a correction of {correction:g}")
    return multiply(builder, total(builder, square(builder, centred), axes, keepdims), np.asarray(1.0 / count))


def norm(builder: NetworkBuilder, value: Value, order: float = 2.0, axes: Axes = None, keepdims: bool = False) -> Value:
    """The vector norm over `axes`, of any positive order or the largest absolute entry (inf)."""
    if order == 2:
        return sqrt(builder, total(builder, square(builder, value), axes, keepdims))
    size = absolute(builder, value)
    if order == 1:
        return total(builder, size, axes, keepdims)
    if order == math.inf:
        return largest_over(builder, size, axes, keepdims)
    if order <= 0:
        raise Unsupported(f"takes a norm of order {order:g}; a positive one is accepted")
    return power(builder, total(builder, power(builder, size, order), axes, keepdims), 1.0 / order)


def log_sum(builder: NetworkBuilder, value: Value, axes: Axes = None, keepdims: bool = False) -> Value:
    """The logarithm of the sum."""
    return log(builder, total(builder, value, axes, keepdims))


def sum_of_squares(builder: NetworkBuilder, value: Value, axes: Axes = None, keepdims: bool = False) -> Value:
    """The sum of squares."""
    return total(builder, square(builder, value), axes, keepdims)


def cumulative_sum(builder: NetworkBuilder, value: Value, axis: int, exclusive: bool = False, reverse: bool = False) -> Value:
    """Sums of the entries up to each one along `axis`, without itself if `exclusive`, from the end if `reverse`."""
    size = shape_of(value)[axis]
    builder.growth.check(size**2, "Sums along an axis")
    matrix = np.tri(size, k=-1 if exclusive else 0)
    matrix = matrix.T if reverse else matrix
    moved = rearrange(builder, value, lambda a: np.moveaxis(a, axis, -1))
    if not isinstance(moved, Tensor):
        return np.moveaxis(np.asarray(moved) @ matrix.T, -1, axis)
    return rearrange(builder, builder.linear(moved, matrix), lambda a: np.moveaxis(a, -1, axis))


def as_axes(axes: Any, num_axes: int) -> tuple[int, ...]:
    """Axes counted from the front, in rising order; None stands for all of them."""
    if axes is None:
        return tuple(range(num_axes))
    chosen = [axes] if np.ndim(axes) == 0 else list(axes)
    if any(not -num_axes <= int(axis) < num_axes for axis in chosen):
        raise Unsupported(f"names the axes {[int(axis) for axis in chosen]} of a value with {num_axes}")
    return tuple(sorted({int(axis) % num_axes for axis in chosen}))


def _count(value: Value, axes: Axes) -> int:
    shape = shape_of(value)
    return math.prod(shape[axis] for axis in as_axes(axes, len(shape)))


def _reduced(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    if keepdims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)
