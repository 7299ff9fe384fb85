"""What is asked of a Keras model, what is refused, and models with code of their own. The layers are in test_keras_conformance.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("keras")
pytest.importorskip("torch", reason="the tests run Keras on torch")

from .keras_models import build, functional, randomize  # noqa: I001
import keras
from keras import layers, ops

from dcembed.errors import ImportMismatchError, InputError, NetworkError, UnsupportedLayerError
from dcembed.frontends.links import load_scores
from dcembed.importers import load_network, operations
from dcembed.importers.keras_.layers import activations as keras_activations

from .models import build_keras


def assert_same(model, num_inputs=3, network=None):
    network = load_network(model) if network is None else network
    assert network.num_inputs == num_inputs
    points = 2.0 * np.random.default_rng(1).normal(size=(30, num_inputs)).astype(np.float32)
    expected = np.asarray(model.predict(points.reshape(30, *model.input_shape[1:]), verbose=0)).reshape(30, -1)
    np.testing.assert_allclose(network(points), expected, rtol=1e-4, atol=1e-4)
    return network


def chain(*middle):
    return build((3,), [layers.Dense(4), *middle, layers.Dense(2, use_bias=False)])


@pytest.mark.parametrize("rest", [1e-3, 1e-5])
def test_constants_that_cancel_at_the_origin_are_rounded_there_all_the_same(rest):
    """(x - 2) / 3 + (2 / 3 + rest) is `rest` at 0 to us, and off by the rounding of 2 / 3 in single precision to Keras."""
    last = layers.Dense(1)
    model = keras.Sequential([keras.Input((1,)), layers.Normalization(mean=2.0, variance=9.0), layers.Dense(1, activation="relu"), last])
    for layer, bias in ((model.layers[1], 2 / 3 + rest), (last, 0.0)):
        layer.set_weights([np.ones((1, 1)), np.array([bias])])
    assert_same(model, num_inputs=1)


def test_shared_layers_are_as_many_stages_as_calls():
    inner_input = keras.Input((3,))
    inner = keras.Model(inner_input, inner_input + layers.Dense(3, activation="relu")(inner_input))
    inputs = keras.Input((3,))
    assert assert_same(randomize(keras.Model(inputs, inner(inner(inputs))))).widths == (3, 3)


def test_known_activations_written_out_are_one_stage():
    network = load_network(functional(lambda x: x * ops.sigmoid(x), (3,)))
    assert [str(kind) for kind in network.activations] == ["silu"]


# Refusals.


def test_all_unsupported_layers_are_named():
    stack = [layers.Dense(4, activation="hard_shrink", name="hidden"), layers.ReLU(threshold=1.0, name="jump"), layers.Reshape((2, 2))]
    model = chain(*stack, layers.LSTM(3, name="memory"))
    with pytest.raises(UnsupportedLayerError) as info:
        load_network(model)
    lines = str(info.value).splitlines()
    assert lines[:4] == [
        "The Keras model has 3 layers that cannot be embedded:",
        f"  layer 1, '{model.name}/hidden': Dense (activation 'hard_shrink' jumps at its threshold; soft_shrink does not)",
        f"  layer 2, '{model.name}/jump': ReLU (threshold=1 makes it jump; accepted is threshold=0)",
        f"  layer 4, '{model.name}/memory': LSTM (keeps a state from one time step to the next; embed a model that takes the whole window at "
        "once, such as Dense or Conv1D layers over it)",
    ]


@pytest.mark.parametrize(
    ("build_graph", "reason"),
    [
        (lambda x: layers.Dropout(0.5)(x, training=True), "is called with training=True"),
        (lambda x: layers.GRU(2)(layers.Reshape((4, 1))(x)), "keeps a state"),
        (lambda x: layers.Discretization([0.0])(x), "turns its input into categories"),
        (lambda x: ops.argmax(x, axis=-1), r"Argmax \(jumps; "),
        (lambda x: ops.sort(x, axis=-1), r"Sort \(sorts its entries"),
        (lambda x: ops.floor(x), r"Floor \(jumps"),
        (lambda x: ops.sign(x), r"Sign \(jumps"),
        (lambda x: keras.activations.hard_shrink(x), "HardShrink"),
        (lambda x: keras.activations.threshold(x, 0.5, 0.0), "Threshold"),
        (lambda x: layers.Dense(3, activation="sparsemax")(x), "sorts its entries"),
        (lambda x: ops.where(x > 0, x, -1.0), r"Greater \(jumps"),
        (lambda x: layers.Concatenate(axis=0)([x, x]), "joins along the batch axis"),
        (lambda x: layers.Masking()(layers.Reshape((4, 1))(x)), "Masking"),
        (lambda x: ops.cast(x, "int32"), "casts to int32, which rounds"),
    ],
)
def test_refused_by_name_with_the_reason(build_graph, reason):
    inputs = keras.Input((4,))
    with pytest.raises(UnsupportedLayerError, match=reason):
        load_network(keras.Model(inputs, build_graph(inputs)))


def test_layers_behind_one_that_is_refused_are_looked_at():
    stack = [layers.Reshape((4, 1)), layers.LSTM(5), layers.Dense(1, activation="hard_shrink")]
    with pytest.raises(
        UnsupportedLayerError, match=r"2 layers that cannot be embedded:\n.*LSTM.*\n.*Dense \(activation 'hard_shrink' jumps"
    ):
        load_network(chain(*stack))


def test_points_of_a_batch_must_not_be_mixed():
    inputs = keras.Input((3,))
    with pytest.raises(NetworkError, match="mixes the points of a batch"):
        load_network(keras.Model(inputs, ops.sum(inputs)))


def test_malformed_models():
    with pytest.raises(NetworkError, match="The network is empty"):
        load_network(keras.Sequential())
    with pytest.raises(NetworkError, match="no weights yet"):
        load_network(keras.Sequential([layers.Dense(2)]))
    with pytest.raises(InputError, match="Dense is not a model"):
        load_network(layers.Dense(2))
    with pytest.raises(InputError, match="architecture does not apply to a Keras model"):
        load_network(build_keras(), architecture="relu")


def test_nonfinite_weights():
    model = build_keras()
    weights = model.get_weights()
    weights[0][0, 0] = np.nan
    model.set_weights(weights)
    with pytest.raises(NetworkError, match="NaN or infinite"):
        load_network(model)


def test_wrong_import_is_noticed(monkeypatch):
    wrong = {**keras_activations.BY_FUNCTION, keras.activations.relu: lambda builder, value: operations.leaky_relu(builder, value, 1e-3)}
    monkeypatch.setattr("dcembed.importers.keras_.walk.BY_FUNCTION", wrong)
    with pytest.raises(ImportMismatchError, match="does not reproduce the Keras model"):
        load_network(build_keras())


# Shapes, batches and precisions.


def test_input_shape():
    inputs = keras.Input((None,))
    model = keras.Model(inputs, layers.ReLU()(inputs))
    with pytest.raises(InputError, match="input_shape="):
        load_network(model)
    assert load_network(model, input_shape=4).num_inputs == 4
    grid = keras.Sequential([keras.Input((2, 3)), layers.Dense(2, activation="relu"), layers.Flatten(), layers.Dense(1)])
    assert_same(grid, num_inputs=6)


def test_problems_are_named_before_the_shape_is_asked_for():
    inputs = keras.Input((None, 3))
    with pytest.raises(UnsupportedLayerError, match="LSTM"):
        load_network(keras.Model(inputs, layers.LSTM(2)(inputs)))


def test_built_by_a_call():
    model = keras.Sequential([layers.Dense(4, activation="relu"), layers.Dense(1)])
    model(np.zeros((2, 3), dtype=np.float32))
    assert_same(model)


@pytest.mark.parametrize("size", [1, 4])
def test_batches_of_a_fixed_size(size):
    inputs = keras.Input(batch_shape=(size, 3))
    model = randomize(keras.Model(inputs, layers.Dense(2, activation="tanh")(inputs)))
    kernel, bias = model.get_weights()
    points = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(load_network(model)(points), np.tanh(points @ kernel + bias), atol=1e-6)


def test_other_precisions():
    for dtype in ("float64", "mixed_float16", "mixed_bfloat16"):
        model = keras.Sequential([keras.Input((2,)), layers.Dense(4, activation="relu", dtype=dtype), layers.Dense(1, dtype=dtype)])
        assert load_network(model).widths == (4,)


# Several inputs and outputs.


def pair(as_dict=False):
    a, b = keras.Input((2,), name="a"), keras.Input((3,), name="b")
    hidden = layers.Dense(4, activation="tanh")(layers.Concatenate()([a, b]))
    first, second = layers.Dense(2, name="first")(hidden), layers.Dense(3, activation="softmax", name="second")(hidden)
    inputs = {"b": b, "a": a} if as_dict else [a, b]
    return randomize(keras.Model(inputs, [first, second]))


A, B = (np.random.default_rng(number).normal(size=(6, size)).astype(np.float32) for number, size in ((0, 2), (1, 3)))


@pytest.mark.parametrize("as_dict", [False, True])
def test_all_inputs_and_outputs_by_default(as_dict):
    model = pair(as_dict)
    values = model.predict({"a": A, "b": B} if as_dict else [A, B], verbose=0)
    np.testing.assert_allclose(load_network(model)(np.hstack([A, B])), np.hstack(values), atol=1e-5)


def test_inputs_in_another_order_and_constants():
    model = pair()
    first, second = model.predict([A, B], verbose=0)
    network = load_network(model, inputs=["b", "a"], outputs="second")
    np.testing.assert_allclose(network(np.hstack([B, A])), second, atol=1e-5)
    constant = load_network(model, inputs={"a": None, "b": B[0]}, outputs=["first"])
    expected = model.predict([A, np.repeat(B[:1], 6, axis=0)], verbose=0)[0]
    np.testing.assert_allclose(constant(A), expected, atol=1e-5)
    assert first.shape == (6, 2)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"inputs": ["a"]}, r"inputs leaves out 'b', which the Keras model needs\. .*inputs=\{'a': None, 'b': \.\.\.\}"),
        ({"inputs": ["c"]}, r"has no input 'c'\. Its inputs are 'a', 'b'\."),
        ({"outputs": "third"}, r"has no output 'third'\. Its outputs are 'first', 'second'\."),
        ({"inputs": {"a": None, "b": np.zeros(4)}}, r"the value of the input 'b' has shape \(4,\); the Keras model takes \(3,\)"),
        ({"inputs": {"a": None, "b": "text"}}, "numbers are accepted"),
    ],
)
def test_what_is_asked_must_be_there(asked, message):
    with pytest.raises(InputError, match=message):
        load_network(pair(), **asked)


def test_layers_that_only_other_outputs_need_are_left_alone():
    inputs = keras.Input((3,))
    scores = layers.Dense(4, name="scores")(inputs)
    model = randomize(keras.Model(inputs, {"scores": scores, "label": ops.argmax(scores, axis=-1)}))
    with pytest.raises(UnsupportedLayerError, match="Argmax"):
        load_network(model)
    assert load_network(model, outputs="scores").num_outputs == 4


def test_names_of_columns():
    columns = [keras.Input((1,), name=name) for name in ("age", "height")]
    model = randomize(keras.Model(columns, layers.Dense(1)(layers.Concatenate()(columns))))
    assert load_network(model).input_names == ("age", "height")
    assert load_network(model, inputs=["height", "age"]).input_names == ("height", "age")


def test_an_embedding_of_a_constant():
    kind, x = keras.Input((2,), name="kind", dtype="int32"), keras.Input((3,), name="x")
    looked_up = layers.Flatten()(layers.Embedding(5, 2)(kind))
    model = randomize(keras.Model([kind, x], layers.Dense(2, activation="relu")(layers.Concatenate()([looked_up, x]))))
    with pytest.raises(InputError, match=r"'kind' of the Keras model has type int32.*inputs=\{'kind': \.\.\.\}"):
        load_network(model)
    assert load_network(model, inputs={"kind": [3, 1]}).num_inputs == 3
    network = load_network(model, inputs={"kind": [3, 1], "x": None})
    np.testing.assert_allclose(network(B), model.predict([np.tile([3, 1], (6, 1)), B], verbose=0), atol=1e-5)


LOGITS = {
    "softmax": lambda x: layers.Dense(3, activation="softmax")(x),
    "sigmoid": lambda x: layers.Dense(1, activation="sigmoid")(x),
    "log_softmax": lambda x: ops.log_softmax(layers.Dense(3)(x)),
    "Softmax": lambda x: layers.Softmax()(layers.Dense(3)(x)),
    "reshaped": lambda x: layers.Reshape((3, 1))(layers.Dense(3, activation="softmax")(x)),
}


@pytest.mark.parametrize("name", LOGITS)
def test_logits(name):
    model = functional(LOGITS[name], (4,))
    points = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    [dense] = [layer for layer in model.layers if isinstance(layer, layers.Dense)]
    kernel, bias = dense.get_weights()
    np.testing.assert_allclose(load_network(model, outputs="logits")(points), points @ kernel + bias, atol=1e-5)


def test_logits_of_the_outputs_that_have_them():
    network = load_network(pair(), outputs="logits")
    assert network.num_outputs == 3
    with pytest.raises(InputError, match=r"no output of the Keras model \('.*'\) ends in a sigmoid, softmax or log-softmax"):
        load_network(chain(), outputs="logits")


# Models and layers with code of their own.


class Scale(layers.Layer):
    def build(self, shape):
        self.gamma = self.add_weight(name="gamma", shape=(shape[-1],))
        self.beta = self.add_weight(name="beta", shape=(shape[-1],))

    def call(self, x):
        return self.gamma * x + self.beta


class Block(keras.Model):
    def __init__(self, width):
        super().__init__()
        self.first, self.second, self.norm = layers.Dense(width, activation="relu"), layers.Dense(3), layers.BatchNormalization()
        self.drop, self.scale = layers.Dropout(0.5), Scale()

    def call(self, x, training=None):
        hidden = self.drop(self.norm(self.first(x), training=training), training=training)
        return self.scale(self.second(hidden)) + ops.tanh(x)[:, :3]


class Several(keras.Model):
    def __init__(self):
        super().__init__()
        self.block, self.head = Block(4), layers.Dense(2, activation="sigmoid")

    def call(self, inputs):
        left, right = inputs
        return {"scores": self.block(left) * right, "share": self.head(left)}


def built(model, *shapes):
    values = [np.zeros((2, *shape), dtype=np.float32) for shape in shapes]
    model(values if len(values) > 1 else values[0])
    return randomize(model)


def test_a_subclassed_model():
    model = built(Block(5), (3,))
    nodes = [len(layer._inbound_nodes) for layer in model._flatten_layers()]
    network = load_network(model)
    points = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    np.testing.assert_allclose(network(points), keras.ops.convert_to_numpy(model(points)), atol=1e-4)
    assert [len(layer._inbound_nodes) for layer in model._flatten_layers()] == nodes
    assert network.widths == (5, 3)


def test_a_subclassed_model_with_several_inputs_and_outputs():
    model = built(Several(), (3,), (3,))
    points = np.random.default_rng(0).normal(size=(6, 6)).astype(np.float32)
    values = model([points[:, :3], points[:, 3:]])
    both = np.hstack([keras.ops.convert_to_numpy(values[name]) for name in ("scores", "share")])
    np.testing.assert_allclose(load_network(model)(points), both, atol=1e-3)
    np.testing.assert_allclose(load_network(model, outputs="share")(points), both[:, 3:], atol=1e-4)


def test_code_inside_a_functional_model():
    assert_same(functional(lambda x: Block(4)(Scale()(x)) - layers.Dense(3, activation=lambda z: ops.relu(z) ** 2)(x), (3,)))


def test_an_overridden_call_is_not_taken_for_that_of_keras():
    class Squared(layers.Dense):
        def call(self, inputs, training=None):
            return super().call(inputs) ** 2

    assert_same(build((3,), [Squared(2)]))


def test_code_of_the_backend_cannot_be_followed():
    import torch

    class Own(layers.Layer):
        def call(self, inputs):
            return torch.special.bessel_j0(inputs)

        def compute_output_shape(self, shape):
            return shape

    with pytest.raises(
        UnsupportedLayerError, match=r"'.*/own': Own \(has code of its own that cannot be followed \(.*write it with layers and keras"
    ):
        load_network(keras.Sequential([keras.Input((2,)), Own(name="own")]))


def test_operators_of_variables_are_as_before():
    variable = keras.Variable(np.ones(2))
    methods = {name: getattr(keras.Variable, name) for name in ("__mul__", "__add__")}
    load_network(built(Block(5), (3,)))
    assert all(getattr(keras.Variable, name) is method for name, method in methods.items())
    np.testing.assert_array_equal(ops.convert_to_numpy(variable * 2.0), [2.0, 2.0])


# Others.


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 5), st.sampled_from(["relu", "linear", "tanh", "gelu"]), st.booleans()), min_size=1, max_size=3),
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
    ("end", "is_softmax"),
    [
        ([layers.Dense(3, activation="softmax")], True),
        ([layers.Dense(3), layers.Softmax()], True),
        ([layers.Dense(3), layers.Activation("sigmoid")], False),
        ([layers.Dense(1, activation="sigmoid")], False),
    ],
)
def test_front_ends_read_a_classifier_without_the_function_that_ends_it(end, is_softmax):
    model = randomize(keras.Sequential([keras.Input((2,)), layers.Dense(4, activation="relu"), *end]))
    config, points = model.get_config(), np.random.default_rng(0).normal(size=(20, 2))
    network, linked = load_scores(model)
    scores = network(points)
    assert linked
    values = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True) if is_softmax else 1.0 / (1.0 + np.exp(-scores))
    np.testing.assert_allclose(model.predict(points, verbose=0), values, atol=1e-5)
    assert model.get_config() == config
    assert not load_scores(keras.Sequential([keras.Input((2,)), layers.Dense(3)]))[1]
