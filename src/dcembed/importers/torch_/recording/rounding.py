"""Where torch itself is not exact: Softplus is the identity above a threshold, 2e-9 away from what it is below."""

from __future__ import annotations

import numpy as np

from dcembed.arrays import Array
from dcembed.network.affine import Affine
from dcembed.network.network import Network, preactivations

# Torch lets go of the logarithm above this, in units of 1 / beta.
THRESHOLD = 20.0


def softplus_error(network: Network, points: Array) -> Array:
    """What the predictions of torch may be off by at each point, shape (k,); zero where no softplus unit is above the threshold."""
    if not any(kind.name == "softplus" for kind in network.activations):
        return np.zeros(len(points))
    with np.errstate(all="ignore"):
        before = preactivations(network, points)
        errors = [np.zeros_like(points)]
        for stage, kind, inside in zip(network.stages, network.activations, before, strict=True):
            own = np.where(inside > THRESHOLD, np.log1p(np.exp(-inside)), 0.0) if kind.name == "softplus" else 0.0
            errors.append(_carry(stage, errors) * np.abs(kind.slope(inside)) + own)
        total: Array = _carry(network.output, errors).max(axis=1)
    # What is carried is right to first order; the factor is for the rest.
    return 2.0 * total


def _carry(affine: Affine, errors: list[Array]) -> Array:
    total = np.zeros((len(errors[0]), affine.num_rows))
    for source, block in affine.weights.items():
        total += errors[source] @ abs(block).T
    return total
