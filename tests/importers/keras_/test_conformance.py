"""Every kind of Keras layer and operation against Keras itself: live, from a file, and through save_network."""

from __future__ import annotations

import functools

import numpy as np
import pytest

pytest.importorskip("keras")
pytest.importorskip("torch", reason="the tests run Keras on torch")

import keras

from dcembed.importers import load_network, save_network
from dcembed.importers.keras_.functions.table import OPERATIONS
from dcembed.importers.keras_.layers import table as keras_layers

from . import constructions


@pytest.fixture
def in_double(monkeypatch):
    """Keras in double precision: with other backends than TensorFlow it computes in single precision where double is asked for."""
    from keras.src.backend.common import dtypes

    monkeypatch.setitem(dtypes.BIT64_TO_BIT32_DTYPE, "float64", "float64")
    before = keras.config.floatx(), keras.config.dtype_policy()
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    yield
    keras.config.set_floatx(before[0])
    keras.config.set_dtype_policy(before[1])


def compare(network, model, tolerance):
    shapes = [tensor.shape[1:] for tensor in model.inputs]
    points = [2.0 * np.random.default_rng(1).normal(size=(7, *shape)).astype(keras.config.floatx()) for shape in shapes]
    results = keras.tree.flatten(model.predict(points if len(points) > 1 else points[0], verbose=0))
    expected = np.hstack([np.asarray(result).reshape(7, -1) for result in results])
    np.testing.assert_allclose(network(np.hstack([part.reshape(7, -1) for part in points])), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", [name for name in constructions.NAMES if name not in constructions.SINGLE_ONLY])
def test_live_in_double_precision(name, in_double):
    model = constructions.build_named(name)
    compare(load_network(model), model, 1e-9)


@functools.cache
def in_single(name):
    """A model in single precision."""
    return constructions.build_named(name)


@pytest.mark.parametrize("name", constructions.NAMES)
def test_from_a_file_and_saved_again(name, tmp_path):
    model = in_single(name)
    if name in constructions.LIVE_ONLY:
        network = load_network(model)
    else:
        model.save(tmp_path / "model.keras")
        network = load_network(tmp_path / "model.keras")
    compare(network, model, 1e-4)
    save_network(network, tmp_path / "network.npz")
    points = np.random.default_rng(0).normal(size=(5, network.num_inputs))
    np.testing.assert_array_equal(load_network(tmp_path / "network.npz")(points), network(points))


def test_exceptions_are_in_the_tables():
    assert {*constructions.LIVE_ONLY, *constructions.SINGLE_ONLY} <= set(constructions.NAMES)


def kinds_of(name):
    return {type(layer) for layer in in_single(name)._flatten_layers()}


def test_every_layer_is_in_the_tables():
    found = set().union(*(kinds_of(name) for name in constructions.NAMES))
    augmentations = {kind for kind in keras_layers.LAYERS if kind.__name__.startswith("Random")}
    known = {*keras_layers.LAYERS, *keras_layers.FOLLOWED} - augmentations
    left = {kind.__name__ for kind in known - found}
    assert left == {"Embedding", "AugMix", "CutMix", "MixUp", "RandAugment"}


def test_operations_are_those_of_keras():
    """A name that Keras does not have would never be found out."""
    import importlib

    for name in OPERATIONS:
        module, _, kind = name.rpartition(".")
        assert hasattr(importlib.import_module(module), kind), name
