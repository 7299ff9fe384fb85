"""Train the networks of the servers: `python -m benchmarks.problems.train_servers 10x50 15x45`."""

from __future__ import annotations

import numpy as np

from benchmarks.problems.regression import Fitted, regress
from benchmarks.problems.servers import WIDTHS, build_recourse, draw_clients, draw_servers, servers_path, sides
from benchmarks.problems.training_command import run_training
from dcembed import save_network

NUM_STEPS, NUM_SAMPLES = 5_000, 800


def draw_samples(size: str, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Designs with clients (k, n + m), and what their second stages cost."""
    rng, servers = np.random.default_rng(0), draw_servers(size)
    shape = number, servers.cost.size
    placed = (rng.random(shape) < rng.uniform(0.1, 0.7, (number, 1))).astype(np.float64)
    # Where nothing is placed, all is beyond: the network need not know that, a row of the host forbids it.
    placed[np.arange(number), rng.integers(shape[1], size=number)] = 1.0
    clients, recourse = draw_clients(servers, number, rng), build_recourse(servers)
    costs = [recourse.solve(*sides(servers, x, h)) for x, h in zip(placed, clients, strict=True)]
    return np.hstack([placed, clients]), np.array(costs)


def train(size: str, num_steps: int = NUM_STEPS, number: int = NUM_SAMPLES) -> Fitted:
    """The network at its best step."""
    return regress(*draw_samples(size, number), (WIDTHS[size],), num_steps, keep_best=True)


def train_and_save(size: str, num_steps: int) -> str:
    """What came out of it."""
    fitted = train(size, num_steps)
    save_network(fitted.network, servers_path(size))
    return f"servers {size}: validation error {fitted.error:.1e} of the variance, saved to {servers_path(size).name}"


def main() -> None:
    run_training(__doc__, list(WIDTHS), NUM_STEPS, train_and_save)


if __name__ == "__main__":
    main()
