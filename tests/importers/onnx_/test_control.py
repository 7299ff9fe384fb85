"""Branches, loops and sequences of ONNX models: by constants and shapes, never by the input, and never without end."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

from onnx import TensorProto, helper

from dcembed.errors import NetworkError, UnsupportedLayerError
from dcembed.importers import load_network

from .models import draw, make, node

RNG = np.random.default_rng(4)
W = RNG.normal(size=(3, 4))


def branch(name, nodes):
    return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.DOUBLE, None)])


@pytest.mark.parametrize("taken", [True, False])
def test_branches_by_constants(taken):
    choice = helper.make_node(
        "If", ["c"], ["h"], then_branch=branch("t", [node("MatMul", "x W", "m")]), else_branch=branch("e", [node("Neg", "m0", "m1")])
    )
    model = make([node("MatMul", "x V", "m0"), choice, node("Relu", "h")], constants={"W": W, "V": 2 * W, "c": np.array(taken)})
    network = load_network(model)
    points = draw(network)
    np.testing.assert_allclose(network(points), np.maximum(points @ W if taken else -2 * points @ W, 0))


def test_branches_by_the_shape():
    """As exporters write a squeeze of an axis that may have another size."""
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s one", "n"),
        node("Equal", "n three", "c"),
        helper.make_node(
            "If", ["c"], ["y"], then_branch=branch("t", [node("Relu", "x", "a")]), else_branch=branch("e", [node("Neg", "x", "b")])
        ),
    ]
    assert load_network(make(nodes, constants={"one": np.array(1), "three": np.array(3)})).widths == (3,)


def test_branches_by_the_input_are_refused():
    nodes = [
        node("ReduceSum", "x", "s", keepdims=0),
        node("Greater", "s zero", "c"),
        helper.make_node(
            "If", ["c"], ["y"], then_branch=branch("t", [node("Relu", "x", "a")]), else_branch=branch("e", [node("Neg", "x", "b")])
        ),
    ]
    with pytest.raises(UnsupportedLayerError, match="decides by a value that is computed from the input"):
        load_network(make(nodes, constants={"zero": np.array(0.0)}))


def loop(count="n", body=None):
    value = helper.make_tensor_value_info
    nodes = body or [node("MatMul", "h S", "m"), node("Relu", "m", "r"), node("Identity", "go", "on"), node("Identity", "r", "row")]
    inner = helper.make_graph(
        nodes,
        "body",
        [value("turn", TensorProto.INT64, []), value("go", TensorProto.BOOL, []), value("h", TensorProto.DOUBLE, None)],
        [value(name, TensorProto.DOUBLE, None) for name in ("on", "r", "row")],
    )
    return helper.make_node("Loop", [count, "go0", "x"], ["last", "rows"], body=inner)


def test_loops_of_constant_length():
    square = RNG.normal(size=(3, 3))
    nodes = [loop(), node("Transpose", "rows", "t", perm=[1, 0, 2]), node("Flatten", "t", "f"), node("Concat", "f last", axis=1)]
    network = load_network(make(nodes, constants={"S": square, "n": np.array(3), "go0": np.array(True)}))
    assert network.widths == (3, 3, 3)
    points = draw(network)
    first = np.maximum(points @ square, 0)
    second = np.maximum(first @ square, 0)
    third = np.maximum(second @ square, 0)
    np.testing.assert_allclose(network(points), np.hstack([first, second, third, third]), rtol=1e-9)


def test_loops_without_a_condition():
    model = make([loop(), node("Neg", "last")], constants={"S": np.eye(3), "n": np.array(3)})
    model.graph.node[0].input[1] = ""
    np.testing.assert_allclose(load_network(model)([[1.0, -2.0, 3.0]]), [[-1.0, 0.0, -3.0]])


def test_loops_without_end_are_refused():
    constants = {"S": np.eye(3), "n": np.array(2**40), "go0": np.array(True)}
    with pytest.raises(UnsupportedLayerError, match="runs more than 500 times"):
        load_network(make([loop(), node("Relu", "last")], constants=constants))


def test_loops_that_grow_are_refused():
    body = [node("Concat", "h h", "r", axis=1), node("Identity", "go", "on"), node("Identity", "turn", "row")]
    with pytest.raises(NetworkError, match="A concatenation of 2 values would take"):
        load_network(make([loop(body=body), node("Relu", "last")], constants={"n": np.array(100), "go0": np.array(True)}))


def test_sequences_through_a_body():
    value = helper.make_tensor_value_info
    body = helper.make_graph([node("Relu", "p", "r")], "b", [value("p", TensorProto.DOUBLE, None)], [value("r", TensorProto.DOUBLE, None)])
    nodes = [node("Neg", "x", "n"), node("SequenceConstruct", "x n", "s"), helper.make_node("SequenceMap", ["s"], ["t"], body=body)]
    network = load_network(make([*nodes, node("ConcatFromSequence", "t", axis=1)]))
    points = draw(network)
    np.testing.assert_allclose(network(points), np.maximum(np.hstack([points, -points]), 0))
