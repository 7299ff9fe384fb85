"""Train the dynamics of the tanks: `python -m benchmarks.problems.train_tanks relu tanh`."""

from __future__ import annotations

import numpy as np
import torch

from benchmarks.problems.descent import fit, named_weights, perceptron
from benchmarks.problems.perceptron import TORCH_LAYERS, build_perceptron
from benchmarks.problems.tank_system import HIGH, LOW, WIDTHS, rise
from benchmarks.problems.tanks import ACTIVATIONS, dynamics_path
from benchmarks.problems.training_command import run_training
from dcembed import Network, save_network
from dcembed.network.activations import find_activation

NUM_STEPS, BATCH = 20_000, 500
FIRST_RATE, LAST_RATE = 5e-3, 2e-5
NUM_TRAINING, NUM_VALIDATION = 100_000, 20_000


def train(name: str, num_steps: int = NUM_STEPS) -> tuple[np.ndarray, Network]:
    """Root mean squared errors of the four levels after a period on fresh points, in cm, and the network after the last step."""
    torch.manual_seed(ACTIVATIONS.index(name))
    points = np.random.default_rng(0).uniform(LOW, HIGH, (NUM_TRAINING + NUM_VALIDATION, LOW.size))
    values = rise(points)
    middle, scale = values.mean(axis=0), values.std(axis=0)
    centre, radius = (LOW + HIGH) / 2, (HIGH - LOW) / 2
    x, y = (torch.from_numpy(part).float() for part in ((points - centre) / radius, (values - middle) / scale))
    model = perceptron([LOW.size, *WIDTHS, values.shape[1]], getattr(torch.nn, TORCH_LAYERS[name]))

    def error() -> torch.Tensor:
        batch = torch.randint(0, NUM_TRAINING, (BATCH,))
        return ((model(x[batch]) - y[batch]) ** 2).mean()

    fit(model, error, num_steps, FIRST_RATE, LAST_RATE)
    weights = named_weights(model) | {"mean": centre, "std": radius}
    last = f"{len(WIDTHS) + 1}"
    weights[f"W{last}"], weights[f"b{last}"] = scale[:, None] * weights[f"W{last}"], scale * weights[f"b{last}"] + middle
    network = build_perceptron(weights, find_activation(name))
    missed = network(points[NUM_TRAINING:]) - values[NUM_TRAINING:]
    return np.sqrt((missed**2).mean(axis=0)), network


def train_and_save(name: str, num_steps: int) -> str:
    """What came out of it."""
    error, network = train(name, num_steps)
    save_network(network, dynamics_path(name))
    return f"tanks {name}: levels missed by {', '.join(f'{each:.1e}' for each in error)} cm, saved to {dynamics_path(name).name}"


def main() -> None:
    run_training(__doc__, list(ACTIVATIONS), NUM_STEPS, train_and_save)


if __name__ == "__main__":
    main()
