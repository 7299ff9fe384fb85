""".npz files of layers."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from dcembed.errors import ImportMismatchError, NetworkError
from dcembed.importers import load_network
from dcembed.importers.weights import chain
from dcembed.network import build_mlp

from ..models import draw_layers

DATA = Path(os.environ.get("DCEMBED_DATA", Path(__file__).parents[4] / "shared" / "data"))
WEIGHTS, BIASES = draw_layers((3, 5, 4, 2))
POINTS = 2.0 * np.random.default_rng(2).normal(size=(20, 3))


def layer_arrays():
    arrays = {f"W{i}": w for i, w in enumerate(WEIGHTS, 1)} | {f"b{i}": b for i, b in enumerate(BIASES, 1)}
    return arrays | {"activations": np.array("relu")}


def save(tmp_path, arrays):
    path = tmp_path / "network.npz"
    np.savez(path, **arrays)
    return path


def data_file(name):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not here; set DCEMBED_DATA to the folder with the data files")
    return path


def test_layers(tmp_path):
    network = load_network(save(tmp_path, layer_arrays()))
    np.testing.assert_allclose(network(POINTS), build_mlp(WEIGHTS, BIASES)(POINTS), atol=1e-12)


def test_missing_bias_and_other_keys(tmp_path):
    arrays = layer_arrays() | {"features": np.array(["a", "b", "c"]), "seed": np.array(3)}
    del arrays["b2"]
    network = load_network(save(tmp_path, arrays))
    np.testing.assert_allclose(network(POINTS), build_mlp(WEIGHTS, [BIASES[0], None, BIASES[2]])(POINTS), atol=1e-12)


def test_standardization(tmp_path):
    mean, std = np.array([1.0, 2.0, 3.0]), np.array([0.5, 2.0, 100.0])
    network = load_network(save(tmp_path, layer_arrays() | {"mean": mean, "std": std}))
    np.testing.assert_allclose(network(POINTS), build_mlp(WEIGHTS, BIASES)((POINTS - mean) / std), atol=1e-10)


def test_many_layers_in_order(tmp_path):
    weights, biases = draw_layers((3, *[4] * 11, 1))
    arrays = {f"W{i}": w for i, w in enumerate(weights, 1)} | {f"b{i}": b for i, b in enumerate(biases, 1)}
    network = load_network(save(tmp_path, arrays), architecture="relu")
    np.testing.assert_allclose(network(POINTS), build_mlp(weights, biases)(POINTS), atol=1e-10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.clear(), "has no weights"),
        (lambda a: a.pop("W2"), "lacks W2"),
        (lambda a: a.update(W2=np.zeros((4, 6))), r"At layer 2\. A linear layer takes 6 features"),
        (lambda a: a.update(b2=np.zeros(3)), r"At layer 2\. A bias has 3 entries"),
        (lambda a: a.update(W2=np.zeros(3)), r"W2 in .* has shape \(3,\)"),
        (lambda a: a.update(W2=np.array([["a"]])), r"W2 in .* type <U1"),
        (lambda a: a.update(mean=np.zeros(2)), "mean and std"),
        (lambda a: a.update(std=np.array([1.0, 0.0, 1.0])), "not positive"),
        (lambda a: a.update(W1=np.full((5, 3), np.nan)), "NaN or infinite"),
        (lambda a: a.update(b1=np.full(5, np.inf)), "NaN or infinite"),
    ],
)
def test_malformed_layers(tmp_path, change, message):
    arrays = layer_arrays()
    change(arrays)
    with pytest.raises(NetworkError, match=message):
        load_network(save(tmp_path, arrays))


def test_pickled_weights_are_not_opened(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "exploded"),))

    path = save(tmp_path, layer_arrays() | {"W1": np.array([Bomb()], dtype=object)})
    with pytest.raises(NetworkError, match=r"not a readable \.npz file"):
        load_network(path)
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"no zip at all"])
def test_corrupt_file(tmp_path, content):
    path = tmp_path / "network.npz"
    path.write_bytes(content)
    with pytest.raises(NetworkError, match=r"not a readable \.npz file"):
        load_network(path)


def test_wrong_import_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(chain, "build_chain", lambda chain: build_mlp(chain.layers.weights, [None] * len(chain.layers.weights)))
    with pytest.raises(ImportMismatchError, match="does not reproduce the file"):
        load_network(save(tmp_path, layer_arrays()))


def test_published_networks():
    water = load_network(data_file("water_classifier.npz"), architecture="relu")
    assert (water.num_inputs, water.widths, water.num_outputs) == (9, (32, 32, 32, 32), 1)
    pooling = load_network(data_file("neur2sp_pooling_nnp.npz"), architecture="relu")
    assert (pooling.num_inputs, pooling.widths, pooling.num_outputs) == (19, (64,), 1)
