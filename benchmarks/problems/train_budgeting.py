"""Train encoder and head of capital budgeting: `python -m benchmarks.problems.train_budgeting`."""

from __future__ import annotations

import numpy as np

from benchmarks.problems.budgeting import NUM_PROJECTS, PROBLEM, draw_projects, draw_risks, features, value
from benchmarks.problems.train_set_encoder import Samples, train_and_save
from benchmarks.problems.training_command import run_training

NUM_STEPS, NUM_SAMPLES = 4_000, 6_000


def draw_samples(number: int = NUM_SAMPLES) -> Samples:
    """Instances, choices and scenarios, each once, with their values by project."""
    rng = np.random.default_rng(0)
    seen, choices, values = [], [], []
    for _ in range(number):
        projects, risks = draw_projects(rng), draw_risks(1, rng)
        # From few projects to so many that money has to be borrowed; half of the time those that promise most.
        share, merit = rng.uniform(0.0, 0.7), rng.integers(2) * projects.profit / projects.cost + rng.uniform(0.0, 0.1, NUM_PROJECTS)
        chosen = (merit >= np.quantile(merit, 1.0 - share)).astype(np.float64)
        seen.append(features(projects, risks)[0])
        choices.append(chosen)
        values.append(value(projects, chosen, risks[0]) / NUM_PROJECTS)
    return np.array(seen), np.array(choices), np.array(values)


def main() -> None:
    run_training(__doc__, [PROBLEM], NUM_STEPS, lambda name, num_steps: train_and_save(name, draw_samples, num_steps))


if __name__ == "__main__":
    main()
