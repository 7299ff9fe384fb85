"""Train the network of the scholarships: `python -m benchmarks.problems.train_admission`."""

from __future__ import annotations

import argparse

import numpy as np
import torch

from benchmarks.problems.admission import DEPTH, GRADES, MOST, NUM_INPUTS, TEST, WIDTH, admission_path, draw_applicants, enrolment
from benchmarks.problems.descent import fit, named_weights, perceptron
from benchmarks.problems.trained import own_folder

NUM_STEPS, BATCH = 5_000, 1_000
FIRST_RATE, LAST_RATE = 1e-2, 1e-4
NUM_VALIDATION = 20_000


def train(seed: int = 0, num_steps: int = NUM_STEPS) -> tuple[float, dict[str, np.ndarray]]:
    """Mean squared error on fresh points, and the weights W1, b1, ... on standardized inputs with their mean and std."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(1000 + seed)
    mean, std = np.array([GRADES[0], TEST[0], MOST / 2]), np.array([GRADES[1], TEST[1], MOST / np.sqrt(12)])
    model = perceptron([NUM_INPUTS, *[WIDTH] * DEPTH, 1])

    def error(number: int) -> torch.Tensor:
        points = np.hstack([draw_applicants(number, rng), rng.uniform(0.0, MOST, (number, 1))])
        expected = torch.from_numpy(enrolment(points)).float()
        return ((model(torch.from_numpy((points - mean) / std).float())[:, 0] - expected) ** 2).mean()

    fit(model, lambda: error(BATCH), num_steps, FIRST_RATE, LAST_RATE)
    with torch.no_grad():
        return float(error(NUM_VALIDATION)), {**named_weights(model), "mean": mean, "std": std}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=NUM_STEPS, help="Adam steps (default %(default)s)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    own_folder().mkdir(parents=True, exist_ok=True)
    error, weights = train(num_steps=arguments.steps)
    np.savez(admission_path(), **weights)
    print(f"admission: validation error {error:.2e}, saved to {admission_path().name}")


if __name__ == "__main__":
    main()
