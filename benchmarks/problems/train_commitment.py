"""Train the networks of the commitment problem: `python -m benchmarks.problems.train_commitment cost oxides`."""

from __future__ import annotations

import numpy as np
import torch

from benchmarks.problems.commitment import NETWORK_NAMES, NUM_INPUTS, WIDTHS, commitment_path, fuel_cost, nitrogen_oxides
from benchmarks.problems.descent import fit, named_weights, perceptron
from benchmarks.problems.training_command import run_training

NUM_STEPS, BATCH = 4_000, 1_000
FIRST_RATE, LAST_RATE = 3e-3, 3e-5
NUM_VALIDATION = 20_000
TARGETS = dict(zip(NETWORK_NAMES, (fuel_cost, nitrogen_oxides), strict=True))


def train(name: str, num_steps: int = NUM_STEPS) -> tuple[float, dict[str, np.ndarray]]:
    """Mean squared error on fresh points and the weights W1, b1, ... after the last step."""
    torch.manual_seed(NETWORK_NAMES.index(name))
    target = TARGETS[name]
    model = perceptron([NUM_INPUTS, *WIDTHS, 1])

    def error(number: int) -> torch.Tensor:
        x = torch.rand(number, NUM_INPUTS)
        return ((model(x)[:, 0] - target(x)) ** 2).mean()

    fit(model, lambda: error(BATCH), num_steps, FIRST_RATE, LAST_RATE)
    with torch.no_grad():
        return float(error(NUM_VALIDATION)), named_weights(model)


def train_and_save(name: str, num_steps: int) -> str:
    """What came out of it."""
    error, weights = train(name, num_steps)
    np.savez(commitment_path(name), **weights)
    return f"commitment {name}: validation error {error:.2e}, saved to {commitment_path(name).name}"


def main() -> None:
    run_training(__doc__, NETWORK_NAMES, NUM_STEPS, train_and_save)


if __name__ == "__main__":
    main()
