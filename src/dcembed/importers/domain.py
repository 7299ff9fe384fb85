"""Where a network is what its framework computes: logarithms, roots, quotients and exponentials are continued outside of their domains."""

from __future__ import annotations

import numpy as np

from dcembed.arrays import Array
from dcembed.network.activations import Activation
from dcembed.network.activations.smooth import LARGEST_EXPONENT
from dcembed.network.network import Network, preactivations

PARTIAL = ("exp", "log", "power")
# A logarithm or a power that goes on in a line from here on, where it is smooth, is meant to: it is a piece of another function.
MEANT = 1.0


def is_partial(network: Network) -> bool:
    """Whether something in it is not defined for all numbers, or overflows."""
    return any(_has_domain(kind) for kind in network.activations)


def _has_domain(kind: Activation) -> bool:
    return kind.name == "exp" or (kind.name in PARTIAL and kind.parameters[-1] < MEANT)


def is_inside(network: Network, points: Array) -> Array:
    """Whether all units are inside of their domains at each point, shape (k,)."""
    inside = np.ones(len(points), dtype=bool)
    for kind, before in zip(network.activations, preactivations(network, points), strict=True):
        if kind.name == "exp":
            inside &= (before <= LARGEST_EXPONENT).all(axis=1)
        elif _has_domain(kind):
            # A sum of squares that is zero may be less by rounding.
            inside &= (before >= (1.0 - 1e-9) * kind.parameters[-1]).all(axis=1)
    return inside
