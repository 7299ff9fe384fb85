"""Train the surrogates of the process problem: `python -m benchmarks.problems.train_process tank flash`."""

from __future__ import annotations

import numpy as np
import torch

from benchmarks.problems.descent import fit, named_weights, perceptron
from benchmarks.problems.perceptron import build_perceptron
from benchmarks.problems.process_units import RANGES, UNITS, WIDTHS, unit_path
from benchmarks.problems.training_command import run_training
from dcembed import Network, save_network
from dcembed.network.activations import find_activation

NUM_STEPS, BATCH = 10_000, 1_000
FIRST_RATE, LAST_RATE = 5e-3, 2e-5
NUM_TRAINING, NUM_VALIDATION = 100_000, 20_000


def train(name: str, num_steps: int = NUM_STEPS) -> tuple[np.ndarray, Network]:
    """Mean squared errors of all outputs on fresh points, as shares of their variances, and the network after the last step."""
    torch.manual_seed(list(UNITS).index(name))
    low, high = RANGES[name]
    points = np.random.default_rng(0).uniform(low, high, (NUM_TRAINING + NUM_VALIDATION, low.size))
    values = UNITS[name](points)
    middle, scale = values.mean(axis=0), values.std(axis=0)
    centre, radius = (low + high) / 2, (high - low) / 2
    x, y = (torch.from_numpy(part).float() for part in ((points - centre) / radius, (values - middle) / scale))
    model = _fit(x[:NUM_TRAINING], y[:NUM_TRAINING], num_steps)
    with torch.no_grad():
        error = ((model(x[NUM_TRAINING:]) - y[NUM_TRAINING:]) ** 2).mean(dim=0).numpy()
    weights = named_weights(model) | {"mean": centre, "std": radius}
    last = f"{len(WIDTHS) + 1}"
    weights[f"W{last}"], weights[f"b{last}"] = scale[:, None] * weights[f"W{last}"], scale * weights[f"b{last}"] + middle
    return error, build_perceptron(weights, find_activation("tanh"))


def _fit(x: torch.Tensor, y: torch.Tensor, num_steps: int) -> torch.nn.Sequential:
    """A model of scaled inputs and outputs."""
    model = perceptron([x.shape[1], *WIDTHS, y.shape[1]], torch.nn.Tanh)

    def error() -> torch.Tensor:
        batch = torch.randint(0, len(x), (BATCH,))
        return ((model(x[batch]) - y[batch]) ** 2).mean()

    fit(model, error, num_steps, FIRST_RATE, LAST_RATE)
    return model


def train_and_save(name: str, num_steps: int) -> str:
    """What came out of it."""
    error, network = train(name, num_steps)
    save_network(network, unit_path(name))
    shares = ", ".join(f"{share:.1e}" for share in error)
    return f"process {name}: validation error {shares} of the variance, saved to {unit_path(name).name}"


def main() -> None:
    run_training(__doc__, list(UNITS), NUM_STEPS, train_and_save)


if __name__ == "__main__":
    main()
