"""Softmax and what belongs to it: exp(a - log(sum(exp(a)))), where the sum is a tree of softplus units and the exponent is never positive."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import scipy.special

from dcembed.arrays import Array
from dcembed.importers.operations.activations import sigmoid
from dcembed.importers.operations.arithmetic import subtract
from dcembed.importers.operations.extremes import log_sum_exp_of
from dcembed.importers.operations.powers import exp
from dcembed.importers.operations.rearranging import reshape, stack, take, where
from dcembed.importers.operations.values import Unsupported, Value, as_tensor, select
from dcembed.network.builder import Head, NetworkBuilder, Tensor

# Constants below this stand for minus infinity.
MINUS_INFINITY = -1e20


def softmax(builder: NetworkBuilder, value: Value, axis: int = -1) -> Value:
    """exp(value) over its sum along `axis`; of two entries the logistic function of their difference."""
    if not isinstance(value, Tensor):
        return np.asarray(scipy.special.softmax(np.asarray(value, dtype=np.float64), axis=axis))
    return _along(builder, value, axis, _softmax_rows, "softmax")


def log_softmax(builder: NetworkBuilder, value: Value, axis: int = -1) -> Value:
    """The logarithm of softmax."""
    if not isinstance(value, Tensor):
        return np.asarray(scipy.special.log_softmax(np.asarray(value, dtype=np.float64), axis=axis))
    return _along(builder, value, axis, _log_softmax_rows, "log_softmax")


def drop_head(value: Value) -> Tensor | None:
    """What went into the logistic function, softmax or log-softmax that gave `value`; None if none did."""
    return value.logits if isinstance(value, Tensor) else None


def heads_of(value: Value) -> tuple[Head, ...]:
    """Which of these functions those were, one for each softmax and one for all sigmoids."""
    return value.heads if isinstance(value, Tensor) else ()


def _along(builder: NetworkBuilder, value: Tensor, axis: int, rows: Callable[[NetworkBuilder, Tensor], Value], head: Head) -> Tensor:
    moved = select(builder, value, lambda a: np.moveaxis(a, axis, -1))
    result = reshape(builder, rows(builder, builder.reshape(moved, (-1, moved.shape[-1]))), moved.shape)
    return dataclasses.replace(
        select(builder, as_tensor(result), lambda a: np.moveaxis(a, -1, axis)),
        logits=value,
        heads=(head,) * (value.affine.num_rows // value.shape[axis]),
    )


def _softmax_rows(builder: NetworkBuilder, value: Tensor) -> Value:
    masked = _masked(value)
    if value.shape[1] == 2 and not masked.any():
        first = sigmoid(builder, subtract(builder, take(builder, value, 0, 1), take(builder, value, 1, 1)))
        return stack(builder, [first, subtract(builder, np.asarray(1.0), first)], 1)
    return where(builder, ~masked, exp(builder, _minus_sums(builder, value, masked)), np.asarray(0.0))


def _log_softmax_rows(builder: NetworkBuilder, value: Tensor) -> Value:
    masked = _masked(value)
    return where(builder, ~masked, _minus_sums(builder, value, masked), np.asarray(-np.inf))


def _masked(value: Tensor) -> Array:
    masked: Array = value.affine.bias.reshape(value.shape) < MINUS_INFINITY
    if masked.all(axis=1).any():
        raise Unsupported("masks all entries along its axis")
    return masked


def _minus_sums(builder: NetworkBuilder, value: Tensor, masked: Array) -> Value:
    """The entries minus the logarithms of the sums of exponentials of their rows; zero where masked."""
    table = np.where(masked, -1, np.arange(masked.size).reshape(masked.shape))
    present = where(builder, ~masked, value, np.asarray(0.0))
    sums = reshape(builder, log_sum_exp_of(builder, present, table), (-1, 1))
    return where(builder, ~masked, subtract(builder, present, sums), np.asarray(0.0))
