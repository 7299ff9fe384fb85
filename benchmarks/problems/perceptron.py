"""Perceptrons with one activation in all hidden units, made of the arrays that training leaves."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from dcembed import Network
from dcembed.network.activations import Activation
from dcembed.network.builder import NetworkBuilder

# What torch calls the layer of an activation.
TORCH_LAYERS = {"relu": "ReLU", "tanh": "Tanh", "softplus": "Softplus", "gelu": "GELU"}


def build_perceptron(arrays: Mapping[str, np.ndarray], activation: Activation) -> Network:
    """The network of weights W1, b1, ..., WL, bL; `mean` and `std` standardize the inputs where they are there."""
    first = np.asarray(arrays["W1"], dtype=np.float64)
    builder = NetworkBuilder((first.shape[1],))
    value = builder.input
    if "mean" in arrays:
        value = builder.scale(builder.shift(value, -arrays["mean"]), 1.0 / arrays["std"])
    for number in itertools.takewhile(lambda number: f"W{number}" in arrays, itertools.count(1)):
        value = value if number == 1 else builder.activate(value, activation)
        value = builder.linear(value, arrays[f"W{number}"].astype(np.float64), arrays[f"b{number}"].astype(np.float64))
    return builder.finish(value)
