"""Second derivatives of predictions, batched over points.

With J_l = da_l / dx and lambda_l the derivative of nu' f in the units z_l, the Hessian of nu' f is sum_l J_l' diag(lambda_l phi_l'') J_l:
one forward pass with the inputs carried along, and one backward pass. ReLU units have no curvature.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dcembed.arrays import Array
from dcembed.network.activations import RELU
from dcembed.network.affine import Affine
from dcembed.network.batched_products import apply_to_boxes
from dcembed.network.chunks import slices
from dcembed.network.network import CHUNK_ENTRIES, Network, preactivations
from dcembed.network.split import measure


def hessians(network: Network, points: Array, weights: Array) -> Array:
    """The Hessians in the inputs of weights' f at each of k points, shape (k, n_in, n_in).

    Parameters
    ----------
    points
        Shape (k, n_in).
    weights
        Of the predictions at each point, shape (k, n_out).

    Examples
    --------
    >>> from dcembed.network import NetworkBuilder
    >>> from dcembed.network.activations import find_activation
    >>> builder = NetworkBuilder((2,))
    >>> total = builder.linear(builder.activate(builder.input, find_activation("square")), np.array([[1.0, 3.0]]))
    >>> hessians(builder.finish(total), np.zeros((1, 2)), np.ones((1, 1)))
    array([[[2., 0.],
            [0., 6.]]])
    """
    result = np.zeros((points.shape[0], network.num_inputs, network.num_inputs))
    widest = max((network.num_inputs, *network.widths))
    for chunk in slices(points.shape[0], network.num_inputs * widest * (1 + len(network.stages)), CHUNK_ENTRIES):
        result[chunk] = _hessians(network, points[chunk], weights[chunk])
    return result


def _hessians(network: Network, points: Array, weights: Array) -> Array:
    before = preactivations(network, points)
    slopes = [activation.slope(stage) for activation, stage in zip(network.activations, before, strict=True)]
    adjoints = _adjoints(network, slopes, measure(network, weights)[0])
    k, n = points.shape
    sources = [np.broadcast_to(np.eye(n), (k, n, n))]
    total = np.zeros((k, n, n))
    for index, (stage, activation) in enumerate(zip(network.stages, network.activations, strict=True)):
        jacobian = _jacobian(stage, sources)
        if activation is not RELU:
            bend = adjoints[index] * activation.curvature(before[index])
            total += (jacobian * bend[:, :, None]).transpose(0, 2, 1) @ jacobian
        sources.append(slopes[index][:, :, None] * jacobian)
    return total


def _adjoints(network: Network, slopes: Sequence[Array], direct: list[Array]) -> list[Array]:
    """The derivatives in the units of each stage, shape (k, width)."""
    adjoints = list(direct)
    for index in range(len(network.stages) - 1, -1, -1):
        flow = adjoints[index] * slopes[index]
        for source, block in network.stages[index].weights.items():
            if source > 0:
                adjoints[source - 1] = adjoints[source - 1] + flow @ block
    return adjoints


def _jacobian(stage: Affine, sources: list[Array]) -> Array:
    total: Array | None = None
    for source, block in stage.weights.items():
        part = apply_to_boxes(block, sources[source])
        total = part if total is None else total + part
    return np.zeros((sources[0].shape[0], stage.num_rows, sources[0].shape[2])) if total is None else total
