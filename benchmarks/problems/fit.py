"""Small networks fitted to a known function: weights as training leaves them, the same for the same seed."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from benchmarks.problems.perceptron import build_perceptron
from dcembed import Network
from dcembed.network.activations import RELU, Activation

NUM_SAMPLES, NUM_STEPS = 512, 400
# Adam's usual constants.
RATE, DECAY, DECAY_SQUARES, TINY = 0.01, 0.9, 0.999, 1e-8


def fit_network(
    target: Callable[[np.ndarray], np.ndarray],
    low: np.ndarray,
    high: np.ndarray,
    widths: tuple[int, ...],
    seed: int,
    activation: Activation = RELU,
) -> Network:
    """A network with one activation, fitted by least squares to `target` on the box; it takes and gives unscaled numbers."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(low, high, (NUM_SAMPLES, low.size))
    values = target(points)
    middle, scale = values.mean(), values.std()
    sizes = (low.size, *widths, 1)
    weights = [rng.normal(size=(b, a)) * np.sqrt(2 / a) for a, b in itertools.pairwise(sizes)]
    biases = [rng.normal(size=b) * 0.1 for b in sizes[1:]]
    centre, radius = (high + low) / 2, (high - low) / 2
    _descend(weights, biases, activation, (points - centre) / radius, (values - middle) / scale)
    # The scaling of inputs and predictions becomes part of the first and the last layer.
    weights[0] = weights[0] / radius
    biases[0] = biases[0] - weights[0] @ centre
    weights[-1], biases[-1] = scale * weights[-1], scale * biases[-1] + middle
    named = {f"W{number}": weight for number, weight in enumerate(weights, start=1)}
    return build_perceptron(named | {f"b{number}": bias for number, bias in enumerate(biases, start=1)}, activation)


def _descend(weights: list[np.ndarray], biases: list[np.ndarray], activation: Activation, points: np.ndarray, values: np.ndarray) -> None:
    """Steps of Adam on the mean squared error, in place."""
    parameters = [*weights, *biases]
    first, second = [np.zeros_like(p) for p in parameters], [np.zeros_like(p) for p in parameters]
    for step in range(1, NUM_STEPS + 1):
        gradient = _gradient(weights, biases, activation, points, values)
        for p, g, m, v in zip(parameters, gradient, first, second, strict=True):
            m += (1 - DECAY) * (g - m)
            v += (1 - DECAY_SQUARES) * (g * g - v)
            p -= RATE * (m / (1 - DECAY**step)) / (np.sqrt(v / (1 - DECAY_SQUARES**step)) + TINY)


def _gradient(
    weights: list[np.ndarray], biases: list[np.ndarray], activation: Activation, points: np.ndarray, values: np.ndarray
) -> list[np.ndarray]:
    """Of the mean squared error, by the weights and then by the biases."""
    layers, through = [points], [np.ones_like(points)]
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        before = layers[-1] @ weight.T + bias
        layers.append(activation.value(before))
        through.append(activation.slope(before))
    back = (layers[-1] @ weights[-1].T + biases[-1] - values[:, None]) * 2 / values.size
    slopes, shifts = [], []
    for weight, layer, passed in zip(reversed(weights), reversed(layers), reversed(through), strict=True):
        slopes.append(back.T @ layer)
        shifts.append(back.sum(axis=0))
        back = (back @ weight) * passed
    return [*reversed(slopes), *reversed(shifts)]
