"""The skip form: what it accepts and how it evaluates."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given

from dcembed import Network, build_mlp
from dcembed.errors import InputError, NetworkError
from dcembed.network import Affine
from strategies import networks, points, seeds


def says(text: str) -> str:
    return "^" + re.escape(text) + "$"


def test_a_plain_network_evaluates_layer_by_layer():
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=(5, 3)), rng.normal(size=(4, 5)), rng.normal(size=(2, 4))]
    biases = [rng.normal(size=5), None, rng.normal(size=2)]
    network = build_mlp(weights, biases)
    x = rng.normal(size=(7, 3))
    z = np.maximum(x @ weights[0].T + biases[0], 0)
    z = np.maximum(z @ weights[1].T, 0)
    assert np.allclose(network(x), z @ weights[2].T + biases[2])
    assert (network.num_inputs, network.num_outputs, network.num_hidden, network.widths) == (3, 2, 9, (5, 4))
    assert repr(network) == "Network(3 inputs -> 5 -> 4 -> 2 outputs)"


def test_one_point_gives_one_prediction_and_float32_becomes_float64():
    network = build_mlp([np.float32([[0.1, 0.2]])], [np.float32([0.3])])
    assert network(np.array([1.0, 2.0])).shape == (1,)
    assert network(np.zeros((4, 2), dtype=np.float32)).dtype == np.float64


def test_weights_are_copied_so_later_changes_do_not_reach_the_network():
    weight = np.ones((1, 2))
    network = build_mlp([weight], [None])
    weight[:] = 5
    assert network(np.ones(2))[0] == 2.0


def test_sparse_blocks_stay_sparse_and_dense_ones_become_dense():
    sparse = Affine({0: sp.eye_array(50, format="csr")}, np.zeros(50))
    dense = Affine({0: sp.csr_array(np.ones((5, 5)))}, np.zeros(5))
    assert sp.issparse(sparse.weights[0])
    assert isinstance(dense.weights[0], np.ndarray)


@given(networks(), seeds())
def test_sparse_and_dense_blocks_evaluate_alike(network, seed):
    def spread(affine: Affine) -> Affine:
        wide = {s: sp.csr_array(block) for s, block in affine.weights.items()}
        result = Affine({}, affine.bias)
        object.__setattr__(result, "weights", wide)
        return result

    other = Network(network.num_inputs, tuple(spread(s) for s in network.stages), spread(network.output))
    x = points(network, seed)
    assert np.allclose(network(x), other(x), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: build_mlp([[[np.nan]]], [None]),
            "The weights of the output layer on the input have NaN or infinite entries. Retrain or repair the network before embedding it.",
        ),
        (
            lambda: build_mlp([[[1.0]], [[1.0]]], [[np.inf], None]),
            "The bias of stage 1 has NaN or infinite entries. Retrain or repair the network before embedding it.",
        ),
        (lambda: build_mlp([], []), "The network is empty: no layer was given. Pass at least one weight matrix."),
        (lambda: Network(0, (), Affine({}, [1.0])), "The network is empty: it has 0 inputs. At least one is needed."),
        (lambda: Network(2, (), Affine({}, [])), "The network is empty: it has no outputs. At least one is needed."),
        (
            lambda: build_mlp([np.ones((3, 2)), np.ones((1, 4))], [None, None]),
            "The weights of the output layer on stage 1 have shape (1, 4), but the output layer has 1 units and stage 1 has size 3: expected (1, 3).",
        ),
        (
            lambda: build_mlp([np.ones((3, 2))], [np.zeros(2)]),
            "The weights of the output layer on the input have shape (3, 2), but the output layer has 2 units and the input has size 2: expected (2, 2).",
        ),
        (
            lambda: build_mlp([np.ones((3, 2))], []),
            "1 weight matrices but 0 biases were given. Pass one bias per layer (None for no bias).",
        ),
        (
            lambda: Network(1, (Affine({1: [[1.0]]}, [0.0]),), Affine({1: [[1.0]]}, [0.0])),
            "The weights of stage 1 refer to source 1, but only sources 0 to 0 come before it.",
        ),
    ],
)
def test_a_malformed_network_says_what_is_wrong(make, text):
    with pytest.raises(NetworkError, match=says(text)):
        make()


def test_points_of_the_wrong_width_show_both_numbers():
    network = build_mlp([np.ones((1, 3))], [None])
    with pytest.raises(InputError, match=says("The network takes points of shape (k, 3), received shape (5, 2).")):
        network(np.zeros((5, 2)))
