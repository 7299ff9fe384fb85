"""The batch axis of ONNX models, the shape of a point, and whole models of random layers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("onnx")

from onnx.reference import ReferenceEvaluator

from dcembed.errors import ImportMismatchError, InputError, NetworkError
from dcembed.importers import load_network

from .models import CONSTANTS, HIDDEN, assert_reproduced, make_small, node

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("shape", "batch"), [(("batch", 3), 40), ((None, 3), 40), ((1, 3), 1), ((8, 3), 8)], ids=["named", "unnamed", "one", "fixed"]
)
def test_batch_axis(shape, batch):
    network = assert_reproduced(make_small([HIDDEN, node("Relu", "h", "r"), node("Gemm", "r S", "y")], shape), batch=batch)
    assert network.widths == (4,)


def test_fixed_batch_in_a_reshape():
    model = make_small(
        [HIDDEN, node("Reshape", "h eight", "g"), node("Relu", "g", "r"), node("Flatten", "r")],
        (8, 3),
        constants={"eight": np.array([8, 2, 2])},
    )
    assert_reproduced(model, batch=8)


def test_reshape_for_one_point_with_free_batch_axis():
    network = load_network(
        make_small([HIDDEN, node("Reshape", "h single", "g"), node("Gemm", "g S")], constants={"single": np.array([1, 4])})
    )
    assert network.num_outputs == 4


def test_no_batch_axis():
    model = make_small([node("MatMul", "W x", "m"), node("Add", "m b", "a"), node("Relu", "a")], (3,))
    network = load_network(model)
    points = RNG.normal(size=(5, 3))
    expected = np.maximum(points @ CONSTANTS["W"].T + CONSTANTS["b"], 0)
    np.testing.assert_allclose(network(points), expected, atol=1e-5)


def test_input_shape():
    free = make_small([node("Flatten", "x", "f"), node("Gemm", "f V")], ("batch", "n"))
    with pytest.raises(InputError, match=r"input 'x' has axes of unknown size"):
        load_network(free)
    assert load_network(free, input_shape=3).num_inputs == 3
    grid = make_small([node("Relu", "x")], (2, 3))
    assert load_network(grid).num_inputs == 3
    assert load_network(grid, input_shape=(2, 3)).num_inputs == 6
    with pytest.raises(InputError, match=r"does not fit"):
        load_network(grid, input_shape=(5,))
    unranked = make_small([node("Gemm", "x V")], None)
    assert load_network(unranked, input_shape=3).num_inputs == 3


def test_double_model():
    model = make_small([HIDDEN, node("Relu", "h")], double=True)
    points = RNG.normal(size=(9, 3))
    np.testing.assert_allclose(load_network(model)(points), ReferenceEvaluator(model).run(None, {"x": points})[0], atol=1e-12)


def test_batch_mixing_is_refused():
    with pytest.raises(NetworkError, match="mixes the points"):
        load_network(make_small([HIDDEN, node("Concat", "h h", axis=0)]))


def test_an_average_over_all_axes_mixes_points():
    """As in value networks with two heads whose advantages are centred without an axis: it is right for one point alone."""
    nodes = [HIDDEN, node("ReduceMean", "h", "m", keepdims=0), node("Sub", "h m")]
    with pytest.raises(ImportMismatchError, match=r"mixes the points of a batch.*or pass a model for one point"):
        load_network(make_small(nodes))
    assert_reproduced(make_small(nodes, (1, 3)), batch=1)


ACTIVATIONS = st.sampled_from(["Relu", "LeakyRelu", "Identity", "Abs", "residual"])


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 5), ACTIVATIONS), min_size=1, max_size=4), st.integers(0, 1000))
def test_random_architecture(layers, seed):
    rng = np.random.default_rng(seed)
    nodes, constants, value, width = [], {}, "x", 3
    for index, (size, activation) in enumerate(layers):
        constants |= {f"W{index}": rng.normal(size=(size, width)), f"c{index}": rng.normal(size=size)}
        nodes.append(node("Gemm", f"{value} W{index} c{index}", f"a{index}", transB=1))
        nodes.append(node("Relu" if activation == "residual" else activation, f"a{index}", f"z{index}"))
        value, width = f"z{index}", size
        if activation == "residual":
            nodes.append(node("Add", f"a{index} z{index}", f"s{index}"))
            value = f"s{index}"
    assert_reproduced(make_small(nodes, output=value, constants=constants))
