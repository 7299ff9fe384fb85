"""ONNX files in the shapes that people have: verification benchmarks, images, exporters of TensorFlow, PyTorch and scikit-learn."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import TensorProto  # noqa: E402

from dcembed.importers import load_network  # noqa: E402

from .onnx_models import ML, assert_same, draw, make, node, run_reference  # noqa: E402

RNG = np.random.default_rng(5)


def weights(**shapes):
    return {name: RNG.normal(size=shape, scale=0.5) for name, shape in shapes.items()}


# Benchmarks of network verification.


def test_acas_xu():
    """Five numbers in an image of its own shape, without a batch axis; a mean is taken off first."""
    constants = weights(mean=(1, 1, 1, 5), W1=(5, 8), b1=8, W2=(8, 5), b2=5)
    nodes = [
        node("Sub", "x mean", "c"),
        node("Flatten", "c", "f"),
        node("MatMul", "f W1", "m1"),
        node("Add", "m1 b1", "a1"),
        node("Relu", "a1", "r1"),
        node("MatMul", "r1 W2", "m2"),
        node("Add", "m2 b2"),
    ]
    network = assert_same(partial(make, nodes, (1, 1, 1, 5), 9, constants))
    assert (network.num_inputs, network.widths) == (5, (8,))


def test_columns_from_the_left():
    """An image as a column, weights from the left."""
    constants = weights(W1=(6, 9), b1=(6, 1), W2=(3, 6), b2=(3, 1))
    nodes = [
        node("MatMul", "W1 x", "m1"),
        node("Add", "m1 b1", "a1"),
        node("Relu", "a1", "r1"),
        node("MatMul", "W2 r1", "m2"),
        node("Add", "m2 b2"),
    ]
    network = load_network(make(nodes, (9, 1), 8, constants), input_shape=(9, 1))
    points = draw(network)
    hidden = np.maximum(points @ constants["W1"].T + constants["b1"].T, 0)
    np.testing.assert_allclose(network(points), hidden @ constants["W2"].T + constants["b2"].T, rtol=1e-9)


def test_residual_image_network():
    constants = weights(k1=(4, 3, 3, 3), s1=4, k2=(4, 4, 3, 3), g=4, b=4, m=4, k3=(4, 3, 1, 1), W=(4 * 16, 5), v=5)
    constants["var"] = RNG.uniform(0.5, 2, size=4)
    constants |= {"mean": RNG.normal(size=(1, 3, 1, 1)), "std": RNG.uniform(0.5, 2, size=(1, 3, 1, 1))}
    nodes = [
        node("Sub", "x mean", "n1"),
        node("Div", "n1 std", "n2"),
        node("Conv", "n2 k1 s1", "c1", pads=[1, 1, 1, 1], strides=[2, 2], kernel_shape=[3, 3], dilations=[1, 1], group=1),
        node("Relu", "c1", "r1"),
        node("Conv", "r1 k2", "c2", pads=[1, 1, 1, 1]),
        node("BatchNormalization", "c2 g b m var", "c3", epsilon=1e-5, momentum=0.9),
        node("Conv", "n2 k3", "c4", strides=[2, 2]),
        node("Add", "c3 c4", "a"),
        node("Relu", "a", "r2"),
        node("Flatten", "r2", "f", axis=1),
        node("Gemm", "f W v"),
    ]
    network = assert_same(partial(make, nodes, ("batch", 3, 8, 8), 12, constants), reference=False)
    assert network.widths == (64, 64)
    assert network.is_piecewise_linear


def test_generator_of_images():
    """Noise to an image: transposed convolutions, normalization, resizing, tanh."""
    constants = weights(W=(3, 16), b=16, k1=(4, 2, 4, 4), g=2, h=2, m=2, k2=(1, 2, 3, 3)) | {
        "v": np.ones(2),
        "s": np.array([-1, 4, 2, 2]),
        "f": np.array([1.0, 1.0, 2.0, 2.0]),
    }
    nodes = [
        node("Gemm", "x W b", "a"),
        node("Reshape", "a s", "i"),
        node("ConvTranspose", "i k1", "c", strides=[2, 2], pads=[1, 1, 1, 1], kernel_shape=[4, 4]),
        node("BatchNormalization", "c g h m v", "n"),
        node("LeakyRelu", "n", "r", alpha=0.25),
        node("Resize", "r _ f", "u", mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
        node("Conv", "u k2", "o", pads=[1, 1, 1, 1]),
        node("Tanh", "o"),
    ]
    network = assert_same(partial(make, nodes, ("batch", 3), 13, constants), reference=False)
    assert network.num_outputs == 64


def test_columns_that_are_gathered_and_compared():
    """Features are picked, split, cut off and joined again."""
    constants = weights(W=(4, 5), V=(5, 1)) | {"cols": np.array([3, 0]), "s": np.array([2, 2]), "zero": np.array(0.0), "one": np.array(1.0)}
    nodes = [
        node("Gather", "x cols", "g", axis=1),
        node("Split", "x s", "p q", axis=1),
        node("Clip", "q zero one", "c"),
        node("Max", "p c", "m"),
        node("Concat", "g m", "j", axis=-1),
        node("MatMul", "j W", "h"),
        node("Relu", "h", "r"),
        node("MatMul", "r V"),
    ]
    assert_same(partial(make, nodes, ("batch", 4), 13, constants))


# Images with pooling.


@pytest.mark.parametrize("opset", [9, 13, 17])
def test_image_classifier(opset):
    constants = weights(k1=(4, 1, 3, 3), s1=4, k2=(6, 4, 3, 3), s2=6, W=(6, 10), b=10)
    nodes = [
        node("Conv", "x k1 s1", "c1"),
        node("Relu", "c1", "r1"),
        node("MaxPool", "r1", "p1", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", "p1 k2 s2", "c2", pads=[1, 1, 1, 1]),
        node("Relu", "c2", "r2"),
        node("AveragePool", "r2", "p2", kernel_shape=[3, 3]),
        node("GlobalAveragePool", "p2", "p3"),
        node("Flatten", "p3", "f"),
        node("Gemm", "f W b", "g"),
        node("Softmax", "g", axis=1),
    ]
    build = partial(make, nodes, ("batch", 1, 10, 10), opset, constants)
    network = assert_same(build)
    logits = load_network(build(double=True), outputs="logits")
    assert logits.is_piecewise_linear
    points = draw(network)
    exponentials = np.exp(logits(points))
    np.testing.assert_allclose(network(points), exponentials / exponentials.sum(axis=1, keepdims=True), rtol=1e-9)


# As TensorFlow's converter writes them: channels last outside, first inside.


def test_channels_last():
    constants = weights(k1=(4, 2, 3, 3), s1=(1, 4, 1, 1), k2=(3, 4, 3, 3), W=(3 * 4, 5), b=5)
    constants |= {"zero": np.array([0]), "one": np.array([1]), "flat": np.array([12])}
    nodes = [
        node("Transpose", "x", "t", perm=[0, 3, 1, 2]),
        node("Conv", "t k1", "c1", auto_pad="SAME_UPPER", strides=[2, 2], kernel_shape=[3, 3]),
        node("Add", "c1 s1", "a1"),
        node("Relu", "a1", "r1"),
        node("MaxPool", "r1", "p1", kernel_shape=[2, 2], strides=[2, 2], auto_pad="VALID"),
        node("Conv", "p1 k2", "c2", auto_pad="SAME_LOWER"),
        node("LeakyRelu", "c2", "r2", alpha=0.25),
        node("Transpose", "r2", "u", perm=[0, 2, 3, 1]),
        node("Shape", "u", "s0"),
        node("Cast", "s0", "s1_", to=TensorProto.INT64),
        node("Slice", "s1_ zero one zero", "n"),
        node("Concat", "n flat", "s2", axis=0),
        node("Reshape", "u s2", "f"),
        node("MatMul", "f W", "m"),
        node("Add", "m b", "g"),
        node("Sigmoid", "g"),
    ]
    network = assert_same(partial(make, nodes, ("unk__1", 8, 8, 2), 13, constants))
    assert network.num_inputs == 128


def test_global_pooling_of_channels_last():
    constants = weights(k=(3, 2, 1, 1), W=(3, 2)) | {"axes": np.array([2, 3])}
    nodes = [
        node("Transpose", "x", "t", perm=[0, 3, 1, 2]),
        node("Conv", "t k", "c"),
        node("Elu", "c", "e"),
        node("GlobalAveragePool", "e", "p"),
        node("Squeeze", "p axes", "q"),
        node("MatMul", "q W"),
    ]
    assert_same(partial(make, nodes, ("N", 4, 4, 2), 13, constants))


def test_dense_layer_of_keras():
    """A dense layer over the last of several axes is a reshape, a product and a reshape; the bias comes last."""
    constants = weights(W=(3, 4), b=4) | {"rows": np.array([-1, 3]), "back": np.array([-1, 2, 4])}
    nodes = [
        node("Reshape", "x rows", "r"),
        node("MatMul", "r W", "m"),
        node("Reshape", "m back", "k"),
        node("Add", "k b", "a"),
        node("Tanh", "a"),
    ]
    assert_same(partial(make, nodes, ("batch", 2, 3), 15, constants))


# As converters of scikit-learn write them.


def test_scaled_regressor():
    constants = weights(W1=(3, 5), b1=(1, 5), W2=(5, 1), b2=(1, 1)) | {"s": np.array([-1, 1])}
    nodes = [
        node("Scaler", "x", "n", domain=ML, offset=[0.5, 1.0, 2.0], scale=[2.0, 0.5, 0.25]),
        node("Cast", "n", "c", to=TensorProto.FLOAT),
        node("MatMul", "c W1", "m1"),
        node("Add", "m1 b1", "a1"),
        node("Relu", "a1", "r1"),
        node("MatMul", "r1 W2", "m2"),
        node("Add", "m2 b2", "a2"),
        node("Reshape", "a2 s"),
    ]
    network = load_network(make(nodes, ("batch", 3), 17, constants, double=False))
    assert network.widths == (5,)


def fit_pipelines():
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler

    points = RNG.normal(size=(60, 3)).astype(np.float32) + 2
    target = np.abs(points[:, 0]) - points[:, 1]
    label = (target > target.mean()).astype(int)
    three = np.digitize(target, np.quantile(target, [0.3, 0.6]))
    size = {"hidden_layer_sizes": (5, 4), "max_iter": 30, "random_state": 0}
    return {
        "ridge": (Ridge().fit(points, target), None),
        "mlp": (make_pipeline(StandardScaler(), MLPRegressor(**size)).fit(points, target), None),
        "mlp tanh": (make_pipeline(MinMaxScaler(), MLPRegressor(activation="tanh", **size)).fit(points, target), None),
        "mlp of two": (MLPRegressor(activation="logistic", **size).fit(points, np.stack([target, -target], axis=1)), None),
        "products": (make_pipeline(PolynomialFeatures(2), Ridge()).fit(points, target), None),
        "logistic": (LogisticRegression().fit(points, label), 1),
        "logistic of three": (LogisticRegression().fit(points, three), 1),
        "classifier": (MLPClassifier(**size).fit(points, label), 1),
        "classifier of three": (MLPClassifier(**size).fit(points, three), 1),
    }


@pytest.mark.parametrize("zipmap", [True, False])
def test_converted_pipelines(zipmap):
    skl2onnx = pytest.importorskip("skl2onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipelines = fit_pipelines()
    points = RNG.normal(size=(8, 3)).astype(np.float32) + 2
    for name, (model, output) in pipelines.items():
        options = None if output is None else {id(model): {"zipmap": zipmap}}
        proto = skl2onnx.to_onnx(model, points[:1], options=options, target_opset=17)
        chosen = None if output is None else proto.graph.output[output].name
        expected = model.predict(points) if output is None else model.predict_proba(points)
        values = load_network(proto, outputs=chosen)(points)
        np.testing.assert_allclose(values, expected.reshape(8, -1), rtol=1e-4, atol=1e-5, err_msg=name)
        if output is not None:
            assert load_network(proto, outputs="logits").is_piecewise_linear


# What exporters write out is recognized, also with constants in single precision.

C = {
    "half": 0.5,
    "one": 1.0,
    "root": float(np.float32(np.sqrt(2))),
    "slope": float(np.float32(np.sqrt(2 / np.pi))),
    "cubic": float(np.float32(0.044715)),
    "three": 3.0,
    "six": 6.0,
    "zero": 0.0,
    "eps": 1e-5,
    "two": 2.0,
    "twenty": 20.0,
    "width": 0.5,
    "ax": np.array([1]),
}
WRITTEN_OUT = {
    "SiLU": ([node("Sigmoid", "x", "s"), node("Mul", "x s")], {"silu"}),
    "SiLU as a quotient": ([node("Neg", "x", "n"), node("Exp", "n", "e"), node("Add", "e one", "d"), node("Div", "x d")], {"silu"}),
    "GELU": (
        [node("Div", "x root", "d"), node("Erf", "d", "e"), node("Add", "e one", "a"), node("Mul", "x a", "m"), node("Mul", "m half")],
        {"gelu"},
    ),
    "GELU tanh": (
        [
            node("Pow", "x three", "c"),
            node("Mul", "c cubic", "k"),
            node("Add", "x k", "s"),
            node("Mul", "s slope", "u"),
            node("Tanh", "u", "t"),
            node("Add", "t one", "a"),
            node("Mul", "x half", "h"),
            node("Mul", "h a"),
        ],
        {"gelu_tanh"},
    ),
    "GELU tanh by products": (
        [
            node("Mul", "x x", "q"),
            node("Mul", "q x", "c"),
            node("Mul", "cubic c", "k"),
            node("Add", "x k", "s"),
            node("Mul", "slope s", "u"),
            node("Tanh", "u", "t"),
            node("Add", "one t", "a"),
            node("Mul", "half a", "g"),
            node("Mul", "x g"),
        ],
        {"gelu_tanh"},
    ),
    "GELU tanh of a multiple": (
        [
            node("Mul", "x two", "z"),
            node("Pow", "z three", "c"),
            node("Mul", "c cubic", "k"),
            node("Add", "z k", "s"),
            node("Mul", "s slope", "u"),
            node("Tanh", "u", "t"),
            node("Add", "t one", "a"),
            node("Mul", "z a", "h"),
            node("Mul", "h half"),
        ],
        {"gelu_tanh"},
    ),
    "Mish": ([node("Softplus", "x", "p"), node("Tanh", "p", "t"), node("Mul", "x t")], {"mish"}),
    "HardSwish": (
        [node("Add", "x three", "a"), node("Clip", "a zero six", "c"), node("Mul", "x c", "m"), node("Div", "m six")],
        {"hardswish"},
    ),
    "HardSwish by HardSigmoid": ([node("HardSigmoid", "x", "s", alpha=1.0 / 6.0, beta=0.5), node("Mul", "x s")], {"hardswish"}),
    "layer normalization": (
        [
            node("ReduceMean", "x", "m", axes=[1]),
            node("Sub", "x m", "c"),
            node("Pow", "c two", "q"),
            node("ReduceMean", "q", "v", axes=[1]),
            node("Add", "v eps", "w"),
            node("Sqrt", "w", "r"),
            node("Div", "c r"),
        ],
        {"square", "power"},
    ),
    "softmax": ([node("Exp", "x", "e"), node("ReduceSum", "e ax", "t"), node("Div", "e t")], {"softplus", "exp"}),
    "softplus above a threshold": ([node("Softplus", "x", "p"), node("Greater", "x twenty", "g"), node("Where", "g x p")], {"softplus"}),
    "soft shrinkage": (
        [
            node("Abs", "x", "a"),
            node("Greater", "a width", "g"),
            node("Sign", "x", "s"),
            node("Mul", "s width", "m"),
            node("Sub", "x m", "d"),
            node("Mul", "x zero", "z"),
            node("Where", "g d z"),
        ],
        {"relu"},
    ),
}


@pytest.mark.parametrize("name", WRITTEN_OUT)
def test_written_out(name):
    nodes, kinds = WRITTEN_OUT[name]
    used = {item for entry in nodes for item in entry.input}
    model = make(nodes, ("batch", 4), 17, {key: np.asarray(value) for key, value in C.items() if key in used})
    network = load_network(model)
    assert {kind.name for kind in network.activations} == kinds
    points = draw(network)
    np.testing.assert_allclose(network(points), run_reference(model, points), rtol=1e-5, atol=1e-6)


def test_one_root_of_a_quotient():
    """Not a root and a quotient."""
    nodes, _ = WRITTEN_OUT["layer normalization"]
    model = make(nodes, ("batch", 4), 17, {key: np.asarray(C[key]) for key in ("two", "eps")})
    assert [str(kind) for kind in load_network(model).activations] == ["square", "power(-0.5, 1e-05)", "square"]


def test_sizes_stay_sparse():
    """A convolution holds its weights at every place, and no more."""
    constants = weights(k=(8, 3, 3, 3))
    network = load_network(make([node("Conv", "x k", "c"), node("Relu", "c")], ("batch", 3, 16, 16), 17, constants))
    assert network.stages[0].weights[0].nnz == 8 * 14 * 14 * 27
