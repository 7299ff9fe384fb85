"""Train the networks of the avoidance problems: `python -m benchmarks.problems.train_avoidance 0 1 2 3`."""

from __future__ import annotations

import numpy as np
import torch

from benchmarks.problems.avoidance import DEPTH, NUM_INPUTS, NUM_NETWORKS, NUM_SCORES, WIDTH, avoidance_path, scores
from benchmarks.problems.descent import fit, named_weights, perceptron
from benchmarks.problems.training_command import run_training

NUM_STEPS, BATCH = 3_000, 1_000
FIRST_RATE, LAST_RATE = 3e-3, 3e-5
NUM_VALIDATION = 20_000


def train(number: int, num_steps: int = NUM_STEPS) -> tuple[float, dict[str, np.ndarray]]:
    """Mean squared error on fresh points and the weights W1, b1, ... after the last step."""
    torch.manual_seed(number)
    model = perceptron([NUM_INPUTS, *[WIDTH] * DEPTH, NUM_SCORES])

    def error(number: int) -> torch.Tensor:
        x = torch.rand(number, NUM_INPUTS) - 0.5
        return ((model(x) - scores(x)) ** 2).mean()

    fit(model, lambda: error(BATCH), num_steps, FIRST_RATE, LAST_RATE)
    with torch.no_grad():
        return float(error(NUM_VALIDATION)), named_weights(model)


def train_and_save(number: int, num_steps: int) -> str:
    """What came out of it."""
    error, weights = train(number, num_steps)
    np.savez(avoidance_path(number), **weights)
    return f"avoidance {number}: validation error {error:.2e}, saved to {avoidance_path(number).name}"


def main() -> None:
    run_training(__doc__, range(NUM_NETWORKS), NUM_STEPS, train_and_save)


if __name__ == "__main__":
    main()
