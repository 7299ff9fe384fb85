"""Perceptrons fitted to samples by least squares; scaling of inputs and predictions becomes part of the first and the last layer."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from benchmarks.problems.descent import descend, perceptron
from benchmarks.problems.perceptron import build_perceptron
from dcembed import Network
from dcembed.network.activations import RELU

BATCH, FIRST_RATE, LAST_RATE = 500, 3e-3, 3e-5
# Of the samples, how many are kept to measure the error on, and after how many steps that is done.
VALIDATION_SHARE, STRIDE = 0.1, 100


@dataclass(frozen=True, eq=False)
class Fitted:
    """What training came to.

    Parameters
    ----------
    error
        Mean squared error on samples that were kept back, as a share of their variance.
    network
        It takes and gives unscaled numbers.
    """

    error: float
    network: Network


def regress(
    points: np.ndarray, values: np.ndarray, widths: Sequence[int], num_steps: int, seed: int = 0, keep_best: bool = False
) -> Fitted:
    """A ReLU network of these widths for samples (m, n) and their values (m,), which are in no order that matters.

    It is that of the last step, or of the one with the least error on the samples that were kept back: where samples are few, later ones
    learn them by heart.
    """
    torch.manual_seed(seed)
    mean, std = points.mean(axis=0), points.std(axis=0)
    std = np.where(std > 0, std, 1.0)
    middle, scale = values.mean(), values.std()
    x, y = (torch.from_numpy(part).float() for part in ((points - mean) / std, (values - middle) / scale))
    held = int(VALIDATION_SHARE * len(x))
    model = perceptron([x.shape[1], *widths, 1])

    def error() -> torch.Tensor:
        batch = torch.randint(held, len(x), (BATCH,))
        return ((model(x[batch])[:, 0] - y[batch]) ** 2).mean()

    best, chosen = np.inf, model
    for step in descend(model, error, num_steps, FIRST_RATE, LAST_RATE):
        if keep_best and step % STRIDE == 0:
            with torch.no_grad():
                left_over = float(((model(x[:held])[:, 0] - y[:held]) ** 2).mean())
            best, chosen = (left_over, copy.deepcopy(model)) if left_over < best else (best, chosen)
    network = _unscaled(chosen, mean, std, middle, scale)
    left = network(points[:held])[:, 0] - values[:held]
    return Fitted(float(np.mean(left**2) / np.var(values[:held])), network)


def _unscaled(model: torch.nn.Sequential, mean: np.ndarray, std: np.ndarray, middle: float, scale: float) -> Network:
    linear = [layer for layer in model if isinstance(layer, torch.nn.Linear)]
    weights = [layer.weight.detach().numpy().astype(np.float64) for layer in linear]
    biases = [layer.bias.detach().numpy().astype(np.float64) for layer in linear]
    weights[0] = weights[0] / std
    biases[0] = biases[0] - weights[0] @ mean
    weights[-1], biases[-1] = scale * weights[-1], scale * biases[-1] + middle
    named = {f"W{number}": weight for number, weight in enumerate(weights, start=1)}
    return build_perceptron(named | {f"b{number}": bias for number, bias in enumerate(biases, start=1)}, RELU)
