"""ONNX files: damaged ones, weights in other files, packed ones."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from dcembed.errors import InputError, NetworkError  # noqa: E402
from dcembed.importers import load_network  # noqa: E402
from dcembed.importers.onnx_ import files as onnx_files  # noqa: E402

from ..models import build_onnx  # noqa: E402

DATA = Path(os.environ.get("DCEMBED_DATA", Path(__file__).parents[4] / "shared" / "data"))
RNG = np.random.default_rng(0)


def test_file(tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(build_onnx(), path)
    points = RNG.normal(size=(5, 2))
    np.testing.assert_array_equal(load_network(path)(points), load_network(build_onnx())(points))
    np.testing.assert_array_equal(load_network(str(path))(points), load_network(path)(points))


@pytest.mark.parametrize("content", [b"", b"not an onnx file", b"\x08\x07\x12\x04abcd\xff\xff", b"\x00" * 50])
def test_corrupt_file(tmp_path, content):
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(NetworkError, match=r"model\.onnx is not"):
        load_network(path)


def test_truncated_file(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(build_onnx().SerializeToString()[:-40])
    with pytest.raises(NetworkError):
        load_network(path)


def save_external(folder, location):
    """A model whose weights are in another file of its folder, with the location rewritten."""
    path = folder / "model.onnx"
    onnx.save(build_onnx(), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = location
    path.write_bytes(model.SerializeToString())
    return path


def test_external_data_inside(tmp_path):
    points = RNG.normal(size=(5, 2))
    network = load_network(save_external(tmp_path, "weights.bin"))
    np.testing.assert_array_equal(network(points), load_network(build_onnx())(points))


def test_external_data_missing(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        load_network(save_external(tmp_path, "elsewhere.bin"))


@pytest.mark.parametrize("location", ["../secret.bin", "sub/../../secret.bin", "ABSOLUTE", "link.bin", "folder/secret.bin", ""])
def test_external_data_outside_is_never_read(tmp_path, monkeypatch, location):
    folder = tmp_path / "model"
    folder.mkdir()
    secret = tmp_path / "secret.bin"
    secret.write_bytes(b"\x00" * 4096)
    (folder / "link.bin").symlink_to(secret)
    (folder / "folder").symlink_to(tmp_path, target_is_directory=True)
    path = save_external(folder, str(secret) if location == "ABSOLUTE" else location)

    def refuse(*args, **kwargs):
        raise AssertionError("external data was read")

    monkeypatch.setattr(onnx_files.external_data_helper, "load_external_data_for_tensor", refuse)
    with pytest.raises(InputError, match="outside the folder of the model; it was not opened"):
        load_network(path)


def test_proto_with_external_data(tmp_path):
    path = save_external(tmp_path, "weights.bin")
    with pytest.raises(InputError, match=r"Pass the path of the \.onnx file"):
        load_network(onnx.load(path, load_external_data=False))


def test_published_network():
    path = DATA / "neur2sp_pooling_nnp.onnx"
    if not path.exists():
        pytest.skip(f"{path} is not here; set DCEMBED_DATA to the folder with the data files")
    network = load_network(path)
    assert network.num_inputs == 19
    assert network.widths == (64,)
    points = RNG.uniform(size=(20, 19))
    np.testing.assert_allclose(network(points), load_network(path.with_suffix(".npz"), architecture="relu")(points), rtol=1e-9)


def test_model_is_untouched():
    model = build_onnx()
    before = model.SerializeToString()
    load_network(model)
    assert model.SerializeToString() == before


def test_gzipped_file(tmp_path):
    path = tmp_path / "model.onnx.gz"
    path.write_bytes(gzip.compress(build_onnx().SerializeToString()))
    points = RNG.normal(size=(5, 2))
    np.testing.assert_array_equal(load_network(path)(points), load_network(build_onnx())(points))
    np.testing.assert_array_equal(load_network(str(path).replace(".gz", ".gz"))(points), load_network(build_onnx())(points))


def test_damaged_gzipped_file(tmp_path):
    content = gzip.compress(build_onnx().SerializeToString())
    for number, broken in enumerate((content[:-20], b"not gzip", content[:30] + b"\xff" * 9 + content[39:], gzip.compress(b"no model"))):
        path = tmp_path / f"{number}.onnx.gz"
        path.write_bytes(broken)
        with pytest.raises(NetworkError, match=rf"{number}\.onnx\.gz"):
            load_network(path)


def test_other_gzipped_files(tmp_path):
    path = tmp_path / "model.npz.gz"
    path.write_bytes(gzip.compress(b""))
    with pytest.raises(ValueError, match=r"suffix '\.npz\.gz' are not read"):
        load_network(path)
