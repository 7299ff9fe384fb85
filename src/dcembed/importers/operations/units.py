"""New stages: functions of every entry, and products by squares."""

from __future__ import annotations

import dataclasses

import numpy as np
import scipy.sparse as sp

from dcembed.importers.operations.values import Value, flat
from dcembed.network.activations import RELU, Activation, smooth
from dcembed.network.builder import NetworkBuilder, Tensor


def activate(builder: NetworkBuilder, value: Value, activation: Activation) -> Value:
    """A function of every entry."""
    if not isinstance(value, Tensor):
        return activation.value(np.asarray(value, dtype=np.float64))
    result = builder.activate(value, activation)
    return dataclasses.replace(result, logits=value) if activation.name == "sigmoid" else result


def relu(builder: NetworkBuilder, value: Value) -> Value:
    """max(value, 0)."""
    return activate(builder, value, RELU)


def multiply_by_squares(builder: NetworkBuilder, left: Tensor, right: Tensor) -> Tensor:
    """((left + right)^2 - (left - right)^2) / 4 of two values of the same shape."""
    total, gap = builder.add(left, right), builder.add(left, builder.scale(right, -1.0))
    # One stage for both, so that products of many entries stay few stages.
    both = builder.activate(builder.concat([flat(builder, total), flat(builder, gap)]), smooth.square())
    size = total.affine.num_rows
    signs = sp.hstack([sp.eye_array(size), -sp.eye_array(size)], format="csr") * 0.25
    return builder.reshape(builder.linear(both, signs), total.shape)


def cube(builder: NetworkBuilder, value: Tensor) -> Tensor:
    """value^3, the product of the value and its square; always made in this way, so that it can be recognized."""
    return multiply_by_squares(builder, value, builder.activate(value, smooth.square()))
