"""Networks saved by save_network."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dcembed.errors import ImportMismatchError, InputError, NetworkError
from dcembed.importers import load_network, save_network
from dcembed.network import Affine, Network, build_mlp

from ..models import draw_layers

WEIGHTS, BIASES = draw_layers((3, 5, 4, 2))


def save(tmp_path, arrays):
    path = tmp_path / "network.npz"
    np.savez(path, **arrays)
    return path


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
