"""Constants of ONNX models: folded from every operator, in any order."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

from dcembed.errors import NetworkError, UnsupportedLayerError
from dcembed.importers import load_network

from .models import assert_same, draw, make, node

RNG = np.random.default_rng(4)
W = RNG.normal(size=(3, 4))
C = {"W": W, "i": np.array([1]), "s": np.array([3, 4]), "one": np.array(1.0), "q": RNG.integers(-128, 127, size=(3, 4)).astype(np.int8)}
# How a matrix for the layer is made of constants.
FOLDED = {
    "Softplus": [node("Softplus", "W", "M")],
    "Exp": [node("Exp", "W", "M")],
    "Clip": [node("Clip", "W one", "M")],
    "Elu": [node("Elu", "W", "M")],
    "Tanh": [node("Tanh", "W", "M")],
    "Softmax": [node("Softmax", "W", "M")],
    "LayerNormalization": [node("LayerNormalization", "W g", "M")],
    "Split": [node("Split", "D", "M rest", axis=0)],
    "Einsum": [node("Einsum", "W g", "M", equation="ij,j->ij")],
    "Einsum of axes": [node("Einsum", "T g", "M", equation="ijk,j->ik")],
    "Range": [node("Range", "zero four one", "r"), node("Mul", "W r", "M")],
    "Conv": [node("Conv", "image kernel", "c"), node("Reshape", "c s", "M")],
    "Where": [node("Greater", "W one", "g1"), node("Where", "g1 W one", "M")],
    "TopK": [node("TopK", "W k", "M places", axis=1)],
    "OneHot": [node("OneHot", "places depth two", "M", axis=1)],
    "ScatterND": [node("ScatterND", "W at row", "M")],
    "weight norm": [node("ReduceL2", "W", "n", axes=[0]), node("Div", "W n", "u"), node("Mul", "u g", "M")],
}
# Of these the reference does not take doubles, or an axis in a vector, or has no such version.
FOLDED_IN_SINGLE = {
    "CumSum": [node("CumSum", "W i", "M")],
    "ConstantOfShape": [node("ConstantOfShape", "s", "M")],
    "ConstantOfShape and more": [node("ConstantOfShape", "s", "z"), node("Add", "z W", "M")],
    "EyeLike": [node("EyeLike", "W", "e"), node("Add", "e W", "M")],
    "Resize": [node("Resize", "half _ f", "M", mode="linear")],
    "DequantizeLinear": [node("DequantizeLinear", "q scale zp", "M")],
    "DequantizeLinear per column": [node("DequantizeLinear", "q g", "M", axis=1)],
}
MORE = {
    "g": np.array([1.0, 0.5, 2.0, 3.0]),
    "D": RNG.normal(size=(6, 4)),
    "T": RNG.normal(size=(3, 4, 4)),
    "zero": np.array(0.0),
    "four": np.array(4.0),
    "half": RNG.normal(size=(3, 2)),
    "f": np.array([1.0, 2.0]),
    "image": RNG.normal(size=(1, 1, 4, 5)),
    "kernel": RNG.normal(size=(1, 1, 2, 2)),
    "k": np.array([4]),
    "places": np.array([0, 2, 3]),
    "depth": np.array(4),
    "two": np.array([0.0, 1.5]),
    "at": np.array([[1]]),
    "row": np.ones((1, 4)),
    "scale": np.array(0.25),
    "zp": np.array(3, dtype=np.int8),
}


@pytest.mark.parametrize("name", [*FOLDED, *FOLDED_IN_SINGLE])
def test_folded(name):
    nodes = [*(FOLDED | FOLDED_IN_SINGLE)[name], node("MatMul", "x M", "h"), node("Relu", "h")]
    names = {item for entry in nodes for item in entry.input}
    constants = {key: value for key, value in (C | MORE).items() if key in names}

    def build(double):
        return make(nodes, opset=17, constants=constants, double=double)

    network = assert_same(build, reference=name in FOLDED, runtime=nodes[0].op_type != "LayerNormalization")
    assert network.widths == (4,)


def test_random_numbers_are_not_folded():
    with pytest.raises(UnsupportedLayerError, match="draws random numbers"):
        load_network(make([node("RandomNormalLike", "W", "M"), node("MatMul", "x M")], constants={"W": W}))


def test_constants_defined_after_use():
    nodes = [node("MatMul", "x M", "h"), node("Relu", "h"), node("Softplus", "N", "M"), node("Neg", "W", "N")]
    network = load_network(make(nodes, constants={"W": W}))
    points = draw(network)
    np.testing.assert_allclose(network(points), np.maximum(points @ np.logaddexp(0, -W), 0))


def test_a_circle_is_refused():
    with pytest.raises(NetworkError, match="it needs its own result"):
        load_network(make([node("Add", "x b", "a"), node("Relu", "a", "b"), node("Neg", "b")]))


def test_what_no_output_needs_is_not_looked_at():
    nodes = [node("MatMul", "x W", "h"), node("ArgMax", "h", "label"), node("Relu", "h")]
    assert load_network(make(nodes, constants={"W": W})).widths == (4,)
