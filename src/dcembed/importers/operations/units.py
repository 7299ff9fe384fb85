"""New stages: functions of every entry, and products by squares."""

from __future__ import annotations

import dataclasses

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.importers.operations.values import Value, flat
from dcembed.network.activations import RELU, Activation, smooth
from dcembed.network.affine import Affine
from dcembed.network.builder import NetworkBuilder, Tensor


def activate(builder: NetworkBuilder, value: Value, activation: Activation) -> Value:
    """A function of every entry."""
    if not isinstance(value, Tensor):
        return activation.value(np.asarray(value, dtype=np.float64))
    result = builder.activate(value, activation)
    return dataclasses.replace(result, logits=value, heads=("sigmoid",)) if activation.name == "sigmoid" else result


def relu(builder: NetworkBuilder, value: Value) -> Value:
    """max(value, 0)."""
    return activate(builder, value, RELU)


def multiply_by_squares(builder: NetworkBuilder, left: Tensor, right: Tensor) -> Tensor:
    """((left + right)^2 - (left - right)^2) / 4 of two values of the same shape, which are brought to the same size first.

    A small value added to a large one would be lost in its rounding.
    """
    factor = _balance(left.affine, right.affine).reshape(left.shape)
    if (factor == 1.0).all():
        return _by_squares(builder, left, right)
    return _by_squares(builder, builder.scale(left, factor), builder.scale(right, 1.0 / factor))


def _balance(left: Affine, right: Affine) -> Array:
    """Powers of two that make the rows of both equally large: multiplying by them is exact."""
    one, other = _row_sizes(left), _row_sizes(right)
    known = (one > 0) & (other > 0)
    ratios = np.where(known, other, 1.0) / np.where(known, one, 1.0)
    return np.asarray(2.0 ** np.round(0.5 * np.log2(ratios)))


def _row_sizes(affine: Affine) -> Array:
    total = np.abs(affine.bias)
    for block in affine.weights.values():
        total = total + np.asarray(abs(block).sum(axis=1)).reshape(-1)
    return np.asarray(np.where(np.isfinite(total), total, 0.0))


def _by_squares(builder: NetworkBuilder, left: Tensor, right: Tensor) -> Tensor:
    total, gap = builder.add(left, right), builder.add(left, builder.scale(right, -1.0))
    # One stage for both, so that products of many entries stay few stages.
    both = builder.activate(builder.concat([flat(builder, total), flat(builder, gap)]), smooth.square())
    size = total.affine.num_rows
    signs = sp.hstack([sp.eye_array(size), -sp.eye_array(size)], format="csr") * 0.25
    return builder.reshape(builder.linear(both, signs), total.shape)


def cube(builder: NetworkBuilder, value: Tensor) -> Tensor:
    """value^3, the product of the value and its square; always made in this way, so that it can be recognized."""
    return _by_squares(builder, value, builder.activate(value, smooth.square()))
