"""Softmax and what belongs to it, as exponentials, sums and logarithms."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
import scipy.special

from dcembed.arrays import Array
from dcembed.importers.operations.activations import sigmoid, softplus
from dcembed.importers.operations.arithmetic import negate, subtract
from dcembed.importers.operations.powers import exp
from dcembed.importers.operations.rearranging import stack, take, where
from dcembed.importers.operations.reductions import total
from dcembed.importers.operations.units import activate
from dcembed.importers.operations.values import Unsupported, Value, flat, select
from dcembed.network.activations import smooth
from dcembed.network.builder import NetworkBuilder, Tensor

# Entries with a constant part this far below all others do not count for where the middle is: they are masked.
FAR_BELOW = 100.0
# Constants below this stand for minus infinity.
MINUS_INFINITY = -1e20


def softmax(builder: NetworkBuilder, value: Value, axis: int = -1) -> Value:
    """exp(value) over its sum along `axis`; of two entries the logistic function of their difference."""
    if not isinstance(value, Tensor):
        return np.asarray(scipy.special.softmax(np.asarray(value, dtype=np.float64), axis=axis))
    return _along(builder, value, axis, _softmax_rows)


def log_softmax(builder: NetworkBuilder, value: Value, axis: int = -1) -> Value:
    """The logarithm of softmax."""
    if not isinstance(value, Tensor):
        return np.asarray(scipy.special.log_softmax(np.asarray(value, dtype=np.float64), axis=axis))
    return _along(builder, value, axis, _log_softmax_rows)


def softmin(builder: NetworkBuilder, value: Value, axis: int = -1) -> Value:
    """Softmax of the negative value."""
    return softmax(builder, negate(builder, value), axis)


def drop_head(builder: NetworkBuilder, value: Value) -> Tensor | None:
    """What went into the logistic function, softmax or log-softmax that gave `value`; None if none did."""
    return value.logits if isinstance(value, Tensor) else None


def _along(builder: NetworkBuilder, value: Tensor, axis: int, rows: Callable[[NetworkBuilder, Tensor], Tensor]) -> Tensor:
    moved = select(builder, value, lambda a: np.moveaxis(a, axis, -1))
    result = builder.reshape(rows(builder, builder.reshape(moved, (-1, moved.shape[-1]))), moved.shape)
    return dataclasses.replace(select(builder, result, lambda a: np.moveaxis(a, -1, axis)), logits=value)


def _softmax_rows(builder: NetworkBuilder, value: Tensor) -> Tensor:
    masked = _masked(value)
    if value.shape[1] == 2 and not masked.any():
        first = sigmoid(builder, _difference(builder, value))
        return _tensor(stack(builder, [first, subtract(builder, np.asarray(1.0), first)], 1))
    centred, sums = _centre(builder, value, masked)
    return _tensor(where(builder, ~masked, exp(builder, subtract(builder, centred, sums)), np.asarray(0.0)))


def _log_softmax_rows(builder: NetworkBuilder, value: Tensor) -> Tensor:
    masked = _masked(value)
    if value.shape[1] == 2 and not masked.any():
        # softplus(t) = t + softplus(-t), so that one unit serves both.
        gap = negate(builder, _difference(builder, value))
        unit = softplus(builder, gap)
        return _tensor(stack(builder, [negate(builder, unit), subtract(builder, gap, unit)], 1))
    centred, sums = _centre(builder, value, masked)
    return _tensor(where(builder, ~masked, subtract(builder, centred, sums), np.asarray(-np.inf)))


def _difference(builder: NetworkBuilder, value: Tensor) -> Value:
    return subtract(builder, take(builder, value, 0, 1), take(builder, value, 1, 1))


def _masked(value: Tensor) -> Array:
    masked: Array = value.affine.bias.reshape(value.shape) < MINUS_INFINITY
    if masked.all(axis=1).any():
        raise Unsupported("masks all entries along its axis")
    return masked


def _centre(builder: NetworkBuilder, value: Tensor, masked: Array) -> tuple[Value, Value]:
    """The entries around their middle, zero where masked, and the logarithms of the sums of their exponentials.

    Around the mean of some of them at least one entry is not negative, so that the sum is at least 1.
    """
    present = _tensor(where(builder, ~masked, value, np.asarray(0.0)))
    constants = np.where(masked, -np.inf, value.affine.bias.reshape(value.shape))
    counted = constants >= constants.max(axis=1, keepdims=True) - FAR_BELOW
    middle = builder.reshape(builder.linear(flat(builder, present), _averages(counted)), (value.shape[0], 1))
    centred = where(builder, ~masked, subtract(builder, present, middle), np.asarray(0.0))
    weights = where(builder, ~masked, exp(builder, centred), np.asarray(0.0))
    return centred, activate(builder, total(builder, weights, 1, keepdims=True), smooth.log(1.0))


def _averages(counted: Array) -> sp.csr_array:
    """The matrix that takes all entries to the mean of the counted ones of each row."""
    rows, columns = np.nonzero(counted)
    shares = 1.0 / counted.sum(axis=1)
    return sp.csr_array((shares[rows], (rows, rows * counted.shape[1] + columns)), shape=(len(counted), counted.size))


def _tensor(value: Value) -> Tensor:
    assert isinstance(value, Tensor)
    return value
