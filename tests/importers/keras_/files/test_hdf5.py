"""HDF5 files as Keras writes them, read without HDF5's library, beside it."""

from __future__ import annotations

import io

import numpy as np
import pytest

from dcembed.importers.keras_.files.hdf5_files import arrays_of, read_hdf5

h5py = pytest.importorskip("h5py")


def written(fill, **options):
    stream = io.BytesIO()
    with h5py.File(stream, "w", **options) as file:
        fill(file)
    return stream.getvalue()


def assert_same(node, item):
    for name, value in item.attrs.items():
        expected = np.asarray(value if not isinstance(value, str) else value.encode())
        texts = expected.dtype.kind in "OS"
        np.testing.assert_array_equal(node.attributes[name], expected.astype(np.bytes_) if texts else expected)
    assert set(node.attributes) == set(item.attrs)
    if isinstance(item, h5py.Dataset):
        np.testing.assert_array_equal(node.values, item[()])
        assert node.values.shape == item.shape
    else:
        assert set(node.members) == set(item)
        for name in item:
            assert_same(node.members[name], item[name])


def everything(file):
    rng = np.random.default_rng(0)
    for kind in ("f2", "f4", "f8", "i1", "i4", "i8", "u2", "?"):
        file[f"kinds/{kind.replace('?', 'flag')}"] = rng.integers(0, 2, size=(3, 2)).astype(kind)
    file["one number"], file["nothing"] = 3.5, np.zeros((0, 4))
    # So many that a group has a tree of tables.
    for number in range(300):
        file[f"layers/layer_{number}/vars/0"] = rng.normal(size=(2, 3))
    file.attrs["text"], file.attrs["bytes"], file.attrs["long"] = "größe", b"abc", "x" * 70_000
    file.attrs["names"], file.attrs["numbers"] = [b"one", b"three"], np.arange(5.0)
    file["layers"].attrs["texts"] = np.array(["a", "bc"], dtype=h5py.string_dtype())


def test_the_same_as_the_library():
    content = written(everything)
    node = read_hdf5(content)
    assert_same(node, h5py.File(io.BytesIO(content), "r"))
    assert sum(1 for _ in arrays_of(node)) == 310


OTHERS = {
    "chunks": (lambda file: file.create_dataset("a", (4, 4), chunks=(2, 2)), "values in several pieces"),
    "compression": (lambda file: file.create_dataset("a", data=np.ones((50, 50)), compression="gzip"), "compressed values|several pieces"),
    "soft link": (lambda file: file.__setitem__("a", h5py.SoftLink("/b")), "links"),
    "external link": (lambda file: file.__setitem__("a", h5py.ExternalLink("other.h5", "/b")), "Keras does not write"),
    "same object twice": (lambda file: file.__setitem__("b", file.create_dataset("a", data=[1.0])), "in a circle"),
    "circle": (lambda file: file.create_group("a").__setitem__("b", file), "in a circle"),
    "pairs": (lambda file: file.create_dataset("a", data=np.zeros(2, dtype=[("x", "f4"), ("y", "f4")])), "a type that no weights have"),
    "complex numbers": (lambda file: file.create_dataset("a", data=np.zeros(2, dtype=complex)), "a type that no weights have"),
    "another byte order": (lambda file: file.create_dataset("a", data=np.zeros(2, dtype=">f4")), "a type that no weights have"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_ways_to_write_are_refused(name):
    fill, message = OTHERS[name]
    with pytest.raises(ValueError, match=message):
        read_hdf5(written(fill))


def test_the_newer_layout_is_refused():
    with pytest.raises(ValueError, match="newer layout"):
        read_hdf5(written(lambda file: file.__setitem__("a", 1.0), libver="latest"))


def test_damages_are_value_errors():
    """Every byte of the beginning, where the structure is, and cuts of all lengths."""
    content = written(lambda file: (file.__setitem__("a/b", np.arange(4.0)), file.attrs.__setitem__("n", "text")))
    for place in range(min(len(content), 4000)):
        for value in (0, 1, 255):
            broken = bytearray(content)
            broken[place] = value
            _read(bytes(broken))
    for length in range(0, len(content), 7):
        _read(content[:length])


def _read(content):
    try:
        return read_hdf5(content)
    except (ValueError, UnicodeDecodeError):
        return None
