"""The synthetic QPs with smooth networks."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from benchmarks.problems import train_qp
from benchmarks.problems.data import MissingDataError
from benchmarks.problems.perceptron import TORCH_LAYERS, build_perceptron
from benchmarks.problems.qp import BLOCK, build_qp, target
from benchmarks.problems.smooth_qp import ACTIVATIONS, build_smooth_qp, load_smooth_network
from dcembed.network.activations import find_activation
from problems import quiet


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_stored_networks_have_learned_the_function_of_the_others(activation):
    network = load_smooth_network(activation, 64, 3, 0)
    assert [unit.name for unit in network.activations] == [activation] * 3
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (4000, BLOCK))
    assert np.mean((network(x)[:, 0] - target(x)) ** 2) < 0.02 * np.var(target(x))


def test_the_host_is_that_of_the_others():
    smooth, plain = build_smooth_qp("tanh", "64x3", 0), build_qp("64x3", 0)
    assert np.array_equal(smooth.program.rows.toarray(), plain.program.rows.toarray())
    assert np.array_equal(smooth.program.cost, plain.program.cost)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_few_steps_improve_on_the_start(activation):
    instance = build_smooth_qp(activation, "64x3x3", 0)
    result = dcembed.solve(instance.program, instance.embeddings, instance.starts[0], quiet(max_iterations=5, max_starts=1))
    assert result.is_feasible
    assert result.objective < -1e-3


def test_a_network_that_is_missing_says_how_to_train_it():
    with pytest.raises(MissingDataError, match="train_qp 777x3 --trials 0 --activation gelu"):
        build_smooth_qp("gelu", "777x3", 0)


@pytest.mark.parametrize("activation", TORCH_LAYERS)
def test_training_gives_what_torch_trained(activation):
    torch = pytest.importorskip("torch")
    error, weights = train_qp.train(8, 2, 0, num_steps=3, batch_size=50, activation=activation)
    network = build_perceptron(weights, find_activation(activation))
    assert network.widths == (8, 8)
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (50, BLOCK))
    value, layer = torch.from_numpy(x), getattr(torch.nn, TORCH_LAYERS[activation])()
    for number in (1, 2, 3):
        weight, bias = (torch.from_numpy(weights[f"{letter}{number}"]).double() for letter in "Wb")
        value = (value if number == 1 else layer(value)) @ weight.T + bias
    assert network(x) == pytest.approx(value.numpy(), abs=1e-12)
    assert np.isfinite(error)
