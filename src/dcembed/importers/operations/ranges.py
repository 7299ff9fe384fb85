"""What is known of the signs of values without bounds on the input: how far below zero sums of units can fall."""

from __future__ import annotations

import numpy as np

from dcembed.arrays import Array
from dcembed.importers.operations.structure import blocks, read_absolute
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
        least, largest = (-np.inf, np.inf) if source == 0 else _range(builder, source)
        for bound, part in ((least, block.maximum(0)), (largest, block.minimum(0))):
            amounts = part.sum(axis=1)
            total += np.where(amounts == 0, 0.0, amounts * bound if np.isfinite(bound) else -np.inf)
    return total


def _range(builder: NetworkBuilder, source: int) -> tuple[float, float]:
    """The least and the largest value of the units of a stage."""
    before, activation = builder.stage(source)
    if activation.name == "elu":
        return (-max(activation.parameters[0], 0.0), np.inf)
    if activation.name not in ("log", "power"):
        return _RANGES.get(activation.name, (-np.inf, np.inf))
    inside = float(lower_bound(builder, before).min(initial=np.inf))
    if not activation.parameters[-1] <= inside < np.inf:
        return (-np.inf, np.inf)
    end = float(activation.value(np.array([inside]))[0])
    return (0.0, end) if activation.name == "power" and activation.parameters[0] < 0 else (end, np.inf)
