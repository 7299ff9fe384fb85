"""Several inputs of ONNX models, constants among them, names and shapes."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper

from dcembed.errors import InputError, NetworkError
from dcembed.importers import load_network

from ..models import build_onnx
from .models import ML, draw, make, node, run_reference

RNG = np.random.default_rng(2)
W, V = RNG.normal(size=(3, 4)), RNG.normal(size=(2, 4))


def two_inputs():
    """x of three columns and z of two, with different weights."""
    nodes = [node("MatMul", "x W", "a"), node("MatMul", "z V", "c"), node("Add", "a c", "h"), node("Relu", "h")]
    return make(nodes, inputs={"x": ("batch", 3), "z": ("batch", 2)}, constants={"W": W, "V": V})


def test_several_inputs_one_after_the_other():
    model = two_inputs()
    network = load_network(model)
    assert (network.num_inputs, network.input_names) == (5, None)
    points = draw(network)
    np.testing.assert_allclose(network(points), run_reference(model, points), rtol=1e-12)


def test_inputs_in_another_order():
    points = draw(load_network(two_inputs()))
    swapped = load_network(two_inputs(), inputs=["z", "x"])
    np.testing.assert_allclose(swapped(points[:, [3, 4, 0, 1, 2]]), load_network(two_inputs())(points), rtol=1e-12)


@pytest.mark.parametrize("inputs", [{"z": [0.5, -1.0]}, {"x": None, "z": [[0.5, -1.0]]}, {"z": np.array([0.5, -1.0])}])
def test_an_input_with_a_value(inputs):
    points = draw(load_network(two_inputs()))
    points[:, 3:] = (0.5, -1.0)
    network = load_network(two_inputs(), inputs=inputs)
    assert network.num_inputs == 3
    np.testing.assert_allclose(network(points[:, :3]), load_network(two_inputs())(points), rtol=1e-12)


def test_one_number_stands_for_all_entries():
    np.testing.assert_allclose(
        load_network(two_inputs(), inputs={"z": 2.0})(np.ones((1, 3))), load_network(two_inputs())([[1.0, 1.0, 1.0, 2.0, 2.0]])
    )


def test_wrong_inputs():
    with pytest.raises(InputError, match=r"has no input 'w'\. Its inputs are 'x', 'z'\."):
        load_network(two_inputs(), inputs=["x", "w"])
    with pytest.raises(InputError, match="inputs has 'x' more than once"):
        load_network(two_inputs(), inputs=["x", "z", "x"])
    with pytest.raises(InputError, match=r"inputs leaves out 'z', which the ONNX model needs.*inputs=\{'x': None, 'z': \.\.\.\}"):
        load_network(two_inputs(), inputs=["x"])
    with pytest.raises(InputError, match=r"the value of the input 'z' has shape \(3,\); the ONNX model takes \(0, 2\)"):
        load_network(two_inputs(), inputs={"z": [1.0, 2.0, 3.0]})
    with pytest.raises(InputError, match="the value of the input 'z' is not accepted: numbers of type DOUBLE are expected, received str"):
        load_network(two_inputs(), inputs={"z": "abc"})
    with pytest.raises(NetworkError, match="no input that is not a constant"):
        load_network(two_inputs(), inputs={"x": 1.0, "z": 2.0})


def test_columns_have_their_names():
    """As converters of scikit-learn make them: one input of one column per feature."""
    names = ["age", "height", "weight"]
    nodes = [
        helper.make_node("Concat", names, ["c"], axis=1),
        node("Scaler", "c", "s", domain=ML, offset=[1.0, 2.0, 3.0], scale=[0.5, 0.25, 2.0]),
    ]
    model = make([*nodes, node("MatMul", "s W")], inputs=dict.fromkeys(names, ("batch", 1)), constants={"W": W})
    network = load_network(model)
    assert network.input_names == ("age", "height", "weight")
    points = draw(network)
    np.testing.assert_allclose(network(points), run_reference(model, points), rtol=1e-12)
    assert load_network(model, inputs=["weight", "age", "height"]).input_names == ("weight", "age", "height")
    assert load_network(model, inputs={"height": 1.5}).input_names == ("age", "weight")


def test_whole_numbers_that_become_floats():
    model = make(
        [node("Concat", "n f", "c", axis=1), node("Cast", "n", "m", to=TensorProto.DOUBLE), node("Mul", "m two")],
        inputs={"n": ("b", 1)},
        constants={"two": 2.0},
    )
    model.graph.node.remove(model.graph.node[0])
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.INT64
    np.testing.assert_allclose(load_network(model)([[1.5]]), [[3.0]])


def test_whole_numbers_that_are_indices():
    model = make(
        [node("Gather", "T i", "e"), node("Squeeze", "e a", "s"), node("Add", "x s")],
        inputs={"x": ("b", 3), "i": ("b", 1)},
        constants={"T": RNG.normal(size=(5, 3)), "a": np.array([1])},
    )
    model.graph.input[1].type.tensor_type.elem_type = TensorProto.INT64
    with pytest.raises(NetworkError, match=r"'i' of the ONNX model has type INT64; .*inputs=\{'i': \.\.\.\}"):
        load_network(model)
    network = load_network(model, inputs={"i": 2})
    np.testing.assert_allclose(network(np.zeros((1, 3)))[0], numpy_helper.to_array(model.graph.initializer[0])[2])
    with pytest.raises(InputError, match="numbers of type INT64 are expected"):
        load_network(model, inputs={"i": 0.5})


def test_categories_with_a_value():
    nodes = [
        node("OneHotEncoder", "k", "o", domain=ML, cats_strings=["u", "v"]),
        node("Reshape", "o s", "r"),
        node("Cast", "r", "d", to=TensorProto.DOUBLE),
        node("Concat", "x d", axis=1),
    ]
    model = make(nodes, inputs={"x": ("b", 2), "k": ("b", 1)}, constants={"s": np.array([-1, 2])})
    model.graph.input[1].type.tensor_type.elem_type = TensorProto.STRING
    np.testing.assert_allclose(load_network(model, inputs={"k": "v"})([[3.0, 4.0]]), [[3.0, 4.0, 0.0, 1.0]])


def test_an_input_with_a_default():
    """An initializer among the inputs is a constant, unless it is asked for."""
    model = make([node("Mul", "x k")], inputs={"x": ("batch", 3), "k": (3,)}, constants={"k": np.array([1.0, 2.0, 3.0])})
    assert load_network(model).num_inputs == 3
    np.testing.assert_allclose(load_network(model, inputs={"k": [4.0, 5.0, 6.0]})(np.ones((1, 3))), [[4.0, 5.0, 6.0]])
    assert load_network(model, inputs=["x", "k"]).num_inputs == 6


def test_shapes_by_name():
    nodes = [node("Flatten", "x", "f"), node("Flatten", "z", "g"), node("Concat", "f g", axis=1)]
    model = make(nodes, inputs={"x": ("batch", "n"), "z": ("batch", "m", "k")})
    with pytest.raises(InputError, match=r"input 'x' has axes of unknown size .* input_shape=\{'x': \(4,\)\}"):
        load_network(model)
    assert load_network(model, input_shape={"x": 3, "z": (2, 2)}).num_inputs == 7
    with pytest.raises(InputError, match="no input 'w'"):
        load_network(model, input_shape={"w": 3})


def test_inputs_of_different_batches():
    """One input is for all points of a batch, so points go one by one."""
    model = make([node("Add", "x z")], inputs={"x": ("batch", 3), "z": (3,)})
    np.testing.assert_allclose(load_network(model)([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]), [[5.0, 7.0, 9.0]])


def test_initializers_among_the_inputs():
    model = build_onnx()
    model.graph.input.extend(
        helper.make_tensor_value_info(tensor.name, TensorProto.FLOAT, list(tensor.dims)) for tensor in model.graph.initializer
    )
    assert load_network(model).num_inputs == 2
