"""HDF5 files as Keras writes them, read without HDF5's library, beside it."""

from __future__ import annotations

import io
import struct
import tracemalloc

import numpy as np
import pytest

from dcembed.importers.keras_.files.hdf5_bytes import Bytes
from dcembed.importers.keras_.files.hdf5_files import arrays_of, read_hdf5
from dcembed.importers.keras_.files.hdf5_types import ValueType, read_values

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


def texts_in_heap(objects, references):
    """A heap of texts by their numbers, and references to them."""
    entries = b"".join(
        struct.pack("<HHIQ", number, 1, 0, len(text)) + text.ljust(-(-len(text) // 8) * 8, b"\0") for number, text in objects
    )
    heap = b"GCOL\1\0\0\0" + struct.pack("<Q", 16 + len(entries)) + entries
    return Bytes(heap + b"".join(struct.pack("<IQI", 10**9, 0, number) for number in references)), len(heap)


REPEATED = {
    "one text many times": ([(1, b"x" * 40_000)], [1] * 2_000),
    "many as long as the longest": ([(1, b"x" * 40_000), (2, b"y")], [1] + [2] * 2_000),
}


@pytest.mark.parametrize("name", REPEATED)
def test_texts_take_no_more_than_the_file(name):
    objects, references = REPEATED[name]
    file, place = texts_in_heap(objects, references)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="its arrays have more than"):
            read_values(file, place, ValueType(None, 16), (len(references),))
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_a_heap_of_texts_is_walked_once():
    """Each step visits a place, and a place is visited once; from the front for every text it would be millions of steps."""
    numbers = range(1, 5_000)
    file, place = texts_in_heap([(number, b"%d" % number) for number in numbers], reversed(numbers))
    texts = read_values(file, place, ValueType(None, 16), (len(numbers),))
    assert [int(text) for text in texts] == list(reversed(numbers))
    assert len(file.visited) == len(numbers)


def test_heaps_that_lie_in_one_another_are_refused():
    file, place = texts_in_heap([(1, b"x" * 16), (2, b"y" * 16)], [1])
    inner = bytearray(file.content)
    inner[32:48] = b"GCOL\1\0\0\0" + struct.pack("<Q", 16 + 32)
    references = struct.pack("<IQI", 16, 0, 1) + struct.pack("<IQI", 16, 32, 2)
    with pytest.raises(ValueError, match="in a circle"):
        read_values(Bytes(bytes(inner[:place]) + references), place, ValueType(None, 16), (2,))


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
