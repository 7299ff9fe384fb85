"""Keras models with random weights, and the comparison with what Keras computes."""

from __future__ import annotations

import keras
import numpy as np
from keras import layers

from dcembed.importers import load_network


def randomize(model, seed=0):
    """Random weights everywhere, also where Keras starts with zeros and ones; variances stay positive."""
    rng = np.random.default_rng(seed)
    for variable in model.weights:
        if "seed" in variable.name:
            continue
        positive = "variance" in variable.name
        variable.assign(rng.uniform(0.1, 2.0, variable.shape) if positive else 0.7 * rng.normal(size=variable.shape))
    return model


def build(shape, stack):
    return randomize(keras.Sequential([keras.Input(shape), *stack]))


def functional(graph, *shapes):
    inputs = [keras.Input(shape, name=f"in_{number}") for number, shape in enumerate(shapes)]
    return randomize(keras.Model(inputs if len(inputs) > 1 else inputs[0], graph(*inputs)))


def assert_same(model, num_inputs=3, network=None):
    network = load_network(model) if network is None else network
    assert network.num_inputs == num_inputs
    points = 2.0 * np.random.default_rng(1).normal(size=(30, num_inputs)).astype(np.float32)
    expected = np.asarray(model.predict(points.reshape(30, *model.input_shape[1:]), verbose=0)).reshape(30, -1)
    np.testing.assert_allclose(network(points), expected, rtol=1e-4, atol=1e-4)
    return network


def chain(*middle):
    """Layers between two dense ones."""
    return build((3,), [layers.Dense(4), *middle, layers.Dense(2, use_bias=False)])


def pair(as_dict=False):
    """Two inputs and two outputs."""
    a, b = keras.Input((2,), name="a"), keras.Input((3,), name="b")
    hidden = layers.Dense(4, activation="tanh")(layers.Concatenate()([a, b]))
    first, second = layers.Dense(2, name="first")(hidden), layers.Dense(3, activation="softmax", name="second")(hidden)
    inputs = {"b": b, "a": a} if as_dict else [a, b]
    return randomize(keras.Model(inputs, [first, second]))
