"""Keras models and layers with code of their own."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("keras")
pytest.importorskip("torch", reason="the tests run Keras on torch")

import keras
from keras import layers, ops

from dcembed.errors import UnsupportedLayerError
from dcembed.importers import load_network

from .models import assert_same, build, functional, randomize


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
