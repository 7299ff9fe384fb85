"""Files of safetensors."""

from __future__ import annotations

import numpy as np
import pytest

from dcembed.errors import NetworkError, UnsupportedLayerError
from dcembed.importers import load_network
from dcembed.network import build_mlp

from ..models import draw_layers

POINTS = 2.0 * np.random.default_rng(2).normal(size=(20, 3))


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
