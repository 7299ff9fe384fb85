"""Small random networks with every activation, alone and mixed, in layers and with skips."""

from __future__ import annotations

import numpy as np

from dcembed.network import Network, NetworkBuilder
from dcembed.network.activations import RELU, Activation, find_activation

NAMES = ["relu", "softplus", "sigmoid", "tanh", "elu", "gelu", "gelu_tanh", "silu", "mish", "softsign", "hardswish", "sin", "erf", "arctan"]
# Their slopes grow without end: they are split on boxes alone.
STEEP = ["sin", "exp", "square"]


def layered(
    activation: Activation, widths=(6, 5, 4), num_inputs: int = 3, num_outputs: int = 2, seed: int = 0, scale: float = 1.3
) -> Network:
    rng = np.random.default_rng(seed)
    builder = NetworkBuilder((num_inputs,))
    value = builder.input
    for width in widths:
        weight = scale * rng.standard_normal((width, value.shape[0])) / np.sqrt(value.shape[0])
        value = builder.activate(builder.linear(value, weight, 0.3 * rng.standard_normal(width)), activation)
    return builder.finish(builder.linear(value, rng.standard_normal((num_outputs, value.shape[0]))))


def mixed(seed: int = 0) -> Network:
    """tanh and ReLU layers, a product, and a skip connection."""
    rng = np.random.default_rng(seed)
    builder = NetworkBuilder((3,))
    first = builder.activate(builder.linear(builder.input, rng.standard_normal((5, 3))), find_activation("tanh"))
    second = builder.activate(builder.linear(first, rng.standard_normal((4, 5))), RELU)
    squares = builder.activate(builder.linear(second, rng.standard_normal((3, 4))), find_activation("square"))
    joined = builder.concat([builder.input, second, squares])
    return builder.finish(builder.linear(joined, rng.standard_normal((2, 10))))


NETWORKS = {name: layered(find_activation(name)) for name in NAMES} | {
    "square": layered(find_activation("square"), widths=(4, 3), scale=0.7),
    "exp": layered(find_activation("exp"), widths=(4,), scale=0.7),
    "power": layered(find_activation("power", (-0.5, 0.5))),
    "log": layered(find_activation("log", (0.5,))),
    "mixed": mixed(),
}
