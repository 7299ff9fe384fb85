"""Predictions measured along directions, as the pre-activations of one more stage: so they are bounded like any unit."""

from __future__ import annotations

import numpy as np

from dcembed.arrays import Array
from dcembed.network.activations import RELU
from dcembed.network.affine import Affine
from dcembed.network.network import Network


def measured_along(network: Network, directions: Array) -> Network:
    """The network with a further stage whose pre-activations are directions @ predictions; `directions` has shape (d, num_outputs).

    Examples
    --------
    -2 |x| on [1, 3]:

    >>> from dcembed.network import build_mlp
    >>> from dcembed.network.bounds import bound
    >>> absolute = build_mlp(weights=[[[1.0], [-1.0]], [[1.0, 1.0]]], biases=[None, None])
    >>> low, high = bound(measured_along(absolute, np.array([[-2.0]])), [[1.0]], [[3.0]])[-1]
    >>> low.item(), high.item()
    (-6.0, -2.0)
    """
    further = Affine({len(network.stages) + 1: np.eye(directions.shape[0])}, np.zeros(directions.shape[0]))
    output = turned_along(network, directions).output
    return Network(network.num_inputs, (*network.stages, output), further, activations=(*network.activations, RELU))


def turned_along(network: Network, directions: Array) -> Network:
    """The network whose predictions are directions @ predictions."""
    weights = {source: directions @ block for source, block in network.output.weights.items()}
    return Network(network.num_inputs, network.stages, Affine(weights, directions @ network.output.bias), activations=network.activations)
