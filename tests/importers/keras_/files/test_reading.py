""".keras and .h5 files: what is in them is read."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("keras")
pytest.importorskip("torch", reason="the tests run Keras on torch")

import h5py
import keras
from keras import layers

from dcembed.errors import InputError, NetworkError
from dcembed.importers import load_network

from ..models import functional
from .writing import POINTS, save, small


@pytest.mark.parametrize("suffix", [".keras", ".h5", ".hdf5", ".KERAS"])
def test_files(tmp_path, suffix):
    model = small()
    model.compile("adam", "mse")
    save(model, tmp_path / f"model{suffix.lower()}").rename(tmp_path / f"model{suffix}")
    network = load_network(str(tmp_path / f"model{suffix}"))
    np.testing.assert_allclose(network(POINTS), model.predict(POINTS, verbose=0), atol=1e-5)


def test_what_is_asked_of_a_file(tmp_path):
    model = functional(
        lambda x, y: [layers.Dense(2, name="scores")(x * y), layers.Dense(3, activation="softmax", name="shares")(x)], (3,), (3,)
    )
    path = save(model, tmp_path / "model.keras")
    network = load_network(path, inputs={"in_0": None, "in_1": [1.0, 2.0, 3.0]}, outputs="scores")
    assert (network.num_inputs, network.num_outputs) == (3, 2)
    assert load_network(path, outputs="logits").num_outputs == 3
    with pytest.raises(InputError, match="architecture does not apply"):
        load_network(path, architecture="relu")


def test_the_file_of_an_older_version(tmp_path):
    """Written as Keras 2 writes it: no modules, the shape of the input in the first layer, one axis in a list, names of weights with :0."""
    rng = np.random.default_rng(0)
    shared = {"trainable": True, "dtype": "float32"}
    dense = {"use_bias": True, "kernel_initializer": {"class_name": "GlorotUniform", "config": {"seed": None}}, **shared}
    stack = [
        ("Dense", {"name": "first", "units": 4, "activation": "relu", "batch_input_shape": [None, 3], **dense}),
        ("BatchNormalization", {"name": "norm", "axis": [1], "momentum": 0.99, "epsilon": 0.001, "center": True, "scale": True, **shared}),
        ("LeakyReLU", {"name": "leaky", "alpha": 0.3, **shared}),
        ("Dropout", {"name": "drop", "rate": 0.5, "noise_shape": None, "seed": None, **shared}),
        ("Dense", {"name": "last", "units": 2, "activation": "linear", **dense}),
    ]
    weights = {"first/kernel": (3, 4), "first/bias": (4,), "last/kernel": (4, 2), "last/bias": (2,)}
    weights = {name: rng.normal(size=shape) for name, shape in weights.items()}
    norm = {f"norm/{name}": rng.uniform(0.5, 1.5, size=4) for name in ("gamma", "beta", "moving_mean", "moving_variance")}
    with h5py.File(tmp_path / "model.h5", "w") as file:
        description = {"class_name": "Sequential", "config": {"name": "s", "layers": [{"class_name": k, "config": c} for k, c in stack]}}
        file.attrs["model_config"] = json.dumps(description).encode()
        group = file.create_group("model_weights")
        group.attrs["layer_names"] = [config["name"].encode() for _, config in stack]
        group.attrs["keras_version"], group.attrs["backend"] = b"2.4.0", b"tensorflow"
        for _, config in stack:
            own = {f"{name}:0": array for name, array in {**weights, **norm}.items() if name.startswith(config["name"] + "/")}
            part = group.create_group(config["name"])
            part.attrs["weight_names"] = np.array([name.encode() for name in own]) if own else np.zeros(0, "S1")
            for name, array in own.items():
                part[name] = array.astype(np.float32)
    hidden = np.maximum(POINTS @ weights["first/kernel"] + weights["first/bias"], 0.0)
    scaled = (hidden - norm["norm/moving_mean"]) / np.sqrt(norm["norm/moving_variance"] + 1e-3) * norm["norm/gamma"] + norm["norm/beta"]
    expected = np.where(scaled > 0, scaled, 0.3 * scaled) @ weights["last/kernel"] + weights["last/bias"]
    np.testing.assert_allclose(load_network(tmp_path / "model.h5")(POINTS), expected, atol=1e-5)


def test_a_model_without_weights(tmp_path):
    path = save(keras.Sequential([layers.Dense(2)]), tmp_path / "model.keras")
    with pytest.raises(NetworkError, match=r"was saved before it had weights|holds no"):
        load_network(path)


def test_a_backend_that_is_installed_is_taken(tmp_path):
    """Keras takes TensorFlow where nothing is said, also where it is not installed."""
    save(small(), tmp_path / "model.keras")
    code = (
        "import os, sys, dcembed\n"
        "print(dcembed.load_network(sys.argv[1]).num_inputs, 'KERAS_BACKEND' in os.environ, sys.modules['keras'].config.backend())"
    )
    settings = {name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"} | {"KERAS_HOME": str(tmp_path)}
    out = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "model.keras")], capture_output=True, text=True, check=False, env=settings
    )
    assert out.stdout.split() == ["3", "False", "torch"], out.stderr
