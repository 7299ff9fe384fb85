"""Outputs of Keras models, and what goes into a last sigmoid or softmax."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("keras")
pytest.importorskip("torch", reason="the tests run Keras on torch")

import keras
from keras import layers, ops

from dcembed.errors import InputError, UnsupportedLayerError
from dcembed.frontends.links import load_scores
from dcembed.importers import load_network

from .models import chain, functional, pair, randomize


def test_layers_that_only_other_outputs_need_are_left_alone():
    inputs = keras.Input((3,))
    scores = layers.Dense(4, name="scores")(inputs)
    model = randomize(keras.Model(inputs, {"scores": scores, "label": ops.argmax(scores, axis=-1)}))
    with pytest.raises(UnsupportedLayerError, match="Argmax"):
        load_network(model)
    assert load_network(model, outputs="scores").num_outputs == 4


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
