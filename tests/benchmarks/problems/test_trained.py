"""Networks of the experiments come out of both kinds of files."""

from __future__ import annotations

import numpy as np

from benchmarks.problems.trained import load_trained
from dcembed import load_network, save_network
from problems import random_mlp


def test_a_file_of_weights_and_one_of_save_network_give_the_same(tmp_path):
    network = random_mlp(0, (2, 3, 1))
    save_network(network, tmp_path / "saved.npz")
    (stage,) = network.stages
    weights = {"W1": stage.weights[0], "b1": stage.bias, "W2": network.output.weights[1], "b2": network.output.bias}
    np.savez(tmp_path / "weights.npz", **weights)
    points = np.random.default_rng(0).normal(size=(5, 2))
    for name in ("saved", "weights"):
        loaded = load_trained(tmp_path / f"{name}.npz", "train_nothing", architecture="relu")
        np.testing.assert_allclose(loaded(points), network(points))
    np.testing.assert_allclose(load_network(tmp_path / "saved.npz")(points), network(points))
