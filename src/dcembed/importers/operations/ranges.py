"""What is known of the signs of values without bounds on the input: how far below zero sums of units can fall."""

from __future__ import annotations

import numpy as np

from dcembed.arrays import Array
from dcembed.importers.operations.structure import blocks, read_absolute
from dcembed.network.activations import Activation
from dcembed.network.affine import Affine
from dcembed.network.builder import NetworkBuilder

# Least and largest values of the activations that have one.
_RANGES: dict[str, tuple[float, float]] = {
    "relu": (0.0, np.inf),
    "softplus": (0.0, np.inf),
    "exp": (0.0, np.inf),
    "square": (0.0, np.inf),
    "sigmoid": (0.0, 1.0),
    "tanh": (-1.0, 1.0),
    "erf": (-1.0, 1.0),
    "sin": (-1.0, 1.0),
    "softsign": (-1.0, 1.0),
    "arctan": (-np.pi / 2, np.pi / 2),
}


def lower_bound(builder: NetworkBuilder, affine: Affine) -> Array:
    """A number below each entry, -inf where none is known."""
    found = read_absolute(builder, affine)
    if found is not None and (found[1] >= 0).all():
        return found[2]
    total = affine.bias.copy()
    for source, block in blocks(affine).items():
        least, largest = (-np.inf, np.inf) if source == 0 else _range(builder.stage(source)[1])
        for bound, part in ((least, block.maximum(0)), (largest, block.minimum(0))):
            amounts = part.sum(axis=1)
            total += np.where(amounts == 0, 0.0, amounts * bound if np.isfinite(bound) else -np.inf)
    return total


def _range(activation: Activation) -> tuple[float, float]:
    if activation.name == "elu":
        return (-max(activation.parameters[0], 0.0), np.inf)
    return _RANGES.get(activation.name, (-np.inf, np.inf))
