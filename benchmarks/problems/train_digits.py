"""Train the networks of the digits: `python -m benchmarks.problems.train_digits cnn-8-relu 256x2-28-relu`."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from benchmarks.problems.digits import KINDS, NUM_DIGITS, NUM_TRAINING, digits_path, read_pictures
from benchmarks.problems.perceptron import TORCH_LAYERS
from benchmarks.problems.training_command import run_training
from dcembed import Network, load_network, save_network

NUM_EPOCHS, BATCH, RATE, DECAY = 30, 64, 2e-3, 1e-4
CHANNELS, WIDTH = (8, 16), {8: 32, 28: 64}
# Kernel and stride of both convolutions, by pixels on a side: the second one, or each of them, halves the picture.
KERNELS = {8: ((3, 1), (4, 2)), 28: ((4, 2), (4, 2))}


def train(kind: str, num_epochs: int = NUM_EPOCHS) -> tuple[float, Network]:
    """The share of the pictures it has not seen that it takes for what they are, and the network after the last epoch.

    Weights are rounded to half precision, which keeps the files small: it is the rounded network that is counted.
    """
    torch.manual_seed(0)
    layers, side, activation = kind.split("-")
    pictures, digits = read_pictures(int(side))
    x, y = torch.from_numpy(pictures).float(), torch.from_numpy(digits)
    model = build_model(layers, int(side), activation)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, weight_decay=DECAY)
    shape = (1, int(side), int(side)) if layers == "cnn" else (int(side) ** 2,)
    for _ in range(num_epochs):
        for batch in torch.randperm(NUM_TRAINING).split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[batch].reshape(-1, *shape)), y[batch]).backward()
            optimizer.step()
    network = load_network(model.half().double().eval(), input_shape=shape)
    right = np.mean(network(pictures[NUM_TRAINING:]).argmax(axis=1) == digits[NUM_TRAINING:])
    return float(right), network


def build_model(layers: str, side: int, activation: str) -> nn.Sequential:
    """Two convolutions and a hidden layer for "cnn", hidden layers alone for "256x2"."""
    make_layer = getattr(nn, TORCH_LAYERS[activation])
    if layers != "cnn":
        width, depth = (int(part) for part in layers.split("x"))
        hidden = [part for size in (side * side, *[width] * (depth - 1)) for part in (nn.Linear(size, width), make_layer())]
        return nn.Sequential(*hidden, nn.Linear(width, NUM_DIGITS))
    parts: list[nn.Module] = []
    width = WIDTH[side]
    for before, after, (kernel, stride) in zip((1, CHANNELS[0]), CHANNELS, KERNELS[side], strict=True):
        parts += [nn.Conv2d(before, after, kernel, stride, padding=1), make_layer()]
        side = (side + 2 - kernel) // stride + 1
    return nn.Sequential(*parts, nn.Flatten(), nn.Linear(CHANNELS[-1] * side * side, width), make_layer(), nn.Linear(width, NUM_DIGITS))


def train_and_save(kind: str, num_epochs: int) -> str:
    """What came out of it."""
    right, network = train(kind, num_epochs)
    save_network(network, digits_path(kind))
    return f"digits {kind}: {100 * right:.1f} % right, saved to {digits_path(kind).name}"


def main() -> None:
    run_training(__doc__, KINDS, NUM_EPOCHS, train_and_save, unit="epochs")


if __name__ == "__main__":
    main()
