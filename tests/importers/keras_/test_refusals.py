"""What Keras models have that cannot be embedded, with the reasons, and models that are broken."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("keras")
pytest.importorskip("torch", reason="the tests run Keras on torch")

import keras
from keras import layers, ops

from dcembed.errors import ImportMismatchError, InputError, NetworkError, UnsupportedLayerError
from dcembed.importers import load_network, operations
from dcembed.importers.keras_.layers import activations as keras_activations

from ..models import build_keras
from .models import chain


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
