"""The backward pass, batched over points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.network.network import Network
from dcembed.sparse import times


def backpropagate(network: Network, slopes: Sequence[Array], weights: Sequence[Array], gather: sp.csr_array | None = None) -> Array:
    """Gradient in x of sum_m weights_m' z_m, where the units have these slopes.

    For the unit weights of a convex component G_r or H_r (or a nonnegative combination of them) this
    is a subgradient at every x, also on a kink: with u = z(x), the masked weights are an optimal dual
    of the epigraph problem of theorem 4.2 whichever way the units at zero are counted.

    Parameters
    ----------
    slopes
        For each stage the slopes phi_l'(a_l), shape (t, width); of ReLU units where a_l > 0 (at a_l = 0 either way).
    weights
        For each stage, the weight of each unit, shape (t, width).
    gather
        Sums of the t gradients that are wanted instead of the gradients themselves, shape (p, t).

    Returns
    -------
    Shape (t, num_inputs), or (p, num_inputs).

    Examples
    --------
    The slope of max(x, 0) + 2 max(x - 1, 0) is 1 at x = 0.5 and 3 at x = 2.

    >>> from dcembed.network.network import build_mlp, preactivations
    >>> network = build_mlp([[[1.0], [1.0]], [[1.0, 2.0]]], [[0.0, -1.0], None])
    >>> active = [stage > 0 for stage in preactivations(network, np.array([[0.5], [2.0]]))]
    >>> backpropagate(network, active, [np.array([[1.0, 2.0], [1.0, 2.0]])])
    array([[1.],
           [3.]])
    """
    adjoint = list(weights)
    size = gather.shape[0] if gather is not None else adjoint[0].shape[0] if adjoint else 0
    gradient = np.zeros((size, network.num_inputs))
    for index in range(len(network.stages) - 1, -1, -1):
        flow = adjoint[index] * slopes[index]
        for source, block in network.stages[index].weights.items():
            if source > 0:
                adjoint[source - 1] = adjoint[source - 1] + flow @ block
            elif gather is None:
                gradient += flow @ block
            else:
                # Few sums of many gradients: add up before the product, not after it.
                gradient += times(gather, flow) @ block
    return gradient
