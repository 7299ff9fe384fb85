"""Train encoder and head of knapsack interdiction: `python -m benchmarks.problems.train_interdiction`."""

from __future__ import annotations

import numpy as np

from benchmarks.problems.interdiction import NUM_ITEMS, PROBLEM, best_packing, draw_knapsack, features
from benchmarks.problems.train_set_encoder import Samples, train_and_save
from benchmarks.problems.training_command import run_training

NUM_STEPS, NUM_SAMPLES = 4_000, 6_000


def draw_samples(number: int = NUM_SAMPLES) -> Samples:
    """Instances and what is taken from them, each once, with the follower's values by item."""
    rng = np.random.default_rng(0)
    seen, taken, values = [], [], []
    for _ in range(number):
        knapsack = draw_knapsack(rng)
        # Half of the time those that are worth most.
        share, merit = rng.uniform(0.0, 0.6), rng.integers(2) * knapsack.value / knapsack.weight + rng.uniform(0.0, 1.0, NUM_ITEMS)
        gone = (merit >= np.quantile(merit, 1.0 - share)).astype(np.float64)
        seen.append(features(knapsack))
        taken.append(gone)
        values.append(best_packing(knapsack, gone) / NUM_ITEMS)
    return np.array(seen), np.array(taken), np.array(values)


def main() -> None:
    run_training(__doc__, [PROBLEM], NUM_STEPS, lambda name, num_steps: train_and_save(name, draw_samples, num_steps))


if __name__ == "__main__":
    main()
