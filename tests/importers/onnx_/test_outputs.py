"""Several outputs of ONNX models, labels among them, and what goes into a last softmax."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

from onnx import TensorProto

from dcembed.errors import InputError, UnsupportedLayerError
from dcembed.importers import load_logits, load_network

from .models import ML, draw, make, node, run_reference

RNG = np.random.default_rng(2)
W, V = RNG.normal(size=(3, 4)), RNG.normal(size=(2, 4))


def two_outputs():
    return make([node("MatMul", "x W", "h"), node("Relu", "h", "r"), node("Neg", "r", "n")], constants={"W": W}, outputs=("n", "h"))


def test_several_outputs_one_after_the_other():
    network = load_network(two_outputs())
    points = draw(network)
    np.testing.assert_allclose(network(points), np.hstack([-np.maximum(points @ W, 0), points @ W]), rtol=1e-12)


@pytest.mark.parametrize(("outputs", "expected"), [("h", [1]), (["h"], [1]), (["h", "n"], [1, 0]), ("r", None)])
def test_outputs_by_name(outputs, expected):
    network = load_network(two_outputs(), outputs=outputs)
    points = draw(network)
    parts = [-np.maximum(points @ W, 0), points @ W]
    wanted = np.maximum(points @ W, 0) if expected is None else np.hstack([parts[index] for index in expected])
    np.testing.assert_allclose(network(points), wanted, rtol=1e-12)


def test_wrong_outputs():
    with pytest.raises(InputError, match=r"computes no 'q'\. Its outputs are 'n', 'h'"):
        load_network(two_outputs(), outputs="q")
    with pytest.raises(InputError, match=r"no output of the ONNX model .* ends in a sigmoid, softmax or log-softmax"):
        load_network(two_outputs(), outputs="logits")


def classifier(**options):
    """Scores, probabilities with labels, and labels."""
    nodes = [
        node(
            "LinearClassifier",
            "x",
            "label p",
            domain=ML,
            classlabels_ints=[5, 7],
            coefficients=[1.0, 2.0, 3.0],
            intercepts=[0.5],
            **options,
        )
    ]
    nodes += [node("Normalizer", "p", "q", domain=ML, norm="L1"), node("ZipMap", "q", "z", domain=ML, classlabels_int64s=[5, 7])]
    model = make(nodes, outputs=("label", "z"))
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
    kind = model.graph.output[1].type
    kind.Clear()
    kind.sequence_type.elem_type.map_type.key_type = TensorProto.INT64
    return model


def test_labels_are_refused_and_probabilities_are_chosen():
    model = classifier(post_transform="LOGISTIC")
    with pytest.raises(
        InputError, match=r"'label' of the ONNX model has type INT64.*Choose others: load_network\(model, outputs=\['z'\]\)"
    ):
        load_network(model)
    points = draw(load_network(model, outputs="z"))
    share = 1.0 / (1.0 + np.exp(-(points @ [1.0, 2.0, 3.0] + 0.5)))
    network = load_network(model, outputs="z")
    np.testing.assert_allclose(network(points), np.stack([1 - share, share], axis=1), rtol=1e-9)
    assert [str(kind) for kind in network.activations] == ["sigmoid"]
    scores, heads = load_logits(model)
    assert heads == ("classes",)
    assert scores.num_hidden == 0
    np.testing.assert_allclose(scores(points)[:, 1], points @ [1.0, 2.0, 3.0] + 0.5)


HEADS = {
    "Softmax": [node("Softmax", "h", axis=1)],
    "Sigmoid": [node("Sigmoid", "h")],
    "LogSoftmax": [node("LogSoftmax", "h", axis=1)],
    "behind a reshape": [node("Softmax", "h", "s", axis=1), node("Reshape", "s shape", "r"), node("Identity", "r")],
    "logarithm": [node("Softmax", "h", "s", axis=1), node("Log", "s")],
    "softmax written out": [node("Exp", "h", "e"), node("ReduceSum", "e a", "t"), node("Div", "e t")],
    "softmax written out with care": [
        node("ReduceMax", "h", "m", axes=[1]),
        node("Sub", "h m", "c"),
        node("Exp", "c", "e"),
        node("ReduceSum", "e a", "t"),
        node("Div", "e t"),
    ],
    "log-softmax written out": [node("ReduceLogSumExp", "h", "t", axes=[1]), node("Sub", "h t")],
    "sigmoid written out": [node("Neg", "h", "n"), node("Exp", "n", "e"), node("Add", "e one", "d"), node("Div", "one d")],
    "both classes": [node("Sigmoid", "h", "s"), node("Sub", "one s", "o"), node("Concat", "o s", axis=1)],
    "logarithm of a sigmoid": [node("Sigmoid", "h", "s"), node("Log", "s")],
}
KINDS = {
    "Softmax": "softmax",
    "Sigmoid": "sigmoid",
    "LogSoftmax": "log_softmax",
    "behind a reshape": "softmax",
    "logarithm": "log_softmax",
    "softmax written out": "softmax",
    "softmax written out with care": "softmax",
    "log-softmax written out": "log_softmax",
    "sigmoid written out": "sigmoid",
    "both classes": "binary",
    "logarithm of a sigmoid": "log_sigmoid",
}


@pytest.mark.parametrize("name", HEADS)
def test_logits(name):
    nodes = [node("MatMul", "x W", "h"), *HEADS[name]]
    names = {item for entry in nodes for item in entry.input}
    constants = {"W": W, "shape": np.array([0, 2, 2]), "a": np.array([1]), "one": np.array(1.0)}
    model = make(nodes, constants={key: value for key, value in constants.items() if key in names})
    network, heads = load_logits(model)
    assert heads == (KINDS[name],)
    points = draw(network)
    assert network.num_hidden == 0
    np.testing.assert_allclose(network(points), points @ W, rtol=1e-12)
    # Without a word it is what it is.
    whole = load_network(model)
    np.testing.assert_allclose(whole(points), run_reference(model, points), rtol=1e-9, atol=1e-12)


def test_an_output_with_that_name():
    model = make([node("MatMul", "x W", "logits"), node("Softmax", "logits", "p")], constants={"W": W}, outputs=("p", "logits"))
    network, heads = load_logits(model)
    assert network.num_hidden == 0
    assert heads == (None,)


def test_outputs_that_are_constants():
    """As policies of games have: the version of the format beside the actions, which are drawn at random or not."""
    nodes = [
        node("MatMul", "x W", "mean"),
        node("RandomNormalLike", "mean", "noise"),
        node("Add", "mean noise", "drawn"),
        node("Identity", "three", "version"),
        node("Tanh", "mean", "actions"),
    ]
    model = make(nodes, constants={"W": W, "three": np.array([3.0])}, outputs=("version", "drawn", "actions"))
    with pytest.raises(UnsupportedLayerError, match=r"draws random numbers\..*choose outputs that do without it"):
        load_network(model)
    points = RNG.normal(size=(4, 3))
    np.testing.assert_allclose(load_network(model, outputs="actions")(points), np.tanh(points @ W))
    np.testing.assert_allclose(load_network(model, outputs=["version", "actions"])(points)[:, 0], 3.0)


def test_a_softmax_before_the_end_is_no_head():
    model = make([node("Softmax", "x", "s"), node("MatMul", "s W")], constants={"W": W})
    with pytest.raises(InputError, match="ends in a sigmoid, softmax or log-softmax"):
        load_network(model, outputs="logits")


def test_predictions_below_one_another():
    """Some converters write the predictions of all points into one column."""
    model = make([node("MatMul", "x W", "h"), node("Reshape", "h s")], constants={"W": W, "s": np.array([-1, 1])})
    points = RNG.normal(size=(6, 3))
    np.testing.assert_allclose(load_network(model)(points), points @ W, rtol=1e-9)
