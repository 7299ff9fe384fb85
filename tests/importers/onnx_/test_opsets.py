"""What operators meant before: attributes that became inputs, broadcasting, softmax over flattened axes, batch normalization."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper  # noqa: E402

from dcembed.errors import UnsupportedLayerError  # noqa: E402
from dcembed.importers import load_network  # noqa: E402

from .models import assert_same, draw, make, node  # noqa: E402

RNG = np.random.default_rng(1)
GRID = ("batch", 4, 5, 6)
C = {
    "gamma": RNG.normal(size=4),
    "beta": RNG.normal(size=4),
    "mean": RNG.normal(size=4),
    "variance": RNG.uniform(0.5, 2.0, size=4),
    "W": RNG.normal(size=(3, 4)),
    "b": RNG.normal(size=4),
    "two": np.array([2.0]),
    "scales": np.array([1.0, 1.0, 2.0, 2.0]),
}


def build(nodes, shape=("batch", 3), opset=9, **constants):
    names = {name for item in nodes for name in item.input}
    return partial(make, nodes, shape, opset, {name: value for name, value in (C | constants).items() if name in names})


@pytest.mark.parametrize("opset", [7, 9, 12, 13, 14, 15, 17])
def test_batch_normalization(opset):
    nodes = [node("BatchNormalization", "x gamma beta mean variance", epsilon=0.125, momentum=0.75)]
    assert_same(build(nodes, GRID, opset), reference=opset >= 14)


def test_batch_normalization_with_statistics_of_its_own():
    with pytest.raises(UnsupportedLayerError, match="spatial=0"):
        load_network(build([node("BatchNormalization", "x gamma beta mean variance", spatial=0)], GRID, 7)(double=True))


@pytest.mark.parametrize("kind", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("opset", [7, 11, 12])
@pytest.mark.parametrize("attributes", [{}, {"axis": 1}, {"axis": 2}, {"axis": -1}], ids=str)
def test_softmax_over_flattened_axes(kind, opset, attributes):
    if opset < 11 and attributes.get("axis") == -1:
        pytest.skip("axes are not counted from the end yet")
    assert_same(build([node(kind, "x", **attributes)], ("batch", 2, 3), opset), reference=False)


def test_softmax_of_two_axes_is_one_distribution():
    flat = load_network(build([node("Softmax", "x", axis=1)], ("batch", 2, 3), 12)(double=True))
    along = load_network(build([node("Softmax", "x", axis=1)], ("batch", 2, 3), 13)(double=True))
    points = draw(flat)
    np.testing.assert_allclose(flat(points).sum(axis=1), 1.0)
    np.testing.assert_allclose(along(points).sum(axis=1), 3.0)


ATTRIBUTES = {
    "Clip": ([node("Clip", "x", min=-0.25, max=0.5)], 9),
    "Clip below": ([node("Clip", "x", min=-0.25)], 6),
    "Squeeze": ([node("Unsqueeze", "x", "u", axes=[1]), node("Squeeze", "u", axes=[1])], 11),
    "Slice": ([node("Slice", "x", axes=[1], starts=[1], ends=[2147483647])], 9),
    "Slice without axes": ([node("Slice", "x", starts=[0, 1], ends=[1000, 3])], 9),
    "Split": ([node("Split", "x", "a c", axis=1, split=[2, 1]), node("Concat", "c a", axis=1)], 11),
    "Split evenly": ([node("Split", "x", "a c d", axis=1), node("Concat", "d a", axis=1)], 11),
    "ReduceSum": ([node("ReduceSum", "x", axes=[1])], 11),
    "ReduceMean": ([node("ReduceMean", "x", axes=[1], keepdims=0)], 9),
    "Pad": ([node("Pad", "x", pads=[0, 1, 0, 2], value=0.5)], 9),
    "Pad reflect": ([node("Pad", "x", pads=[0, 1, 0, 2], mode="reflect")], 9),
    "Dropout": ([node("Dropout", "x", ratio=0.25)], 9),
    "Reshape": ([node("Reshape", "x s", "r"), node("Relu", "r")], 7),
    "Gemm": ([node("Gemm", "x W b")], 9),
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_that_became_inputs(name):
    nodes, opset = ATTRIBUTES[name]
    assert_same(build(nodes, opset=opset, s=np.array([-1, 3])), reference=False, runtime=opset >= 7)


@pytest.mark.parametrize("opset", [7, 8])
def test_upsample_by_attributes(opset):
    assert_same(build([node("Upsample", "x", scales=[1.0, 1.0, 2.0, 3.0])], ("batch", 2, 3, 2), opset), reference=False)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_first_resize(mode):
    assert_same(build([node("Resize", "x scales", mode=mode)], GRID, 10), reference=False)


# Before opset 7, values were laid along one another only where it was asked for. No runtime at hand does that: the result is written down.


def old(nodes, shape=("batch", 3), **constants):
    return build(nodes, shape, 6, **constants)(double=True)


@pytest.mark.parametrize(("kind", "function"), [("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide)])
@pytest.mark.parametrize(
    ("axis", "shape"), [(1, (4,)), (1, (4, 5)), (2, (5, 6)), (2, (5,)), (3, (6,)), (None, (6,)), (None, (5, 6)), (-1, (6,))]
)
def test_old_broadcasting(kind, function, axis, shape):
    other = RNG.uniform(0.5, 2.0, size=shape)
    where = {} if axis is None else {"axis": axis}
    network = load_network(old([node(kind, "x other", broadcast=1, **where)], GRID, other=other))
    points = draw(network)
    start = 4 - len(shape) if axis is None else axis % 4
    laid = other.reshape((1,) * start + shape + (1,) * (4 - start - len(shape)))
    np.testing.assert_allclose(network(points), function(points.reshape(-1, 4, 5, 6), laid).reshape(len(points), -1), rtol=1e-12)


def test_old_operators_without_broadcasting():
    network = load_network(old([node("Relu", "x", "r", consumed_inputs=[0]), node("Add", "r x", consumed_inputs=[0, 0])]))
    points = draw(network)
    np.testing.assert_allclose(network(points), np.maximum(points, 0) + points)


def test_a_caffe_like_network():
    """As converters of 2017 wrote it: a layer, its bias laid along the channels, slopes per channel, dropout and a softmax."""
    kernel, shift, slopes, last = RNG.normal(size=(4, 2, 3, 3)), RNG.normal(size=4), RNG.uniform(size=4), RNG.normal(size=(64, 3))
    nodes = [
        node("Conv", "x kernel", "c", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1]),
        node("Add", "c shift", "a", broadcast=1, axis=1),
        node("PRelu", "a slopes", "p"),
        node("Dropout", "p", "d", is_test=1, ratio=0.5),
        node("Flatten", "d", "f"),
        node("Gemm", "f last zero", "g", broadcast=1),
        node("Softmax", "g"),
    ]
    network = load_network(old(nodes, (1, 2, 4, 4), kernel=kernel, shift=shift, slopes=slopes, last=last, zero=np.zeros(3)))
    torch = pytest.importorskip("torch")
    points = draw(network)
    with torch.no_grad():
        value = torch.nn.functional.conv2d(torch.tensor(points.reshape(-1, 2, 4, 4)), torch.tensor(kernel), torch.tensor(shift), padding=1)
        value = torch.nn.functional.prelu(value, torch.tensor(slopes)).flatten(1) @ torch.tensor(last)
        expected = torch.softmax(value, 1).numpy()
    np.testing.assert_allclose(network(points), expected, rtol=1e-9, atol=1e-12)


def test_the_first_opsets():
    nodes = [
        helper.make_node("Reshape", ["x"], ["r"], shape=[0, 3], consumed_inputs=[0]),
        helper.make_node("Cast", ["r"], ["c"], to="FLOAT"),
        helper.make_node("Relu", ["c"], ["a"], consumed_inputs=[0]),
        helper.make_node("Concat", ["a", "c"], ["y"]),
    ]
    model = make(nodes, opset=3)
    network = load_network(model)
    points = draw(network)
    np.testing.assert_allclose(network(points), np.hstack([np.maximum(points, 0), points]))


@pytest.mark.parametrize("opset", range(7, 24))
def test_every_opset(opset):
    """A plain network, with the biases and activations that all versions have."""
    nodes = [
        node("MatMul", "x W", "m"),
        node("Add", "m b", "a"),
        node("Relu", "a", "r"),
        node("Sigmoid", "a", "s"),
        node("Concat", "r s", "c", axis=1),
        node("Flatten", "c"),
    ]
    assert_same(build(nodes, opset=opset))


def test_the_domain_has_two_names():
    model = make([helper.make_node("Relu", ["x"], ["y"], domain="ai.onnx")])
    del model.opset_import[:]
    model.opset_import.append(helper.make_opsetid("ai.onnx", 17))
    assert load_network(model).widths == (3,)


def test_half_precision():
    weight = RNG.normal(size=(3, 4)).astype(np.float16)
    graph = helper.make_graph(
        [node("MatMul", "x W", "h"), node("Relu", "h")],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT16, ["batch", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT16, None)],
        [onnx.numpy_helper.from_array(weight, "W")],
    )
    network = load_network(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    points = draw(network)
    np.testing.assert_allclose(network(points), np.maximum(points @ weight.astype(np.float64), 0))
