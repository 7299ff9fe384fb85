"""How far computed numbers may be from exact ones.

Sums of n products are off by at most n roundings of what is added up without signs, whatever the order. Bounds are moved outward by twice
as much and a little more: the second half is for the one who evaluates the network at a point and compares.
"""

from __future__ import annotations

import numpy as np

from dcembed.arrays import Array
from dcembed.network.network import Network

EPS = float(np.finfo(np.float64).eps)
# What underflows is lost as a whole; it is far less than this for each of the numbers it is multiplied with.
TINY = 1e-290
# Roundings besides those of the sums: of lines, of middles and radii, of activations.
OTHERS = 16


def rounding(network: Network) -> float:
    """A share of the magnitudes that are added up on one stage: more than what is rounded there."""
    longest = max(
        (sum(block.shape[1] for block in affine.weights.values()) for affine in (*network.stages, network.output)),
        default=0,
    )
    return 2.0 * EPS * (longest + OTHERS)


def magnitude(low: Array, high: Array) -> Array:
    """The largest absolute value in [low, high]."""
    most: Array = np.maximum(np.abs(low), np.abs(high))
    return most
