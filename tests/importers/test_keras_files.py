""".keras and .h5 files: what is in them is read, and nothing of it is run."""

from __future__ import annotations

import base64
import io
import json
import marshal
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest

pytest.importorskip("keras")
pytest.importorskip("torch", reason="the tests run Keras on torch")

from .keras_models import build, functional, randomize  # noqa: I001
import h5py
import keras
from keras import layers

from dcembed.cli import main
from dcembed.errors import InputError, NetworkError, UnsupportedLayerError
from dcembed.importers import load_network
from tests.attack.mutants import MOST_BYTES, mutate, peak_memory

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


# Files that would run something.


def payload(tmp_path):
    """Code that leaves a trace, as Keras keeps the code of a Lambda."""
    mark = str(tmp_path / "exploded")
    code = compile(f"lambda x: __import__('os').mkdir({mark!r}) or x", "<file>", "eval").co_consts[0]
    return mark, base64.b64encode(marshal.dumps(code)).decode()


def layer_with(kind, config, module="keras.layers", registered=None):
    return {"module": module, "class_name": kind, "config": config, "registered_name": registered, "name": "bad", "inbound_nodes": []}


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
    "initializer": lambda d, code: d["config"]["layers"][1]["config"].update(
        kernel_initializer={"module": "os", "class_name": "mkdir", "config": {}, "registered_name": None}
    ),
    "optimizer": lambda d, code: d.update(compile_config={"optimizer": layer_with("system", {}, "os")}),
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
LEFT_OUT = ("initializer", "optimizer")
assert set(LEFT_OUT) <= set(HOSTILE)


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_in_a_file_is_run(tmp_path, name):
    mark, code = payload(tmp_path)
    path = rewrite(save(small(), tmp_path / "model.keras"), lambda description: HOSTILE[name](description, code))
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


# Weights that lead elsewhere.


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


# Sizes.


def _grow(key, number, at=1):
    return lambda d: d["config"]["layers"][at]["config"].update({key: number})


def _without_initializers(d):
    config = d["config"]["layers"][1]["config"]
    for key in [key for key in config if key.endswith("initializer")]:
        del config[key]
    config["units"] = 10**9


LARGE = {
    "units": (_grow("units", 10**9), "and there are none such in it"),
    "units without initializers": (_without_initializers, "and there are none such in it"),
    "input": (_grow("batch_shape", [None, 10**6, 10**6], at=0), "would take 1,000,000,000,000 numbers"),
    "adapter": (_grow("lora_rank", 10**9), "lora_rank is set"),
    "repeated": (
        lambda d: d["config"]["layers"].append(layer_with("RepeatVector", {"name": "bad", "n": 10**9})),
        "would take 2,000,000,000 numbers",
    ),
    "padded": (
        lambda d: d["config"]["layers"].extend(
            [
                layer_with("Reshape", {"name": "shape", "target_shape": [2, 1]}),
                layer_with("ZeroPadding1D", {"name": "bad", "padding": [10**9, 0]}),
            ]
        ),
        "would take 1,000,000,002 numbers",
    ),
    "pooled": (
        lambda d: d["config"]["layers"].extend(
            [
                layer_with("Reshape", {"name": "shape", "target_shape": [2, 1]}),
                layer_with("MaxPooling1D", {"name": "bad", "pool_size": 10**9, "strides": 1, "padding": "same", "data_format": "channels_last"}),
            ]
        ),
        "A pooling over windows",
    ),
    "normalized": (
        lambda d: d["config"]["layers"].extend(
            [
                layer_with("Reshape", {"name": "shape", "target_shape": [2, 1]}),
                layer_with("ZeroPadding1D", {"name": "pad", "padding": [10**9, 0]}),
                layer_with("Normalization", {"name": "bad", "axis": [1]}),
            ]
        ),
        "does not say what shape it is built for",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE)
def test_a_file_costs_no_more_than_it_holds(tmp_path, monkeypatch, capfd, name):
    monkeypatch.chdir(tmp_path)
    change, message = LARGE[name]
    rewrite(save(small(), tmp_path / "model.keras"), change)
    before = peak_memory(reset=True)
    assert main(["info", "model.keras"]) == 2
    assert peak_memory() - before < MOST_BYTES
    said = capfd.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_bombs(tmp_path):
    path = save(small(), tmp_path / "model.keras")
    with pytest.raises(NetworkError, match="which no trained weights do"):
        load_network(rewrite(path, lambda d: None, **{"model.weights.h5": bytes(200_000_000)}))
    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        # Nothing of it is written: what is not there is zero.
        file.create_dataset("layers/dense/vars/0", (10**5, 10**5), dtype="f4", chunks=(1000, 1000))
    with pytest.raises(NetworkError, match="values in several pieces, which Keras does not write"):
        load_network(rewrite(path, lambda d: None, **{"model.weights.h5": stream.getvalue()}))


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_mutants(tmp_path, monkeypatch, capfd, suffix):
    """Broken files of both kinds are refused in one line, within the limits of the others."""
    monkeypatch.chdir(tmp_path)
    content = save(small(), tmp_path / f"good{suffix}").read_bytes()
    codes = set()
    for seed in range(60):
        (tmp_path / f"bad{suffix}").write_bytes(mutate(content, seed, f"bad{suffix}"))
        capfd.readouterr()
        before = peak_memory(reset=True)
        codes.add(code := main(["info", f"bad{suffix}"]))
        assert peak_memory() - before < MOST_BYTES, seed
        assert capfd.readouterr().err.count("\n") == (code == 2), seed
    assert codes == {0, 2}


# Broken files.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.clear(), "its description is not that of a Keras model"),
        (lambda d: [1, 2], "its description is not that of a Keras model"),
        (lambda d: d.update(config=3), "its description is not that of a Keras model"),
        (lambda d: d["config"]["layers"][1].update(config=[]), "it has no description"),
        (lambda d: d["config"]["layers"][1].update(class_name=["Dense"]), "it is not a layer or operation"),
        (lambda d: d["config"]["layers"][1]["config"].update(dtype="text"), "dtype text"),
        (lambda d: d["config"]["layers"][1]["config"].update(units="many"), "cannot be read"),
        (lambda d: d["config"]["layers"][1]["config"].update(units=5), "and there are none such in it"),
        (lambda d: d["config"].__delitem__("layers"), "cannot be read"),
    ],
)
def test_broken_descriptions(tmp_path, change, message):
    path = rewrite(save(small(), tmp_path / "model.keras"), change)
    with pytest.raises((NetworkError, UnsupportedLayerError), match=message):
        load_network(path)


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"\x89HDF\r\n\x1a\n broken", b"no file at all"])
def test_corrupt_files(tmp_path, suffix, content):
    (tmp_path / f"model{suffix}").write_bytes(content)
    with pytest.raises(NetworkError, match=r"model\S+ cannot be read"):
        load_network(tmp_path / f"model{suffix}")


def test_archives_without_a_model(tmp_path):
    with zipfile.ZipFile(tmp_path / "model.keras", "w") as archive:
        archive.writestr("config.json", "{}")
    with pytest.raises(NetworkError, match=r"is not a Keras file: it holds no model\.weights\.h5"):
        load_network(tmp_path / "model.keras")
    small().save_weights(tmp_path / "model.weights.h5")
    with pytest.raises(NetworkError, match=r"holds weights without a description of the model\. Build the model, call model\.load_weights"):
        load_network(tmp_path / "model.weights.h5")


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
