"""Small ReLU networks, all of one repetition trained at once: one on all data, ten on bootstraps of it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch

import dcembed
from benchmarks.studies.optimism_problems import Data, Problem

WIDTH, NUM_MEMBERS = 16, 10
NUM_STEPS, FIRST_STEP, LAST_STEP, WEIGHT_DECAY = 300, 2e-2, 5e-4, 1e-3
# Points at which the fit is measured, drawn as the data are.
NUM_TESTS = 2_000


@dataclass(frozen=True, eq=False)
class Trained:
    """The network of all data, those of the bootstraps, and how well the first fits: R^2 of each output against the truth, shape (o,)."""

    single: dcembed.Network
    members: tuple[dcembed.Network, ...]
    fit: np.ndarray


def train(problem: Problem, data: Data, seed: int) -> Trained:
    """Two hidden layers, standardized inputs and outputs, Adam on all data with weight decay: what one would do first, the same for all."""
    shift, spread = data.x.mean(axis=0), data.x.std(axis=0)
    mean, deviation = data.y.mean(axis=0), data.y.std(axis=0)
    rng = np.random.default_rng([seed, len(data.x), 1])
    # How often a point is in the data of each network: a bootstrap by weights, so that all networks are one product.
    counts = np.vstack([np.ones(len(data.x)), rng.multinomial(len(data.x), np.full(len(data.x), 1 / len(data.x)), size=NUM_MEMBERS)])
    layers = _fit((data.x - shift) / spread, (data.y - mean) / deviation, counts, seed)
    networks = [_unscaled([(w[i], b[i]) for w, b in layers], shift, spread, mean, deviation) for i in range(NUM_MEMBERS + 1)]
    test = problem.sample(NUM_TESTS, rng)
    truth = problem.truth(test)
    fit = 1.0 - ((networks[0](test) - truth) ** 2).mean(axis=0) / truth.var(axis=0)
    return Trained(networks[0], tuple(networks[1:]), fit)


def _fit(x: np.ndarray, y: np.ndarray, counts: np.ndarray, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Weights (M, n_in, n_out) and biases (M, n_out) of every layer."""
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(seed)
    sizes = [x.shape[1], WIDTH, WIDTH, y.shape[1]]
    weights = [(torch.randn(len(counts), n, m, generator=generator) * (2.0 / n) ** 0.5).requires_grad_() for n, m in pairwise(sizes)]
    biases = [torch.zeros(len(counts), 1, m, requires_grad=True) for m in sizes[1:]]
    inputs = torch.tensor(x, dtype=torch.float32).expand(len(counts), *x.shape)
    targets, share = torch.tensor(y, dtype=torch.float32), torch.tensor(counts[:, :, None] / len(x), dtype=torch.float32)
    groups = [{"params": weights, "weight_decay": WEIGHT_DECAY}, {"params": biases, "weight_decay": 0.0}]
    optimizer = torch.optim.Adam(groups, lr=FIRST_STEP)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, (LAST_STEP / FIRST_STEP) ** (1 / NUM_STEPS))
    for _ in range(NUM_STEPS):
        hidden = inputs
        for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
            hidden = torch.relu(torch.baddbmm(bias, hidden, weight))
        # The networks do not meet in the sum: each has the gradient that it would have alone.
        loss = (share * (torch.baddbmm(biases[-1], hidden, weights[-1]) - targets) ** 2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return [
        (w.detach().numpy().astype(np.float64), b.detach().numpy().astype(np.float64)[:, 0]) for w, b in zip(weights, biases, strict=True)
    ]


def _unscaled(layers: list[tuple[np.ndarray, np.ndarray]], shift, spread, mean, deviation) -> dcembed.Network:
    """The network from inputs as they are to outputs as they are: the scaling goes into the first layer and the last."""
    weights, biases = [w.T for w, _ in layers], [b for _, b in layers]
    weights[0] = weights[0] / spread
    biases[0] = biases[0] - weights[0] @ shift
    weights[-1], biases[-1] = deviation[:, None] * weights[-1], deviation * biases[-1] + mean
    return dcembed.build_mlp(weights, biases)
