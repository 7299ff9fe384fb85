"""Small Keras files, and files whose description is changed."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest

pytest.importorskip("keras")
pytest.importorskip("torch", reason="the tests run Keras on torch")

from keras import layers

from ..models import build

POINTS = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)


def small():
    return build((3,), [layers.Dense(4, activation="tanh", kernel_regularizer="l2"), layers.BatchNormalization(), layers.Dense(2)])


def save(model, path):
    model.save(path)
    return path


def rewrite(path, change, **entries):
    """The file with a changed description, and with other entries."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    description = json.loads(content["config.json"])
    changed = change(description)
    content["config.json"] = json.dumps(description if changed is None else changed).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**content, **entries}.items():
            archive.writestr(name, data)
    return path


def layer_with(kind, config, module="keras.layers", registered=None):
    return {"module": module, "class_name": kind, "config": config, "registered_name": registered, "name": "bad", "inbound_nodes": []}
