"""Multilayer perceptrons."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcembed.importers.operations import Unsupported
from dcembed.network.activations import find_activation
from dcembed.network.builder import NetworkBuilder, Tensor

# Names of scikit-learn and ours; "identity" is none.
ACTIVATIONS = {"relu": "relu", "logistic": "sigmoid", "tanh": "tanh"}


def scores(builder: NetworkBuilder, mlp: Any, value: Tensor) -> Tensor:
    """What goes into the output activation."""
    if mlp.activation not in (*ACTIVATIONS, "identity"):
        raise Unsupported(f"activation='{mlp.activation}'; accepted are {', '.join(map(repr, ACTIVATIONS))} and 'identity'")
    for index, (weight, bias) in enumerate(zip(mlp.coefs_, mlp.intercepts_, strict=True)):
        if index > 0 and mlp.activation != "identity":
            value = builder.activate(value, find_activation(ACTIVATIONS[mlp.activation]))
        value = builder.linear(value, np.asarray(weight, dtype=np.float64).T, bias)
    return value


def predict(builder: NetworkBuilder, mlp: Any, value: Tensor) -> Tensor:
    """An MLPRegressor; with loss="poisson" its output activation is the exponential function."""
    result = scores(builder, mlp, value)
    if mlp.out_activation_ == "identity":
        return result
    if mlp.out_activation_ != "exp":
        raise Unsupported(f"output activation '{mlp.out_activation_}'; accepted are 'identity' and 'exp'")
    return builder.activate(result, find_activation("exp"))
