"""Train the network of the prices: `python -m benchmarks.problems.train_prices`."""

from __future__ import annotations

import numpy as np

from benchmarks.problems.prices import WIDTHS, draw_sales, prices_path
from benchmarks.problems.regression import Fitted, regress
from benchmarks.problems.training_command import run_training
from dcembed import save_network

NUM_STEPS, NUM_SAMPLES = 8_000, 20_000


def train(num_steps: int = NUM_STEPS) -> Fitted:
    """The network after the last step."""
    return regress(*draw_sales(NUM_SAMPLES, np.random.default_rng(0)), WIDTHS, num_steps)


def train_and_save(name: str, num_steps: int) -> str:
    """What came out of it."""
    fitted = train(num_steps)
    save_network(fitted.network, prices_path())
    return f"{name}: validation error {fitted.error:.1e} of the variance, saved to {prices_path().name}"


def main() -> None:
    run_training(__doc__, ["prices"], NUM_STEPS, train_and_save)


if __name__ == "__main__":
    main()
