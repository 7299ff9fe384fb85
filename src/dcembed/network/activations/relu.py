"""The unit of the paper, max(a, 0)."""

from __future__ import annotations

import numpy as np

from dcembed.arrays import Array
from dcembed.network.activations.activation import Activation


def _value(a: Array) -> Array:
    positive: Array = np.maximum(a, 0.0)
    return positive


def _slope(a: Array) -> Array:
    return (a >= 0).astype(np.float64)


def relu() -> Activation:
    """The one ReLU, which others are compared with by identity."""
    return RELU


RELU = Activation("relu", _value, _slope, np.zeros_like, breaks=(0.0,), signs=(0, 0), made_by=(relu, ()))
