"""Train the network of the heat pump: `python -m benchmarks.problems.train_heat_pump`."""

from __future__ import annotations

import numpy as np

from benchmarks.problems.heat_pump import HIGH, LOW, WIDTHS, electric_power, heat_pump_path
from benchmarks.problems.regression import Fitted, regress
from benchmarks.problems.training_command import run_training
from dcembed import save_network

NUM_STEPS, NUM_SAMPLES = 10_000, 50_000


def train(num_steps: int = NUM_STEPS) -> Fitted:
    """The network after the last step."""
    points = np.random.default_rng(0).uniform(LOW, HIGH, (NUM_SAMPLES, LOW.size))
    return regress(points, electric_power(points), WIDTHS, num_steps)


def train_and_save(name: str, num_steps: int) -> str:
    """What came out of it."""
    fitted = train(num_steps)
    save_network(fitted.network, heat_pump_path())
    return f"{name}: validation error {fitted.error:.1e} of the variance, saved to {heat_pump_path().name}"


def main() -> None:
    run_training(__doc__, ["heat-pump"], NUM_STEPS, train_and_save)


if __name__ == "__main__":
    main()
