"""Keras models of several layers: shared ones, rounded constants, random stacks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("keras")
pytest.importorskip("torch", reason="the tests run Keras on torch")

import keras
from keras import layers, ops

from dcembed.importers import load_network

from .models import assert_same, functional, randomize


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


def test_other_precisions():
    for dtype in ("float64", "mixed_float16", "mixed_bfloat16"):
        model = keras.Sequential([keras.Input((2,)), layers.Dense(4, activation="relu", dtype=dtype), layers.Dense(1, dtype=dtype)])
        assert load_network(model).widths == (4,)


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
