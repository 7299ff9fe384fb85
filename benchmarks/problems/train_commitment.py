"""Train the networks of the commitment problem: `python -m benchmarks.problems.train_commitment cost oxides`."""

from __future__ import annotations

import argparse
import itertools

import numpy as np
import torch

from benchmarks.problems.commitment import NETWORK_NAMES, NUM_INPUTS, WIDTHS, commitment_path, fuel_cost, nitrogen_oxides
from benchmarks.problems.qp import NETWORKS
from benchmarks.problems.train_qp import named_weights

NUM_STEPS, BATCH = 4_000, 1_000
FIRST_RATE, LAST_RATE = 3e-3, 3e-5
NUM_VALIDATION = 20_000
TARGETS = dict(zip(NETWORK_NAMES, (fuel_cost, nitrogen_oxides), strict=True))


def train(name: str, num_steps: int = NUM_STEPS) -> tuple[float, dict[str, np.ndarray]]:
    """Mean squared error on fresh points and the weights W1, b1, ... after the last step."""
    torch.manual_seed(NETWORK_NAMES.index(name))
    target = TARGETS[name]
    sizes = [NUM_INPUTS, *WIDTHS]
    layers = [layer for a, b in itertools.pairwise(sizes) for layer in (torch.nn.Linear(a, b), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(WIDTHS[-1], 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=FIRST_RATE)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, (LAST_RATE / FIRST_RATE) ** (1 / num_steps))
    for _ in range(num_steps):
        x = torch.rand(BATCH, NUM_INPUTS)
        loss = ((model(x)[:, 0] - target(x)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    x = torch.rand(NUM_VALIDATION, NUM_INPUTS)
    with torch.no_grad():
        return float(((model(x)[:, 0] - target(x)) ** 2).mean()), named_weights(model)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(NETWORK_NAMES), help="cost, oxides (default: both)")
    parser.add_argument("--steps", type=int, default=NUM_STEPS, help="Adam steps (default %(default)s)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    NETWORKS.mkdir(exist_ok=True)
    for name in arguments.names:
        error, weights = train(name, arguments.steps)
        np.savez(commitment_path(name), **weights)
        print(f"commitment {name}: validation error {error:.2e}, saved to {commitment_path(name).name}")


if __name__ == "__main__":
    main()
