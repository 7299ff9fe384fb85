"""ONNX files of networks that people optimize over: physics, operators, control, images, sequences, ensembles."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

pytest.importorskip("onnx")

from .models import assert_same, make, node

RNG = np.random.default_rng(6)
AROUND = [1, 1, 1, 1]


def weights(**shapes):
    return {name: RNG.normal(size=shape, scale=0.5) for name, shape in shapes.items()}


def sine_waves():
    """A network of sines, made zero at both ends of the first coordinate, that fades with the second."""
    nodes = [
        node("Split", "x", "a t", axis=1),
        node("Gemm", "x W1 b1", "g"),
        node("Mul", "g omega", "o"),
        node("Sin", "o", "s"),
        node("MatMul", "s W2", "u"),
        node("Sub", "one a", "rest"),
        node("Mul", "a rest", "ends"),
        node("Mul", "ends u", "v"),
        node("Neg", "t", "n"),
        node("Exp", "n", "e"),
        node("Mul", "v e"),
    ]
    return nodes, {"x": ("batch", 2)}, weights(W1=(2, 6), b1=6, W2=(6, 1)) | {"omega": 3.0, "one": 1.0}, 13


def branch_and_trunk():
    """A function at sensors and a place: the scalar product of two networks."""
    nodes = [
        node("MatMul", "u B1", "a"),
        node("Relu", "a", "r"),
        node("MatMul", "r B2", "branch"),
        node("MatMul", "place T1", "c"),
        node("Tanh", "c", "h"),
        node("MatMul", "h T2", "trunk"),
        node("Einsum", "branch trunk", "s", equation="bi,bi->b"),
        node("Unsqueeze", "s ax"),
    ]
    inputs = {"u": ("batch", 4), "place": ("batch", 2)}
    return nodes, inputs, weights(B1=(4, 5), B2=(5, 3), T1=(2, 5), T2=(5, 3)) | {"ax": np.array([1])}, 13


def value_and_advantages():
    """Two heads, the mean of one of them taken off."""
    nodes = [
        node("Gemm", "x W b", "h"),
        node("Relu", "h", "r"),
        node("MatMul", "r V", "value"),
        node("MatMul", "r A", "advantages"),
        node("ReduceMean", "advantages", "mean", axes=[1]),
        node("Sub", "advantages mean", "centred"),
        node("Add", "value centred"),
    ]
    return nodes, {"x": ("batch", 4)}, weights(W=(4, 6), b=6, V=(6, 1), A=(6, 3)), 13


def variance_of_an_ensemble():
    """Members along an axis before that of the batch."""
    nodes = [
        node("Unsqueeze", "x first", "u"),
        node("MatMul", "u W", "m"),
        node("Add", "m b", "a"),
        node("Relu", "a", "r"),
        node("MatMul", "r V", "o"),
        node("ReduceMean", "o", "mean", axes=[0]),
        node("Sub", "o mean", "d"),
        node("Mul", "d d", "q"),
        node("ReduceMean", "q", axes=[0], keepdims=0),
    ]
    return nodes, {"x": ("batch", 4)}, weights(W=(3, 4, 5), b=(3, 1, 5), V=(3, 5, 1)) | {"first": np.array([0])}, 13


def distances_to_centres():
    nodes = [
        node("Unsqueeze", "x ax", "u"),
        node("Sub", "u centres", "d"),
        node("Pow", "d two", "q"),
        node("ReduceSum", "q last", "s", keepdims=0),
        node("Mul", "s slope", "m"),
        node("Exp", "m", "e"),
        node("MatMul", "e W"),
    ]
    more = {"ax": np.array([1]), "last": np.array([2]), "two": 2.0, "slope": -0.5}
    return nodes, {"x": ("batch", 3)}, weights(centres=(1, 5, 3), W=(5, 1)) | more, 13


def segmentation():
    """Down and up again, with what was before beside it; one branch is resized to sizes that are read from a shape."""
    nodes = [
        node("Conv", "x k1", "c1", pads=AROUND),
        node("Relu", "c1", "e1"),
        node("MaxPool", "e1", "p", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", "p k2", "c2", pads=AROUND),
        node("Relu", "c2", "e2"),
        node("ConvTranspose", "e2 up", "u", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", "e2 k3", "z"),
        node("Shape", "z", "zs"),
        node("Slice", "zs i0 i2", "front"),
        node("Shape", "e1", "es"),
        node("Slice", "es i2 i4", "places"),
        node("Concat", "front places", "sizes", axis=0),
        node("Resize", "z _ _ sizes", "r", mode="linear", coordinate_transformation_mode="align_corners"),
        node("Concat", "u e1 r", "all", axis=1),
        node("Conv", "all k4", "o"),
        node("Sigmoid", "o"),
    ]
    limits = {"i0": np.array([0]), "i2": np.array([2]), "i4": np.array([4])}
    constants = weights(k1=(2, 1, 3, 3), k2=(3, 2, 3, 3), up=(3, 2, 2, 2), k3=(2, 3, 1, 1), k4=(1, 6, 1, 1))
    return nodes, {"x": (1, 1, 6, 6)}, constants | limits, 13


def squeezed_and_excited():
    """Channels are multiplied by gates that come from the averages of all of them."""
    nodes = [
        node("Conv", "x k1", "c", strides=[2, 2], pads=AROUND),
        node("HardSigmoid", "c", "h", alpha=1.0 / 6.0, beta=0.5),
        node("Mul", "c h", "r"),
        node("Conv", "r own", "d", group=4, pads=AROUND),
        node("Clip", "d", "e", min=0.0, max=6.0),
        node("GlobalAveragePool", "e", "g"),
        node("Conv", "g s1", "f1"),
        node("Relu", "f1", "f2"),
        node("Conv", "f2 s2", "f3"),
        node("HardSigmoid", "f3", "gate"),
        node("Mul", "e gate", "m"),
        node("GlobalAveragePool", "m", "p"),
        node("Flatten", "p", "f"),
        node("MatMul", "f W"),
    ]
    constants = weights(k1=(4, 3, 3, 3), own=(4, 1, 3, 3), s1=(2, 4, 1, 1), s2=(4, 2, 1, 1), W=(4, 3))
    return nodes, {"x": ("batch", 3, 6, 6)}, constants, 9


def patches_and_a_token():
    """Patches of an image in a row behind a token that is repeated for every point."""
    nodes = [
        node("Conv", "x k", "p", strides=[2, 2]),
        node("Shape", "p", "s"),
        node("Gather", "s zero", "count"),
        node("Unsqueeze", "count i0", "n"),
        node("Concat", "n flat", "to", axis=0),
        node("Reshape", "p to", "row"),
        node("Transpose", "row", "patches", perm=[0, 2, 1]),
        node("Concat", "n one", "times", axis=0),
        node("Expand", "token times", "tokens"),
        node("Concat", "tokens patches", "all", axis=1),
        node("Add", "all places", "placed"),
        node("Tanh", "placed", "h"),
        node("Gather", "h zero", "first", axis=1),
        node("MatMul", "first W"),
    ]
    more = {"zero": np.array(0), "i0": np.array([0]), "flat": np.array([3, 4]), "one": np.array([1, 3])}
    return nodes, {"x": ("batch", 1, 4, 4)}, weights(k=(3, 1, 2, 2), token=(1, 1, 3), places=(1, 5, 3), W=(3, 2)) | more, 13


def states_made_of_the_shape():
    """A recurrent layer that starts from zeros, as many as there are points; the last step is used."""
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s zero", "count"),
        node("Unsqueeze", "count i0", "n"),
        node("Concat", "one n two", "shape", axis=0),
        node("Expand", "nothing shape", "start"),
        node("Transpose", "x", "t", perm=[1, 0, 2]),
        node("LSTM", "t W R B _ start start", "all last memory", hidden_size=2),
        node("Squeeze", "all one", "steps"),
        node("Transpose", "steps", "back", perm=[1, 0, 2]),
        node("Gather", "back end", "h", axis=1),
        node("MatMul", "h V"),
    ]
    constants = weights(W=(1, 8, 3), R=(1, 8, 2), B=(1, 16), V=(2, 2)) | {"nothing": np.zeros((1, 1, 1))}
    more = {"zero": np.array(0), "i0": np.array([0]), "one": np.array([1]), "two": np.array([2]), "end": np.array(-1)}
    return nodes, {"x": ("batch", 3, 3)}, constants | more, 14


MODELS = {
    build.__name__: build
    for build in (
        sine_waves,
        branch_and_trunk,
        value_and_advantages,
        variance_of_an_ensemble,
        distances_to_centres,
        segmentation,
        squeezed_and_excited,
        patches_and_a_token,
        states_made_of_the_shape,
    )
}


@pytest.mark.parametrize("name", MODELS)
def test_surrogate(name):
    nodes, inputs, constants, opset = MODELS[name]()
    arrays = {key: np.asarray(value) for key, value in constants.items()}
    assert_same(partial(make, nodes, opset=opset, constants=arrays, inputs=inputs), atol=1e-6 if opset == 9 else 1e-9)
