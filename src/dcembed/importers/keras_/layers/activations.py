"""Activations of Keras: functions, as layers hold them, and layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dcembed.importers import operations as ops
from dcembed.importers.keras_.backend import as_array, keras
from dcembed.importers.keras_.handlers import Handler, Walk
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.activations import find_activation
from dcembed.network.builder import NetworkBuilder

Function = Callable[[NetworkBuilder, Value], Value]

layers = keras.layers
activations = keras.activations


def relu(builder: NetworkBuilder, value: Value, slope: float = 0.0, limit: float | None = None, threshold: float = 0.0) -> Value:
    """max(value, 0) with a slope below zero and a limit above; a threshold makes it jump."""
    if threshold != 0.0:
        raise Unsupported(f"threshold={threshold:g} makes it jump; accepted is threshold=0")
    if limit is not None and limit < 0:
        raise Unsupported(f"max_value={limit:g} is negative")
    result = ops.leaky_relu(builder, value, slope) if slope else ops.relu(builder, value)
    if limit is None:
        return result
    # Below the limit nothing changes; above it the input itself grows with slope 1, which is taken away again.
    return ops.subtract(builder, result, ops.relu(builder, ops.subtract(builder, value, np.asarray(limit))))


def squareplus(builder: NetworkBuilder, value: Value, b: float = 4.0) -> Value:
    """(value + sqrt(value^2 + b)) / 2."""
    if b < 0:
        raise Unsupported(f"b={b:g} is negative")
    root = ops.absolute(builder, value) if b == 0 else ops.sqrt(builder, ops.add(builder, ops.square(builder, value), np.asarray(float(b))))
    return ops.scale(builder, ops.add(builder, value, root), 0.5)


def sparse_plus(builder: NetworkBuilder, value: Value) -> Value:
    """Zero up to -1, (value + 1)^2 / 4 up to 1, and then the value itself: a parabola of the clipped value, and what is above 1."""
    inside = ops.square(builder, ops.add(builder, ops.clip(builder, value, -1.0, 1.0), np.asarray(1.0)))
    return ops.add(builder, ops.scale(builder, inside, 0.25), ops.relu(builder, ops.add(builder, value, np.asarray(-1.0))))


def softmax(builder: NetworkBuilder, value: Value, axis: Any = -1) -> Value:
    """Along one axis, or over several of them together."""
    axes = [axis] if np.ndim(axis) == 0 else list(axis)
    if len(axes) == 1:
        return ops.softmax(builder, value, int(axes[0]))
    shape = ops.shape_of(value)
    chosen = ops.as_axes(axes, len(shape))
    kept = [number for number in range(len(shape)) if number not in chosen]
    moved = ops.transpose(builder, value, (*kept, *chosen))
    rows = ops.softmax(builder, ops.reshape(builder, moved, (*(shape[number] for number in kept), -1)), -1)
    return ops.transpose(builder, ops.reshape(builder, rows, ops.shape_of(moved)), np.argsort((*kept, *chosen)).tolist())


def _table(name: str) -> Function:
    return lambda builder, value: ops.activate(builder, value, find_activation(name))


# What Dense(activation="...") and Activation("...") do, with the default arguments of the functions.
FUNCTIONS: dict[str, Function] = {
    "linear": lambda builder, value: value,
    "relu": ops.relu,
    "relu6": ops.relu6,
    "leaky_relu": lambda builder, value: ops.leaky_relu(builder, value, 0.2),
    "elu": ops.elu,
    "selu": ops.selu,
    "celu": ops.celu,
    "gelu": ops.gelu,
    "silu": ops.silu,
    "mish": _table("mish"),
    "softplus": ops.softplus,
    "softsign": _table("softsign"),
    "squareplus": squareplus,
    "tanh": ops.tanh,
    "sigmoid": ops.sigmoid,
    "exponential": ops.exp,
    "log_sigmoid": ops.log_sigmoid,
    "hard_sigmoid": ops.hard_sigmoid,
    "hard_silu": _table("hardswish"),
    "hard_tanh": lambda builder, value: ops.clip(builder, value, -1.0, 1.0),
    "soft_shrink": ops.soft_shrink,
    "tanh_shrink": ops.tanh_shrink,
    "sparse_plus": sparse_plus,
    "sparse_sigmoid": lambda builder, value: ops.hard_sigmoid(builder, value, 0.5, 0.5),
    "softmax": softmax,
    "log_softmax": ops.log_softmax,
    "glu": ops.glu,
}

# Functions that have no form here, and why.
REFUSED = {
    "hard_shrink": "jumps at its threshold; soft_shrink does not",
    "sparsemax": "sorts its entries; softmax does not, and the values before it can be embedded as they are",
}


def _by_function() -> dict[Any, Function]:
    """Functions of keras.activations are known by what they are. Older versions do not have all of them."""
    return {getattr(activations, name): function for name, function in FUNCTIONS.items() if hasattr(activations, name)}


BY_FUNCTION = _by_function()


def refuse_activation(layer: Any) -> None:
    """Raise Unsupported if the activation of a layer has no form here, which is said before the shape of its input is looked at."""
    name = getattr(layer.activation, "__name__", "")
    if name in REFUSED and layer.activation is getattr(activations, name):
        raise Unsupported(f"activation '{name}' {REFUSED[name]}")


# Handlers: the walk, the layer and its inputs.


def _activation(walk: Walk, layer: Any, value: Value) -> Value:
    refuse_activation(layer)
    return walk.activate(layer.activation, value)


def _relu(walk: Walk, layer: Any, value: Value) -> Value:
    limit = None if layer.max_value is None else float(layer.max_value)
    return relu(walk.builder, value, float(layer.negative_slope), limit, float(layer.threshold))


def _leaky_relu(walk: Walk, layer: Any, value: Value) -> Value:
    return ops.leaky_relu(walk.builder, value, float(layer.negative_slope))


def _prelu(walk: Walk, layer: Any, value: Value) -> Value:
    return ops.leaky_relu(walk.builder, value, as_array(layer.alpha))


def _elu(walk: Walk, layer: Any, value: Value) -> Value:
    return ops.elu(walk.builder, value, float(layer.alpha))


def _softmax(walk: Walk, layer: Any, value: Value) -> Value:
    return softmax(walk.builder, value, layer.axis)


LAYERS: dict[type, Handler] = {
    layers.Activation: _activation,
    layers.ReLU: _relu,
    layers.LeakyReLU: _leaky_relu,
    layers.PReLU: _prelu,
    layers.ELU: _elu,
    layers.Softmax: _softmax,
}
