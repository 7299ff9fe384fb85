"""Train the classifier of the water experiment: `python -m benchmarks.problems.train_water`, with `--activation tanh` a smooth one.

Its recipe is that of the paper, with seed 0. Training depends on the version of torch and on the machine, so counts differ
slightly from those of another classifier; the cohorts too, because the candidates are the samples it rejects untreated.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from rich.progress import track

from benchmarks.problems.data import cache_folder, data_file
from benchmarks.problems.perceptron import TORCH_LAYERS, build_perceptron
from benchmarks.problems.smooth_water import smooth_path
from dcembed import save_network
from dcembed.network.activations import find_activation

NUM_HIDDEN, WIDTH = 4, 32
NUM_EPOCHS, BATCH, RATE, DECAY = 80, 128, 5e-3, 1e-3
MARGIN = 1e-4


def train(table: np.ndarray, seed: int = 0, num_epochs: int = NUM_EPOCHS, activation: str = "relu") -> dict[str, np.ndarray]:
    """Weights W1, b1, ... on standardized features, their mean and std, the candidates and the untreated scores.

    Parameters
    ----------
    table
        Shape (rows, 10): nine features, then 0 or 1.
    """
    torch.manual_seed(seed)
    features, labels = table[:, :-1], table[:, -1]
    mean, std = features.mean(axis=0), features.std(axis=0)
    x = torch.from_numpy((features - mean) / std).float()
    y = torch.from_numpy(labels).float()[:, None]
    model = _classifier(features.shape[1], activation)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, weight_decay=DECAY)
    loss = torch.nn.BCEWithLogitsLoss()
    for _ in track(range(num_epochs), description="water classifier"):
        for batch in torch.randperm(len(x)).split(BATCH):
            optimizer.zero_grad()
            loss(model(x[batch]), y[batch]).backward()
            optimizer.step()
    with torch.no_grad():
        score = model.double()(x.double()).numpy()[:, 0]
    linear = [layer for layer in model if isinstance(layer, torch.nn.Linear)]
    weights = {f"W{i}": layer.weight.detach().float().numpy() for i, layer in enumerate(linear, 1)}
    biases = {f"b{i}": layer.bias.detach().float().numpy() for i, layer in enumerate(linear, 1)}
    pool = np.flatnonzero((labels == 0) & (score < MARGIN))
    kept = {"mean": mean, "std": std, "activations": np.array("relu"), "pool_rows": pool, "score_untreated": score}
    return {**weights, **biases, **kept}


def _classifier(num_inputs: int, activation: str) -> torch.nn.Sequential:
    make_layer = getattr(torch.nn, TORCH_LAYERS[activation])
    layers: list[torch.nn.Module] = []
    for size in (num_inputs, *[WIDTH] * (NUM_HIDDEN - 1)):
        layers += [torch.nn.Linear(size, WIDTH), make_layer()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(WIDTH, 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, help="file to write; in the cache by default, beside the other networks for a smooth one")
    parser.add_argument("--activation", choices=TORCH_LAYERS, default="relu", help="of all hidden units (default %(default)s)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    table = np.genfromtxt(data_file("water_quality.csv"), delimiter=",", skip_header=1)
    arrays = train(table, activation=arguments.activation)
    if arguments.activation == "relu":
        target = arguments.to or cache_folder() / "water_classifier.npz"
        target.parent.mkdir(parents=True, exist_ok=True)
        np.savez(target, **arrays)
    else:
        save_network(build_perceptron(arrays, find_activation(arguments.activation)), arguments.to or smooth_path(arguments.activation))
    right = np.mean((arrays["score_untreated"] > 0) == (table[:, -1] == 1))
    print(f"{100 * right:.1f} % of the samples are classified right, {len(arrays['pool_rows'])} candidates.")
    print("Counts differ slightly from those of another classifier: compare methods, not runs.")


if __name__ == "__main__":
    main()
