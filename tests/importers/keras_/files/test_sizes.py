"""Files of Keras cost no more than they hold."""

from __future__ import annotations

import io

import pytest

pytest.importorskip("keras")
pytest.importorskip("torch", reason="the tests run Keras on torch")

import h5py
from tests.attack.mutants import MOST_BYTES, mutate, peak_memory

from dcembed.cli import main
from dcembed.errors import NetworkError
from dcembed.importers import load_network

from .writing import layer_with, rewrite, save, small


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
        load_network(rewrite(path, lambda d: None, **{"model.weights.h5": bytes(60_000_000)}))
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
