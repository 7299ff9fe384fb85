"""Networks in .npz and .safetensors files."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dcembed.errors import ImportMismatchError, InputError, NetworkError, UnsupportedLayerError
from dcembed.importers import load_network, save_network
from dcembed.importers.weights import chain
from dcembed.network import Affine, Network, build_mlp

from .models import draw_layers

DATA = Path(os.environ.get("DCEMBED_DATA", Path(__file__).parents[3] / "shared" / "data"))
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


# save_network.


@st.composite
def networks(draw):
    """Any skip form: dense, sparse and missing blocks."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    sizes = [draw(st.integers(1, 4)) for _ in range(draw(st.integers(1, 5)))]
    layers = []
    for index, rows in enumerate([*sizes[1:], 2], start=1):
        weights = {}
        for source in range(index):
            kind = draw(st.sampled_from(["dense", "sparse", "none"]))
            if kind != "none":
                block = rng.normal(size=(rows, sizes[source]))
                weights[source] = block if kind == "dense" else sp.csr_array(block * (rng.uniform(size=block.shape) < 0.15))
        layers.append(Affine(weights, rng.normal(size=rows)))
    return Network(sizes[0], tuple(layers[:-1]), layers[-1])


@settings(max_examples=20, deadline=None)
@given(network=networks())
def test_round_trip(network, tmp_path_factory):
    path = tmp_path_factory.mktemp("round") / "network.npz"
    save_network(network, path)
    loaded = load_network(path)
    assert loaded.num_inputs == network.num_inputs
    for mine, other in zip((*network.stages, network.output), (*loaded.stages, loaded.output), strict=True):
        np.testing.assert_array_equal(mine.bias, other.bias)
        assert mine.weights.keys() == other.weights.keys()
        for source, block in mine.weights.items():
            assert sp.issparse(block) == sp.issparse(other.weights[source])
            difference = block - other.weights[source]
            assert (np.abs(difference) if isinstance(difference, np.ndarray) else abs(difference)).max() == 0


def test_saved_file_is_versioned_and_checked(tmp_path):
    path = tmp_path / "network.npz"
    save_network(build_mlp(WEIGHTS, BIASES), str(path))
    arrays = dict(np.load(path))
    with pytest.raises(NetworkError, match="has format 99 of save_network"):
        load_network(save(tmp_path, arrays | {"dcembed_format": np.array(99)}))
    with pytest.raises(ImportMismatchError, match="does not reproduce the saved network"):
        load_network(save(tmp_path, arrays | {"layer1.bias": 1.0 + arrays["layer1.bias"]}))
    del arrays["layer2.bias"]
    with pytest.raises(NetworkError, match=r"is damaged: KeyError: 'layer2\.bias'"):
        load_network(save(tmp_path, arrays))


def test_save_needs_the_suffix(tmp_path):
    with pytest.raises(InputError, match=r"Give it the suffix \.npz"):
        save_network(build_mlp(WEIGHTS, BIASES), tmp_path / "network.pt")


# safetensors.


def save_tensors(tmp_path, arrays):
    numpy = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "network.safetensors"
    numpy.save_file({key: np.ascontiguousarray(array, dtype=np.float32) for key, array in arrays.items()}, path)
    return path


def state_dict(prefixes, sizes):
    weights, biases = draw_layers(sizes)
    arrays = {f"{prefix}weight": w for prefix, w in zip(prefixes, weights, strict=True)}
    return arrays | {f"{prefix}bias": b for prefix, b in zip(prefixes, biases, strict=True)}, build_mlp(weights, biases)


@pytest.mark.parametrize(
    ("prefixes", "sizes"),
    [
        (["0.", "2.", "4."], (3, 5, 4, 2)),
        (["net.2.", "net.4.", "net.10."], (3, 4, 4, 4)),
        (["fc1.", "fc2.", "out."], (3, 4, 4, 2)),
        (["layers.0.", "layers.1.", "layers.2.", "head."], (3, 4, 4, 4, 1)),
        (["input.", "hidden.", "output."], (3, 4, 4, 1)),
        ([""], (3, 2)),
    ],
)
def test_state_dict(tmp_path, prefixes, sizes):
    arrays, expected = state_dict(prefixes, sizes)
    network = load_network(save_tensors(tmp_path, arrays), architecture="relu")
    np.testing.assert_allclose(network(POINTS), expected(POINTS), rtol=1e-4, atol=1e-4)


def test_state_dict_of_torch(tmp_path):
    torch = pytest.importorskip("torch")
    save_file = pytest.importorskip("safetensors.torch").save_file
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2, bias=False))
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    network = load_network(tmp_path / "model.safetensors", architecture="relu")
    np.testing.assert_allclose(network(POINTS), load_network(model)(POINTS), atol=1e-9)


def test_ambiguous_order(tmp_path):
    arrays, _ = state_dict(["in.", "b.", "a.", "out."], (3, 4, 4, 4, 1))
    with pytest.raises(NetworkError, match=r"fit one another in more than one order: 'a\.weight' \(4, 4\), 'b\.weight' \(4, 4\)"):
        load_network(save_tensors(tmp_path, arrays))
    arrays["a.weight"] = np.zeros((7, 7))
    arrays["a.bias"] = np.zeros(7)
    with pytest.raises(NetworkError, match="do not fit one another in any order"):
        load_network(save_tensors(tmp_path, arrays))


def test_other_layers_are_refused(tmp_path):
    arrays, _ = state_dict(["0.", "2."], (3, 4, 1))
    arrays |= {"1.weight": np.ones(4), "1.running_mean": np.ones(4), "3.weight": np.ones((2, 1, 3, 3)), "loose.bias": np.ones(2)}
    with pytest.raises(UnsupportedLayerError) as info:
        load_network(save_tensors(tmp_path, arrays))
    text = str(info.value)
    assert all(f"'{key}'" in text for key in ("1.weight", "1.running_mean", "3.weight", "loose.bias"))
    assert "'0.weight'" not in text


def test_empty_and_corrupt_safetensors(tmp_path):
    with pytest.raises(NetworkError, match="The network is empty"):
        load_network(save_tensors(tmp_path, {}))
    (tmp_path / "network.safetensors").write_bytes(b"broken")
    with pytest.raises(NetworkError, match="cannot be read as safetensors"):
        load_network(tmp_path / "network.safetensors")
