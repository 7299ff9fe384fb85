"""Operations of the builder against numpy."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from dcembed.errors import NetworkError
from dcembed.network import NetworkBuilder

X = np.random.default_rng(0).normal(size=(9, 3)) * 2


def build(operation, shape=(3,)):
    builder = NetworkBuilder(shape)
    return builder.finish(operation(builder, builder.input))


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (lambda b, x: b.relu(x), np.maximum(X, 0)),
        (lambda b, x: b.leaky_relu(x, 0.1), np.where(X > 0, X, 0.1 * X)),
        (lambda b, x: b.leaky_relu(x, np.array([0.1, 2.0, -1.0])), np.where(X > 0, X, X * [0.1, 2.0, -1.0])),
        (lambda b, x: b.clip(x, -0.5, 1.0), np.clip(X, -0.5, 1.0)),
        (lambda b, x: b.clip(x, -np.inf, 1.0), np.minimum(X, 1.0)),
        (lambda b, x: b.clip(x, 0.25, np.inf), np.maximum(X, 0.25)),
        (lambda b, x: b.scale(x, [1.0, 2.0, -3.0]), X * [1.0, 2.0, -3.0]),
        (lambda b, x: b.shift(x, 2.5), X + 2.5),
        (lambda b, x: b.add(b.relu(x), x), np.maximum(X, 0) + X),
        (lambda b, x: b.concat([b.relu(x), x]), np.hstack([np.maximum(X, 0), X])),
        (
            lambda b, x: b.relu(b.add(b.relu(x), b.scale(b.relu(b.shift(x, 1.0)), -1.0))),
            np.maximum(np.maximum(X, 0) - np.maximum(X + 1, 0), 0),
        ),
    ],
)
def test_an_operation_does_what_numpy_does(operation, expected):
    assert np.allclose(build(operation)(X), expected)


def test_concatenation_follows_the_axis():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(5, 6))
    network = build(lambda b, t: b.concat([b.relu(t), t], axis=1), (2, 3))
    images = x.reshape(5, 2, 3)
    assert np.allclose(network(x), np.concatenate([np.maximum(images, 0), images], axis=2).reshape(5, -1))


def test_a_linear_layer_works_along_the_last_axis():
    rng = np.random.default_rng(1)
    x, weight, bias = rng.normal(size=(5, 6)), rng.normal(size=(4, 3)), rng.normal(size=4)
    network = build(lambda b, t: b.linear(t, weight, bias), (2, 3))
    assert np.allclose(network(x), (x.reshape(5, 2, 3) @ weight.T + bias).reshape(5, -1))


def test_stages_that_nothing_uses_are_dropped():
    def operation(b, x):
        b.relu(b.shift(x, 5.0))
        return b.relu(x)

    assert build(operation).widths == (3,)


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        (
            lambda b, x: b.linear(x, np.ones((2, 4))),
            "A linear layer takes 4 features but its input has shape (3,): the last axis must be 4.",
        ),
        (lambda b, x: b.add(x, b.linear(x, np.ones((2, 3)))), "An addition joins shapes (3,) and (2,); they must be equal."),
        (lambda b, x: b.reshape(x, (2, 2)), "A reshape to (2, 2) does not hold the 3 entries of shape (3,)."),
        (lambda b, x: b.scale(x, [1.0, 2.0]), "A constant of shape (2,) does not fit a value of shape (3,)."),
        (lambda b, x: b.linear(x, np.ones((2, 3)), np.ones(3)), "A bias has 3 entries where the layer has 2 outputs."),
    ],
)
def test_shapes_that_do_not_fit_are_named(operation, text):
    with pytest.raises(NetworkError, match="^" + re.escape(text) + "$"):
        build(operation)


def test_a_stage_can_be_read_back():
    builder = NetworkBuilder((2,))
    builder.relu(builder.shift(builder.input, [1.0, -1.0]))
    affine, activation = builder.stage(1)
    assert affine.bias.tolist() == [1.0, -1.0]
    assert activation.name == "relu"


def test_what_went_into_a_head_stays_with_its_value_through_reshapes():
    builder = NetworkBuilder((2, 3))
    value = dataclasses.replace(builder.relu(builder.input), logits=builder.input)
    assert builder.reshape(value, (6,)).logits.shape == (6,)
    assert builder.shift(value, 1.0).logits is None


def test_a_stage_of_no_units_is_none():
    network = build(lambda b, x: b.concat([b.relu(b.reshape(b.linear(x, np.zeros((0, 3))), (0,))), x]))
    assert network.stages == ()
