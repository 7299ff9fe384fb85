"""One point of a network that was read for a whole batch.

Where the size of a batch is so deep in a graph that it cannot be taken out, the graph is read for the batch as it is. The points do not know
of each other, so the first one is all that is needed; that they do not is settled by the comparison with the program.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array, Matrix
from dcembed.network.affine import Affine
from dcembed.network.network import Network


def restrict(network: Network, inputs: Array, outputs: Array) -> Network:
    """Some outputs of a network as a function of some inputs, with the others at zero; units that they do not need are dropped.

    Parameters
    ----------
    inputs, outputs
        Their numbers, in the order in which they are wanted.

    Examples
    --------
    >>> from dcembed.network import build_mlp
    >>> batch = build_mlp([np.eye(4), np.eye(4)], [np.ones(4), None])
    >>> restrict(batch, np.array([0, 1]), np.array([0]))
    Network(2 inputs -> 1 -> 1 outputs)
    """
    sizes = [network.num_inputs, *(stage.num_rows for stage in network.stages)]
    kept: dict[int, Array] = {0: np.asarray(inputs)}
    used = [np.zeros(size, dtype=bool) for size in sizes]
    wanted = [*(np.empty(0, dtype=np.int64) for _ in network.stages), np.asarray(outputs)]
    affines = [*network.stages, network.output]
    for index in reversed(range(len(affines))):
        if index < len(network.stages):
            wanted[index] = np.flatnonzero(used[index + 1])
            kept[index + 1] = wanted[index]
        for source, block in affines[index].weights.items():
            used[source][_columns(block[wanted[index]])] = True
    left = [index for index in range(len(network.stages)) if wanted[index].size]
    numbers = {0: 0} | {index + 1: place for place, index in enumerate(left, start=1)}
    parts = [_take(affines[index], wanted[index], kept, numbers) for index in (*left, len(network.stages))]
    return Network(len(inputs), tuple(parts[:-1]), parts[-1], activations=tuple(network.activations[index] for index in left))


def _columns(block: Matrix) -> Array:
    """The columns that are not zero."""
    return np.unique(sp.csr_array(block).nonzero()[1])


def _take(affine: Affine, rows: Array, kept: dict[int, Array], numbers: dict[int, int]) -> Affine:
    weights = {numbers[source]: block[rows][:, kept[source]] for source, block in affine.weights.items() if source in numbers}
    return Affine(weights, affine.bias[rows])
