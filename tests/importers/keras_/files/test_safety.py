"""Files of Keras that would run something, or lead to other files: nothing of it is run or opened."""

from __future__ import annotations

import base64
import io
import json
import marshal
import os
import zipfile

import numpy as np
import pytest

pytest.importorskip("keras")
pytest.importorskip("torch", reason="the tests run Keras on torch")

import h5py
import keras
from keras import layers

from dcembed.errors import NetworkError, UnsupportedLayerError
from dcembed.importers import load_network

from ..models import build, randomize
from .writing import POINTS, layer_with, rewrite, save, small


def payload(tmp_path):
    """Code that leaves a trace, as Keras keeps the code of a Lambda."""
    mark = str(tmp_path / "exploded")
    code = compile(f"lambda x: __import__('os').mkdir({mark!r}) or x", "<file>", "eval").co_consts[0]
    return mark, base64.b64encode(marshal.dumps(code)).decode()


HOSTILE = {
    "Lambda": lambda d, code: d["config"]["layers"].insert(
        1, layer_with("Lambda", {"name": "bad", "function": {"class_name": "__lambda__", "config": {"code": code, "defaults": None, "closure": None}}})
    ),
    "lambda as activation": lambda d, code: d["config"]["layers"][1]["config"].update(
        activation={"class_name": "__lambda__", "config": {"code": code, "defaults": None, "closure": None}}
    ),
    "function of another module": lambda d, code: d["config"]["layers"][1]["config"].update(
        activation={"module": "os", "class_name": "function", "config": "mkdir", "registered_name": "mkdir"}
    ),
    "function of Keras that is no activation": lambda d, code: d["config"]["layers"][1]["config"].update(
        activation={"module": "keras.utils", "class_name": "function", "config": "get_file", "registered_name": "get_file"}
    ),
    "class of another module": lambda d, code: d["config"]["layers"].append(layer_with("Popen", {"args": ["true"]}, "subprocess")),
    "class under the name of a layer": lambda d, code: d["config"]["layers"][1].update(module="mine.layers"),
    "registered class": lambda d, code: d["config"]["layers"][1].update(registered_name="Custom>Dense"),
    "layer that loads a file": lambda d, code: d["config"]["layers"].append(layer_with("TFSMLayer", {"filepath": "/tmp"})),
    "layer of another framework": lambda d, code: d["config"]["layers"].append(layer_with("TorchModuleWrapper", {"module": {"a": "b"}})),
    "layer that reads a vocabulary": lambda d, code: d["config"]["layers"].append(layer_with("StringLookup", {"vocabulary": "/etc/passwd"})),
    "build configuration": lambda d, code: d["config"]["layers"][1].update(build_config={"input_shape": layer_with("system", {}, "os")}),
    "argument of a call": lambda d, code: d["config"]["layers"][1].update(
        inbound_nodes=[{"args": [{"class_name": "__typespec__", "config": [], "spec_name": "system", "module": "os", "registered_name": None}], "kwargs": {}}]
    ),
    "model": lambda d, code: d.update(class_name="Mine", module="mine"),
    "constant of objects": lambda d, code: d["config"]["layers"][1]["config"].update(
        units={"class_name": "__numpy__", "config": {"value": [1], "dtype": "object"}}
    ),
}  # fmt: skip
# What is left out, since no prediction depends on it: the file is read all the same.
LEFT_OUT = {
    "initializer": lambda d, code: d["config"]["layers"][1]["config"].update(
        kernel_initializer={"module": "os", "class_name": "mkdir", "config": {}, "registered_name": None}
    ),
    "optimizer": lambda d, code: d.update(compile_config={"optimizer": layer_with("system", {}, "os")}),
}


@pytest.mark.parametrize("name", [*HOSTILE, *LEFT_OUT])
def test_nothing_in_a_file_is_run(tmp_path, name):
    mark, code = payload(tmp_path)
    path = rewrite(save(small(), tmp_path / "model.keras"), lambda description: (HOSTILE | LEFT_OUT)[name](description, code))
    if name in LEFT_OUT:
        assert load_network(path).num_inputs == 3
    else:
        with pytest.raises((UnsupportedLayerError, NetworkError)):
            load_network(path)
    assert not os.path.exists(mark)


def test_the_payload_would_run(tmp_path):
    """Else the tests above would show nothing: Keras itself runs it where it is told that the file is safe."""
    mark, code = payload(tmp_path)
    path = rewrite(save(small(), tmp_path / "model.keras"), lambda description: HOSTILE["Lambda"](description, code))
    try:
        keras.models.load_model(path, safe_mode=False)(POINTS)
    except Exception:
        if not os.path.exists(mark):
            pytest.skip("this version of Keras does not run the code of a Lambda that was written like this")
    assert os.path.exists(mark)


def test_a_lambda_in_an_h5_file(tmp_path):
    mark, code = payload(tmp_path)
    path = save(small(), tmp_path / "model.h5")
    with h5py.File(path, "r+") as file:
        description = json.loads(file.attrs["model_config"])
        description["config"]["layers"].insert(1, {"class_name": "Lambda", "config": {"name": "bad", "function": [code, None, None]}})
        file.attrs["model_config"] = json.dumps(description)
    with pytest.raises(UnsupportedLayerError, match="Lambda 'bad': holds code, which is not run; open the file yourself if you trust it"):
        load_network(path)
    assert not os.path.exists(mark)


def test_a_live_lambda_is_refused_from_its_file(tmp_path):
    path = save(build((3,), [layers.Dense(2), layers.Lambda(lambda x: x + 1.0)]), tmp_path / "model.keras")
    with pytest.raises(UnsupportedLayerError, match="Lambda"):
        load_network(path)


def test_all_parts_that_are_not_accepted_are_named(tmp_path):
    model = build((4, 3), [layers.LSTM(3), layers.Dense(2)])
    path = rewrite(save(model, tmp_path / "model.keras"), lambda d: d["config"]["layers"][2].update(registered_name="Mine>Dense"))
    with pytest.raises(
        UnsupportedLayerError, match=r"has 2 parts that are not known to be safe and embeddable:\n  LSTM 'lstm.*': keeps a state.*\n  Dense"
    ):
        load_network(path)


def test_a_subclassed_model_says_what_to_do(tmp_path):
    @keras.saving.register_keras_serializable()
    class Mine(keras.Model):
        def __init__(self, **options):
            super().__init__(**options)
            self.dense = layers.Dense(2)

        def call(self, x):
            return self.dense(x)

    model = Mine()
    model(POINTS)
    path = save(randomize(model), tmp_path / "model.keras")
    with pytest.raises(UnsupportedLayerError, match=r"a model of the class Mine, whose code is not in the file.*save_network"):
        load_network(path)


def weights_of(path):
    with zipfile.ZipFile(path) as archive:
        return io.BytesIO(archive.read("model.weights.h5"))


@pytest.mark.parametrize("kind", ["external link", "soft link", "external data", "text"])
def test_weights_lie_in_the_file(tmp_path, kind):
    path = save(small(), tmp_path / "model.keras")
    (tmp_path / "other.bin").write_bytes(bytes(1000))
    stream = weights_of(path)
    with h5py.File(stream, "r+") as file:
        place = next(name for name in _names(file) if name.endswith("vars/0"))
        shape = file[place].shape
        del file[place]
        if kind == "external link":
            file[place] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/a")
        elif kind == "soft link":
            file[place] = h5py.SoftLink("/nowhere")
        elif kind == "external data":
            file.create_dataset(place, shape, dtype="f4", external=[(str(tmp_path / "other.bin"), 0, 1000)])
        else:
            file[place] = np.array([b"text"])
    with pytest.raises(NetworkError, match=r"which Keras does not write|something else than arrays of numbers"):
        load_network(rewrite(path, lambda d: None, **{"model.weights.h5": stream.getvalue()}))


def _names(file):
    found = []
    file.visit(found.append)
    return found
