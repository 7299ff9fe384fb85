"""Every construction of torch, live: against the module itself, all units ReLU where they have to be, and the same again from a file."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from dcembed.importers import load_network, save_network  # noqa: E402
from importers.torch_.comparing import assert_same  # noqa: E402
from importers.torch_.constructions import BY_NAME, choose  # noqa: E402
from importers.torch_.forms import Form, accepted  # noqa: E402


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", accepted(Form.LIVE))
def test_construction(name, tmp_path):
    construction = BY_NAME[name]
    network = load_network(construction.build(), input_shape=construction.shape)
    assert_same(network, construction.build(), construction.shape)
    assert network.is_piecewise_linear or not construction.piecewise
    save_network(network, tmp_path / "network.npz")
    # Sums over stages may be in another order.
    points = np.random.default_rng(3).normal(size=(20, network.num_inputs))
    np.testing.assert_allclose(load_network(tmp_path / "network.npz")(points), network(points), rtol=1e-12, atol=1e-12)


# What an activation that is written out is made of: itself, not squares.
RECOGNIZED = {
    "swish written out": {"silu"},
    "swish as a quotient": {"silu"},
    "quick GELU": {"silu"},
    "learned swish": {"silu"},
    "GELU written out": {"gelu"},
    "GELU tanh written out": {"gelu_tanh"},
    "Mish written out": {"mish"},
    "hardswish written out": {"hardswish"},
    "softsign written out": {"softsign"},
    "Softsign": {"softsign"},
    "logistic written out": {"sigmoid"},
    "softplus written out": {"softplus"},
    "SELU": {"elu"},
    "LogSigmoid": {"softplus"},
    "Softmax of two": {"sigmoid"},
    "Softmax": {"softplus", "exp"},
    "LSTM": {"sigmoid", "tanh", "square"},
    "LayerNorm": {"square", "power"},
}


@pytest.mark.parametrize("name", choose(*RECOGNIZED))
def test_activations(name):
    construction = BY_NAME[name]
    network = load_network(construction.build(), input_shape=construction.shape)
    assert {activation.name for activation in network.activations} == RECOGNIZED[name]


SIZES = {
    # Kernel places inside of the value times channels.
    "Conv2d depthwise": 6 * (3 * 4 - 2) ** 2,
    "AvgPool3d": 1 * 2 * 4 * 2,
    "PixelShuffle": 8 * 2 * 3,
    "Upsample nearest": 2 * 10,
    "Linear inside": 2 * 3 * 4,
}


@pytest.mark.parametrize("name", choose(*SIZES))
def test_sparse_sizes(name):
    construction = BY_NAME[name]
    network = load_network(construction.build(), input_shape=construction.shape)
    first = next(iter((*network.stages, network.output)[0].weights.values()))
    assert (first.nnz if hasattr(first, "nnz") else np.count_nonzero(first)) == SIZES[name]
