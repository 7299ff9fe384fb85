"""Train the network of the molecules: `python -m benchmarks.problems.train_molecule`."""

from __future__ import annotations

import numpy as np

from benchmarks.problems.molecule import WIDTHS, boiling_point, describe, draw_molecule, molecule_path
from benchmarks.problems.regression import Fitted, regress
from benchmarks.problems.training_command import run_training
from dcembed import save_network

NUM_STEPS, NUM_SAMPLES = 8_000, 20_000


def train(num_steps: int = NUM_STEPS, num_samples: int = NUM_SAMPLES) -> Fitted:
    """The network after the last step."""
    rng = np.random.default_rng(0)
    drawn = [draw_molecule(rng) for _ in range(num_samples)]
    return regress(np.array([describe(molecule) for molecule in drawn]), np.array(list(map(boiling_point, drawn))), WIDTHS, num_steps)


def train_and_save(name: str, num_steps: int) -> str:
    """What came out of it."""
    fitted = train(num_steps)
    save_network(fitted.network, molecule_path())
    return f"{name}: validation error {fitted.error:.1e} of the variance, saved to {molecule_path().name}"


def main() -> None:
    run_training(__doc__, ["molecule"], NUM_STEPS, train_and_save)


if __name__ == "__main__":
    main()
