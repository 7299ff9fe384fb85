"""Forward and masked backward passes, batched over points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse as sp

from dcembed.errors import InputError
from dcembed.network.chunks import slices
from dcembed.network.network import Affine, Array, Network

# Numbers that one pass over a chunk of points holds at a time, 4 MB: small enough for caches to help, large enough for products.
CHUNK_ENTRIES = 500_000


def evaluate(network: Network, points: Array) -> Array:
    """Predictions at `points` (k, num_inputs): shape (k, num_outputs). One point of shape (num_inputs,) gives (num_outputs,)."""
    points = np.asarray(points, dtype=np.float64)
    if points.ndim not in (1, 2) or points.shape[-1] != network.num_inputs:
        raise InputError(f"The network takes points of shape (k, {network.num_inputs}), received shape {points.shape}.")
    batch = np.atleast_2d(points)
    values = np.empty((batch.shape[0], network.num_outputs))
    for chunk in chunks(batch.shape[0], network):
        values[chunk] = apply_affine(network.output, [batch[chunk], *units(preactivations(network, batch[chunk]))])
    return values if points.ndim == 2 else values[0]


def chunks(size: int, network: Network) -> Iterator[slice]:
    """Cut a batch so that the memory of a pass does not grow with it."""
    return slices(size, network.num_inputs + network.num_hidden + network.num_outputs, CHUNK_ENTRIES)


def preactivations(network: Network, points: Array) -> list[Array]:
    """The pre-activations a_1..a_L at `points` (k, num_inputs), each of shape (k, width)."""
    sources = [points]
    result = []
    for stage in network.stages:
        result.append(apply_affine(stage, sources))
        sources.append(np.maximum(result[-1], 0.0))
    return result


def units(preactivation: Sequence[Array]) -> list[Array]:
    """The units z_l = max(a_l, 0)."""
    return [np.maximum(stage, 0.0) for stage in preactivation]


def apply_affine(affine: Affine, sources: Sequence[Array]) -> Array:
    """Values of `affine` given each source as (k, size)."""
    value: Array | None = None
    for source, block in affine.weights.items():
        part = sources[source] @ block.T
        value = part if value is None else np.add(value, part, out=value)
    if value is None:
        return np.tile(affine.bias, (sources[0].shape[0], 1))
    return np.add(value, affine.bias, out=value)


def backpropagate(network: Network, active: Sequence[Array], weights: Sequence[Array], gather: sp.csr_array | None = None) -> Array:
    """Gradient in x of sum_m weights_m' z_m on the linear piece given by `active`.

    For the unit weights of a convex component G_r or H_r (or a nonnegative combination of them) this
    is a subgradient at every x, also on a kink: with u = z(x), the masked weights are an optimal dual
    of the epigraph problem of theorem 4.2 whichever way the units at zero are counted.

    Parameters
    ----------
    active
        For each stage, where a_l > 0 (at a_l = 0 either way), shape (t, width).
    weights
        For each stage, the weight of each unit, shape (t, width).
    gather
        Sums of the t gradients that are wanted instead of the gradients themselves, shape (p, t).

    Returns
    -------
    Shape (t, num_inputs), or (p, num_inputs).
    """
    adjoint = list(weights)
    size = gather.shape[0] if gather is not None else adjoint[0].shape[0] if adjoint else 0
    gradient = np.zeros((size, network.num_inputs))
    for index in range(len(network.stages) - 1, -1, -1):
        flow = adjoint[index] * active[index]
        for source, block in network.stages[index].weights.items():
            if source > 0:
                adjoint[source - 1] = adjoint[source - 1] + flow @ block
            elif gather is None:
                gradient += flow @ block
            else:
                # Few sums of many gradients: add up before the product, not after it.
                gradient += (gather @ flow) @ block
    return gradient
