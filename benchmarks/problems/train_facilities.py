"""Train the networks of the facilities, of every scenario and of the expectation: `python -m benchmarks.problems.train_facilities 10 25 50`.

Both learn from the same second stages, each solved for one design and one scenario: by least squares, a network that does not see the
scenario comes to the expectation.
"""

from __future__ import annotations

import numpy as np

from benchmarks.problems.facilities import WIDTHS, build_recourse, draw_demands, draw_site, facilities_path, sides
from benchmarks.problems.regression import Fitted, regress
from benchmarks.problems.scenario_design import WRITINGS
from benchmarks.problems.training_command import run_training
from dcembed import save_network

NUM_STEPS, NUM_SAMPLES = 5_000, {10: 8_000, 25: 6_000, 50: 3_000}


def draw_samples(size: int, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Designs (k, n), demands (k, n) and what their second stages cost."""
    rng, site = np.random.default_rng(0), draw_site(size)
    designs = (rng.random((number, size)) < rng.uniform(0.1, 0.7, (number, 1))).astype(np.float64)
    demands, recourse = draw_demands(site, number, rng), build_recourse(site)
    return designs, demands, np.array([recourse.solve(*sides(site, x, d)) for x, d in zip(designs, demands, strict=True)])


def train(size: int, num_steps: int = NUM_STEPS, number: int | None = None) -> dict[str, Fitted]:
    """Both networks at their best step."""
    designs, demands, costs = draw_samples(size, number or NUM_SAMPLES[size])
    inputs = np.hstack([designs, demands]), designs
    return {
        writing: regress(points, costs, (WIDTHS[size],), num_steps, keep_best=True)
        for writing, points in zip(WRITINGS, inputs, strict=True)
    }


def train_and_save(size: int, num_steps: int) -> str:
    """What came out of it."""
    fitted = train(size, num_steps)
    for writing, one in fitted.items():
        save_network(one.network, facilities_path(size, writing))
    errors = ", ".join(f"{writing} {one.error:.1e}" for writing, one in fitted.items())
    return f"facilities {size}: validation errors {errors} of the variance"


def main() -> None:
    run_training(__doc__, list(WIDTHS), NUM_STEPS, train_and_save)


if __name__ == "__main__":
    main()
