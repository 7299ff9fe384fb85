"""Bounds of the pre-activations over a box of inputs, by interval arithmetic."""

from __future__ import annotations

import numpy as np

from dcembed.network.network import Affine, Array, Matrix, Network
from dcembed.network.split import negative_part, positive_part


def bound(network: Network, lb: Array, ub: Array) -> list[tuple[Array, Array]]:
    """Lower and upper bounds of a_1..a_L over each box, batched.

    Parameters
    ----------
    lb, ub
        Boxes, shape (k, num_inputs); entries may be infinite.

    Returns
    -------
    For each stage a pair of arrays (k, width).
    """
    sources = [(np.atleast_2d(lb), np.atleast_2d(ub))]
    result = []
    for stage in network.stages:
        low, high = _bound_affine(stage, sources)
        result.append((low, high))
        sources.append((np.maximum(low, 0.0), np.maximum(high, 0.0)))
    return result


def _bound_affine(affine: Affine, sources: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    low = np.tile(affine.bias, (sources[0][0].shape[0], 1))
    high = low.copy()
    for source, block in affine.weights.items():
        source_lb, source_ub = sources[source]
        plus, minus = positive_part(block), negative_part(block)
        high += _product(source_ub, plus) + _product(-source_lb, minus)
        low -= _product(-source_lb, plus) + _product(source_ub, minus)
    return low, high


def _product(upper: Array, weights: Matrix) -> Array:
    """upper @ weights.T for nonnegative weights, where zero times infinity is zero."""
    infinite = np.isposinf(upper)
    if not infinite.any():
        return upper @ weights.T
    value = np.where(infinite, 0.0, upper) @ weights.T
    value[(infinite.astype(np.float64) @ (weights > 0).astype(np.float64).T) > 0] = np.inf
    return value
