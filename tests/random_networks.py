"""Networks with random weights: small, of several depths and activations."""

from __future__ import annotations

import itertools

import numpy as np

import dcembed


def random_network(
    rng: np.random.Generator, num_inputs: int, widths: list[int], num_outputs: int, activation: str = "relu"
) -> dcembed.Network:
    sizes = [num_inputs, *widths, num_outputs]
    weights = [rng.standard_normal((below, above)) / np.sqrt(above) for above, below in itertools.pairwise(sizes)]
    return dcembed.build_mlp(weights, [0.5 * rng.standard_normal(weight.shape[0]) for weight in weights], activation)


def random_members(rng: np.random.Generator, count: int, num_inputs: int = 2, num_outputs: int = 1) -> list[dcembed.Network]:
    """Members of different depths and activations."""
    kinds = [([6], "relu"), ([5, 4], "tanh"), ([], "relu"), ([3, 3, 3], "relu")]
    return [random_network(rng, num_inputs, *_widths(kinds[number % len(kinds)], num_outputs)) for number in range(count)]


def _widths(kind: tuple[list[int], str], num_outputs: int) -> tuple[list[int], int, str]:
    return kind[0], num_outputs, kind[1]
