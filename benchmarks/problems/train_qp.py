"""Train the networks of the QP experiment: `python -m benchmarks.problems.train_qp 64x1 64x3 --trials 0 1 2 --activation tanh`.

The sizes of the paper are trained as it says. A layer of 1024 units costs a second for every such step on one core, so beyond the
paper's widths `--steps` and `--batch` are there to train with less: the experiment needs the size of the network, not its last digit.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from rich.progress import track

from benchmarks.problems.descent import descend, named_weights, perceptron
from benchmarks.problems.perceptron import TORCH_LAYERS, build_perceptron
from benchmarks.problems.qp import BLOCK, network_path, target
from benchmarks.problems.trained import own_folder
from dcembed import save_network
from dcembed.network.activations import find_activation

NUM_STEPS, BATCH = 20_000, 4_000
FIRST_RATE, LAST_RATE = 2e-3, 1e-5
NUM_TRAINING, NUM_VALIDATION, VALIDATE_EVERY = 200_000, 20_000, 500


def train(
    width: int, depth: int, trial: int, num_steps: int = NUM_STEPS, batch_size: int = BATCH, activation: str = "relu"
) -> tuple[float, dict[str, np.ndarray]]:
    """Mean squared error on the validation set and the weights W1, b1, ... of the best checkpoint."""
    torch.manual_seed(trial)
    model = perceptron([BLOCK, *[width] * depth, 1], getattr(torch.nn, TORCH_LAYERS[activation]))
    # All architectures of a trial share their data.
    generator = torch.Generator().manual_seed(1000 + trial)
    x, validation = (torch.rand(size, BLOCK, generator=generator) * 2 - 1 for size in (NUM_TRAINING, NUM_VALIDATION))
    y, expected = target(x), target(validation)
    best, weights = np.inf, {}

    def error_on(points: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        return ((model(points)[:, 0] - values) ** 2).mean()

    def draw_loss() -> torch.Tensor:
        batch = torch.randint(0, NUM_TRAINING, (batch_size,))
        return error_on(x[batch], y[batch])

    steps = descend(model, draw_loss, num_steps, FIRST_RATE, LAST_RATE)
    for step in track(steps, total=num_steps, description=f"{activation} {width}x{depth} trial {trial}"):
        if step % VALIDATE_EVERY == 0 or step == num_steps:
            with torch.no_grad():
                error = float(error_on(validation, expected))
            if error < best:
                best, weights = error, named_weights(model)
    return best, weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="+", help="WIDTHxDEPTH, e.g. 64x3")
    parser.add_argument("--trials", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=NUM_STEPS, help="Adam steps (default %(default)s, as in the paper)")
    parser.add_argument("--batch", type=int, default=BATCH, help="samples in a step (default %(default)s, as in the paper)")
    parser.add_argument("--activation", choices=TORCH_LAYERS, default="relu", help="of all hidden units (default %(default)s)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    own_folder().mkdir(parents=True, exist_ok=True)
    for size in arguments.sizes:
        width, depth = (int(part) for part in size.split("x"))
        for trial in arguments.trials:
            error, weights = train(width, depth, trial, arguments.steps, arguments.batch, arguments.activation)
            path = network_path(width, depth, trial, arguments.activation)
            save_network(build_perceptron(weights, find_activation(arguments.activation)), path)
            print(f"{path.stem}: validation error {error:.2e}, saved to {path.name}")


if __name__ == "__main__":
    main()
