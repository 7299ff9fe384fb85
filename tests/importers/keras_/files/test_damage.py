"""Broken files of Keras."""

from __future__ import annotations

import zipfile

import pytest

pytest.importorskip("keras")
pytest.importorskip("torch", reason="the tests run Keras on torch")

from dcembed.errors import NetworkError, UnsupportedLayerError
from dcembed.importers import load_network

from .writing import rewrite, save, small


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
