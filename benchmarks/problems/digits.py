"""Handwritten digits: how far a network can be brought towards another digit by small changes of all pixels.

minimize t   subject to   t >= f_k(x) - f_j(x)  for all k != j,   |x - x0| <= radius in every pixel,   x in [0, 1]^n

The pictures are those of scikit-learn, 8 x 8, or drawn out to 28 x 28; j is the digit that the network holds for second best at x0. The
networks are convolutional, with ReLU and with GELU units, and dense ones of 256 units in a layer. Where t is negative, x is taken for j.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.ndimage

from benchmarks.problems.instance import Instance
from benchmarks.problems.trained import load_trained, network_file
from dcembed import Embedding, Network, Program

NUM_DIGITS, PIXELS = 10, 8
# What a network is called: its layers, pixels on a side, activation.
KINDS = ("64x2-8-relu", "cnn-8-relu", "cnn-8-gelu", "cnn-28-relu", "cnn-28-gelu", "256x2-28-relu", "256x4-28-relu", "256x6-28-relu")
# The largest change of a pixel, by pixels on a side; pictures that the networks are trained on, the others are asked about.
RADIUS, NUM_TRAINING = {8: 0.1, 28: 0.05}, 1_500


def read_pictures(side: int) -> tuple[np.ndarray, np.ndarray]:
    """All pictures as rows of side * side numbers in [0, 1], and their digits."""
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    images = images.reshape(-1, PIXELS, PIXELS) / 16.0
    if side != PIXELS:
        images = scipy.ndimage.zoom(images, (1, side / PIXELS, side / PIXELS), order=1)
    return np.clip(images.reshape(len(images), -1), 0.0, 1.0), digits


def digits_path(kind: str) -> Path:
    """Where a network is."""
    return network_file(f"digits_{kind.replace('-', '_')}.npz")


def load_digits_network(kind: str) -> Network:
    """A trained network; the error has the command that trains it."""
    return load_trained(digits_path(kind), f"train_digits {kind}")


def build_digits(kind: str, number: int) -> Instance:
    """Around one of the pictures that the network has not seen and takes for what they are."""
    network, side = load_digits_network(kind), int(kind.split("-")[1])
    pictures, digits = (part[NUM_TRAINING:] for part in read_pictures(side))
    scores = network(pictures)
    chosen = np.flatnonzero(scores.argmax(axis=1) == digits)[number]
    digit, second = np.argsort(scores[chosen])[[-1, -2]]
    return attack_instance(network, pictures[chosen], int(second), RADIUS[side], f"digits {kind}: {digit} towards {second}")


def attack_instance(network: Network, picture: np.ndarray, target: int, radius: float, name: str) -> Instance:
    """Columns x, f, t: the largest lead of another digit over the target is minimized in the ball."""
    n = picture.size
    others = np.delete(np.arange(NUM_DIGITS), target)
    # Rows t - f_k + f_j over the columns x, f, t.
    against = np.eye(NUM_DIGITS)[target] - np.eye(NUM_DIGITS)[others]
    free = np.full(NUM_DIGITS + 1, np.inf)
    program = Program(
        cost=np.eye(n + NUM_DIGITS + 1)[-1],
        rows=np.hstack([np.zeros((others.size, n)), against, np.ones((others.size, 1))]),
        row_lb=0.0,
        row_ub=np.inf,
        lb=np.concatenate([np.maximum(picture - radius, 0.0), -free]),
        ub=np.concatenate([np.minimum(picture + radius, 1.0), free]),
    )
    scores = network(picture)
    start = np.concatenate([picture, scores, [np.max(scores[others] - scores[target])]])
    return Instance(name, program, (Embedding(network, [np.arange(n)], [n + np.arange(NUM_DIGITS)]),), [start])
