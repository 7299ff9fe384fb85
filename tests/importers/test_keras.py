"""Import of Keras 3 models."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("keras")
pytest.importorskip("torch", reason="the tests run Keras on torch")
os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
from keras import layers

from dcembed.errors import ImportMismatchError, InputError, NetworkError, UnsupportedLayerError
from dcembed.frontends.links import last_link, without_link
from dcembed.importers import keras_, load_network, operations

from .models import build_keras


def randomize(model, seed=0):
    """Random weights everywhere, also where Keras starts with zeros and ones; variances stay positive."""
    rng = np.random.default_rng(seed)
    for variable in model.weights:
        positive = variable.name == "moving_variance"
        variable.assign(rng.uniform(0.1, 2.0, variable.shape) if positive else 0.7 * rng.normal(size=variable.shape))
    return model


def assert_same(model, num_inputs=3):
    network = load_network(model)
    assert network.num_inputs == num_inputs
    points = 2.0 * np.random.default_rng(1).normal(size=(30, num_inputs)).astype(np.float32)
    expected = model.predict(points.reshape(30, *model.input_shape[1:]), verbose=0).reshape(30, -1)
    np.testing.assert_allclose(network(points), expected, rtol=1e-4, atol=1e-4)
    return network


def chain(*middle):
    return randomize(keras.Sequential([keras.Input((3,)), layers.Dense(4), *middle, layers.Dense(2, use_bias=False)]))


def normalization(**options):
    layer = layers.Normalization(**options)
    layer.adapt(np.random.default_rng(0).normal(loc=2.0, scale=3.0, size=(50, 4)).astype(np.float32))
    return layer


LAYERS = {
    "Dense": lambda: [layers.Dense(5)],
    "Dense relu": lambda: [layers.Dense(5, activation="relu")],
    "Dense leaky_relu": lambda: [layers.Dense(5, activation="leaky_relu")],
    "Dense relu6": lambda: [layers.Dense(5, activation="relu6")],
    "Dense hard_tanh": lambda: [layers.Dense(5, activation="hard_tanh")],
    "Dense with a layer": lambda: [layers.Dense(5, activation=layers.LeakyReLU(negative_slope=0.4))],
    "Activation": lambda: [layers.Activation("relu"), layers.Activation("linear")],
    "ReLU": lambda: [layers.ReLU()],
    "ReLU max": lambda: [layers.ReLU(max_value=0.5)],
    "ReLU slope": lambda: [layers.ReLU(negative_slope=0.2)],
    "ReLU max and slope": lambda: [layers.ReLU(max_value=0.5, negative_slope=0.2)],
    "LeakyReLU": lambda: [layers.LeakyReLU(negative_slope=0.1)],
    "PReLU": lambda: [layers.PReLU()],
    "PReLU shared": lambda: [layers.Reshape((2, 2)), layers.PReLU(shared_axes=[1]), layers.Flatten()],
    "Dropout": lambda: [layers.Dropout(0.5), layers.GaussianDropout(0.5), layers.GaussianNoise(1.0), layers.AlphaDropout(0.5)],
    "SpatialDropout": lambda: [layers.Reshape((2, 2)), layers.SpatialDropout1D(0.5), layers.Flatten()],
    "SpatialDropout2D": lambda: [layers.Reshape((2, 2, 1)), layers.SpatialDropout2D(0.5), layers.Flatten()],
    "SpatialDropout3D": lambda: [layers.Reshape((2, 2, 1, 1)), layers.SpatialDropout3D(0.5), layers.Flatten()],
    "ActivityRegularization": lambda: [layers.ActivityRegularization(l2=0.1)],
    "Flatten": lambda: [layers.Flatten()],
    "Flatten channels_first": lambda: [layers.Reshape((2, 2)), layers.Flatten(data_format="channels_first")],
    "Reshape": lambda: [layers.Reshape((2, -1)), layers.Dense(3, activation="relu"), layers.Flatten()],
    "Permute": lambda: [layers.Reshape((2, 2)), layers.Permute((2, 1)), layers.Flatten()],
    "BatchNormalization": lambda: [layers.BatchNormalization()],
    "BatchNormalization bare": lambda: [layers.BatchNormalization(center=False, scale=False, epsilon=0.1)],
    "BatchNormalization axis": lambda: [layers.Reshape((2, 2)), layers.BatchNormalization(axis=1), layers.Flatten()],
    "Rescaling": lambda: [layers.Rescaling(0.5, offset=-1.0)],
    "Normalization given": lambda: [layers.Normalization(mean=[1.0, 2.0, 3.0, 4.0], variance=[1.0, 4.0, 9.0, 0.0])],
    "Identity": lambda: [layers.Identity()],
    "nested": lambda: [keras.Sequential([layers.Dense(3, activation="relu"), keras.Sequential([layers.Dense(4)])])],
}


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name):
    assert_same(chain(*LAYERS[name]()))


@pytest.mark.parametrize("invert", [False, True])
def test_adapted_normalization(invert):
    model = keras.Sequential([keras.Input((4,)), normalization(invert=invert), layers.Dense(3, activation="relu"), layers.Dense(1)])
    assert_same(model, num_inputs=4)


@pytest.mark.parametrize("rest", [1e-3, 1e-5])
def test_constants_that_cancel_at_the_origin_are_rounded_there_all_the_same(rest):
    """(x - 2) / 3 + (2 / 3 + rest) is `rest` at 0 to us, and off by the rounding of 2 / 3 in single precision to Keras."""
    last = layers.Dense(1)
    model = keras.Sequential([keras.Input((1,)), layers.Normalization(mean=2.0, variance=9.0), layers.Dense(1, activation="relu"), last])
    for layer, bias in ((model.layers[1], 2 / 3 + rest), (last, 0.0)):
        layer.set_weights([np.ones((1, 1)), np.array([bias])])
    assert_same(model, num_inputs=1)


def functional(build):
    keras.utils.set_random_seed(0)
    inputs = keras.Input((3,))
    hidden = layers.Dense(4)(inputs)
    return randomize(keras.Model(inputs, build(hidden, layers.Dense(4, activation="relu")(hidden))))


FUNCTIONAL = {
    "Add": lambda h, z: layers.Add()([h, z, z]),
    "Subtract": lambda h, z: layers.Subtract()([h, z]),
    "Maximum": lambda h, z: layers.Maximum()([h, z]),
    "Minimum": lambda h, z: layers.Minimum()([h, z]),
    "Concatenate": lambda h, z: layers.Concatenate()([h, z]),
    "operators": lambda h, z: (h + z) * 0.5 - z / 4.0 + 1.0,
    "negative": lambda h, z: -h,
    "ops": lambda h, z: keras.ops.relu(h) + keras.ops.leaky_relu(h, 0.3) + keras.ops.maximum(h, z) + keras.ops.minimum(h, z),
    "ops clip": lambda h, z: keras.ops.relu6(h) + keras.ops.hard_tanh(z),
    "ops concatenate": lambda h, z: keras.ops.concatenate([h, z], axis=-1),
    "activations": lambda h, z: keras.activations.relu(h, negative_slope=0.1, max_value=2.0),
    "constant": lambda h, z: h * keras.ops.convert_to_tensor(np.array([1.0, 2.0, 3.0, 4.0], dtype=np.float32)),
    "nested": lambda h, z: keras.Sequential([keras.Input((4,)), layers.Dense(2, activation="relu")])(h + z),
}


@pytest.mark.parametrize("name", FUNCTIONAL)
def test_functional(name):
    assert_same(functional(FUNCTIONAL[name]))


def test_shared_layers_and_nested_functional():
    inner_input = keras.Input((3,))
    inner = keras.Model(inner_input, inner_input + layers.Dense(3, activation="relu")(inner_input))
    inputs = keras.Input((3,))
    network = assert_same(randomize(keras.Model(inputs, inner(inner(inputs)))))
    assert network.widths == (3, 3)


def test_all_layers_are_tested():
    kinds = {type(layer) for build in LAYERS.values() for layer in build()}
    kinds |= {layers.InputLayer, layers.Add, layers.Subtract, layers.Maximum, layers.Minimum, layers.Concatenate, layers.Normalization}
    assert set(keras_.LAYERS) <= kinds


def test_all_unsupported_layers_are_named():
    model = chain(layers.Dense(4, activation="tanh", name="hidden"), layers.ReLU(threshold=1.0, name="jump"), layers.Softmax(name="soft"))
    with pytest.raises(UnsupportedLayerError) as info:
        load_network(model)
    lines = str(info.value).splitlines()
    assert lines[:4] == [
        "The Keras model has 3 layers that cannot be embedded:",
        f"  layer 1, '{model.name}/hidden': Dense (activation 'tanh'; accepted are hard_tanh, leaky_relu, linear, relu, relu6)",
        f"  layer 2, '{model.name}/jump': ReLU (threshold=1.0 makes it discontinuous)",
        f"  layer 3, '{model.name}/soft': Softmax",
    ]
    assert lines[4].startswith("Accepted are piecewise-linear layers: Activation, ActivityRegularization, Add")


def test_unsupported_layers_after_a_change_of_shape():
    model = keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(2, 3), layers.Flatten(), layers.Dense(1, activation="tanh")])
    with pytest.raises(UnsupportedLayerError, match=r"2 layers that cannot be embedded:\n.*Conv2D\n.*Dense \(activation 'tanh'"):
        load_network(model)


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda h, z: h * z, "multiplies two computed values"),
        (lambda h, z: layers.Multiply()([h, z]), "Multiply"),
        (lambda h, z: layers.Dropout(0.5)(h, training=True), "training=True"),
        (lambda h, z: keras.ops.exp(h), "Exp"),
        (lambda h, z: layers.Lambda(lambda x: x)(h), "Lambda"),
    ],
)
def test_unsupported_use(build, reason):
    with pytest.raises(UnsupportedLayerError, match=reason):
        load_network(functional(build))


def test_overridden_call_is_not_taken_for_dense():
    class Squared(layers.Dense):
        def call(self, inputs, training=None):
            return super().call(inputs) ** 2

    with pytest.raises(UnsupportedLayerError, match="Squared"):
        load_network(keras.Sequential([keras.Input((2,)), Squared(2)]))

    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(2)

        def call(self, inputs):
            return self.dense(inputs) ** 2

    model = Own()
    model(np.zeros((1, 2), dtype=np.float32))
    with pytest.raises(UnsupportedLayerError, match="Own"):
        load_network(model)


def test_malformed_models():
    with pytest.raises(NetworkError, match="The network is empty"):
        load_network(keras.Sequential())
    with pytest.raises(NetworkError, match="no weights yet"):
        load_network(keras.Sequential([layers.Dense(2)]))
    left, right = keras.Input((2,), name="left"), keras.Input((2,), name="right")
    with pytest.raises(NetworkError, match=r"2 inputs \('left', 'right'\)"):
        load_network(keras.Model([left, right], left + right))
    with pytest.raises(NetworkError, match="2 outputs"):
        load_network(keras.Model(left, [left + 1.0, left + 2.0]))
    with pytest.raises(InputError, match="Dense is not a model"):
        load_network(layers.Dense(2))


def test_input_shape():
    inputs = keras.Input((None,))
    model = keras.Model(inputs, layers.ReLU()(inputs))
    with pytest.raises(InputError, match="input_shape="):
        load_network(model)
    assert load_network(model, input_shape=4).num_inputs == 4
    grid = keras.Sequential([keras.Input((2, 3)), layers.Dense(2, activation="relu"), layers.Flatten(), layers.Dense(1)])
    assert_same(grid, num_inputs=6)


def test_built_by_a_call():
    model = keras.Sequential([layers.Dense(4, activation="relu"), layers.Dense(1)])
    model(np.zeros((2, 3), dtype=np.float32))
    assert_same(model)


def test_nonfinite_weights():
    model = build_keras()
    weights = model.get_weights()
    weights[0][0, 0] = np.nan
    model.set_weights(weights)
    with pytest.raises(NetworkError, match="NaN or infinite"):
        load_network(model)


def test_wrong_import_is_noticed(monkeypatch):
    monkeypatch.setitem(keras_.ACTIVATIONS, keras.activations.relu, lambda builder, value: operations.leaky_relu(builder, value, 1e-3))
    with pytest.raises(ImportMismatchError, match="does not reproduce the Keras model"):
        load_network(build_keras())


def test_other_precisions():
    for dtype in ("float64", "mixed_float16", "mixed_bfloat16"):
        model = keras.Sequential([keras.Input((2,)), layers.Dense(4, activation="relu", dtype=dtype), layers.Dense(1, dtype=dtype)])
        assert load_network(model).widths == (4,)


@settings(max_examples=10, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 5), st.sampled_from(["relu", "linear", "leaky_relu", "relu6"]), st.booleans()), min_size=1, max_size=3
    ),
    st.integers(0, 1000),
)
def test_random_architecture(sizes, seed):
    stack = [
        layer
        for size, kind, normalize in sizes
        for layer in [layers.Dense(size, activation=kind), *[layers.BatchNormalization()] * normalize]
    ]
    assert_same(randomize(keras.Sequential([keras.Input((3,)), *stack]), seed))


@pytest.mark.parametrize(
    "end",
    [
        [layers.Dense(3, activation="softmax")],
        [layers.Dense(3), layers.Softmax()],
        [layers.Dense(3), layers.Activation("sigmoid")],
        [layers.Dense(1, activation="sigmoid")],
    ],
)
def test_front_ends_read_a_classifier_without_the_function_that_ends_it(end):
    model = randomize(keras.Sequential([keras.Input((2,)), layers.Dense(4, activation="relu"), *end]))
    config, points = model.get_config(), np.random.default_rng(0).normal(size=(20, 2))
    scores = load_network(without_link(model))(points)
    is_softmax = last_link(model) == "softmax"
    values = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True) if is_softmax else 1.0 / (1.0 + np.exp(-scores))
    np.testing.assert_allclose(model.predict(points, verbose=0), values, atol=1e-5)
    assert model.get_config() == config
    assert last_link(keras.Sequential([keras.Input((2,)), layers.Dense(3)])) is None
