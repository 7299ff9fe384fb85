"""Inputs of Keras models: shapes, batches, several of them, constants, names."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("keras")
pytest.importorskip("torch", reason="the tests run Keras on torch")

import keras
from keras import layers

from dcembed.errors import InputError, UnsupportedLayerError
from dcembed.importers import load_network

from .models import assert_same, pair, randomize

A, B = (np.random.default_rng(number).normal(size=(6, size)).astype(np.float32) for number, size in ((0, 2), (1, 3)))


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
        ({"inputs": ["a", "b", "a"]}, "inputs has 'a' more than once. Name each input of the Keras model once"),
        ({"input_shape": {"c": 2}}, "has no input 'c'"),
        ({"input_shape": {"a": 2, "b": 4}}, r"the input 'b' of the Keras model has shape \(3,\); input_shape says \(4,\)"),
    ],
)
def test_what_is_asked_must_be_there(asked, message):
    with pytest.raises(InputError, match=message):
        load_network(pair(), **asked)


def test_shapes_by_name():
    assert load_network(pair(), input_shape={"a": 2, "b": (3,)}).num_inputs == 5
    free, b = keras.Input((None,), name="free"), keras.Input((3,), name="b")
    model = keras.Model([free, b], layers.Concatenate()([layers.ReLU()(free), b]))
    assert load_network(model, input_shape={"free": 4}).num_inputs == 7
    constant = load_network(model, inputs={"free": 2.0, "b": None}, input_shape={"free": 2})
    np.testing.assert_allclose(constant(B), np.hstack([np.full((6, 2), 2.0), B]), atol=1e-6)


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
