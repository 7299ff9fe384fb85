"""Shapes and types of values in an HDF5 file, as their messages have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.importers.keras_.files.hdf5_bytes import Bytes

# The exponent's place and size, the mantissa's size and the bias, of the types of floats that numpy has.
_FLOATS = {2: (10, 5, 10, 15), 4: (23, 8, 23, 127), 8: (52, 11, 52, 1023)}
_FIXED, _FLOAT, _STRING, _ENUM, _VARIABLE = 0, 1, 3, 8, 9


@dataclass(frozen=True)
class ValueType:
    """The type of a value: that of numpy, or text of variable length (None), and how many bytes one takes in the file."""

    dtype: np.dtype[Any] | None
    size: int


def read_shape(file: Bytes, place: int) -> tuple[int, ...]:
    """The message of a dataspace."""
    version, axes = file.number(place, 1), file.number(place + 1, 1)
    if version not in (1, 2) or axes > 32:
        raise ValueError(f"a shape of version {version} with {axes} axes")
    start = place + (8 if version == 1 else 4)
    return tuple(file.number(start + 8 * axis) for axis in range(axes))


def read_type(file: Bytes, place: int) -> ValueType:
    """The message of a datatype: numbers in little-endian order, texts, and enumerations, which is what flags are kept as."""
    kind, bits, size = file.number(place, 1) & 15, file.number(place + 1, 3), file.number(place + 4, 4)
    if kind == _FLOAT and size in _FLOATS and not bits & 1:
        found = (file.number(place + 12, 1), file.number(place + 13, 1), file.number(place + 15, 1), file.number(place + 16, 4))
        if found == _FLOATS[size]:
            return ValueType(np.dtype(f"<f{size}"), size)
    if kind == _FIXED and size in (1, 2, 4, 8) and not bits & 1:
        return ValueType(np.dtype(f"<{'i' if bits & 8 else 'u'}{size}"), size)
    if kind == _ENUM and size == 1:
        return ValueType(np.dtype("u1"), size)
    if kind == _STRING and size:
        return ValueType(np.dtype(f"S{size}"), size)
    if kind == _VARIABLE and bits & 15 == 1:
        return ValueType(None, 16)
    raise ValueError(f"values of a type that no weights have (class {kind}, {size} bytes)")


def read_values(file: Bytes, place: int, kind: ValueType, shape: tuple[int, ...]) -> Array:
    """The values that lie at a place, one after the other."""
    count = 1
    for size in shape:
        count *= size
    data = file.take_values(place, count * kind.size)
    if kind.dtype is not None:
        return np.frombuffer(data, kind.dtype).reshape(shape).copy()
    texts = [_find_text(file, place + 16 * number) for number in range(count)]
    # Many may be the same one, and in an array all of them are as long as the longest.
    file.count(count * max((size for _, size in texts), default=0))
    return np.array([file.take(start, size) for start, size in texts], dtype=np.bytes_).reshape(shape)


def _find_text(file: Bytes, place: int) -> tuple[int, int]:
    """Where a text of variable length is, and its size. It lies in a global heap: its length, the place of the heap, and its number there."""
    length, heap, number = file.number(place, 4), file.number(place + 4), file.number(place + 12, 4)
    if length == 0:
        return 0, 0
    if heap not in file.heaps:
        file.heaps[heap] = _read_heap(file, heap)
    if number not in file.heaps[heap]:
        raise ValueError("a text is not where it should be")
    start, size = file.heaps[heap][number]
    return start, min(size, length)


def _read_heap(file: Bytes, heap: int) -> dict[int, tuple[int, int]]:
    """Where the objects of a global heap are, and their sizes, by their numbers."""
    file.expect(heap, b"GCOL\1")
    end, here = heap + file.number(heap + 8), heap + 16
    objects: dict[int, tuple[int, int]] = {}
    while here + 16 <= end:
        # Heaps that lie in one another would be walked again and again.
        file.visit(here)
        number, size = file.number(here, 2), file.number(here + 8)
        if number:
            objects.setdefault(number, (here + 16, size))
        # What is free has the number 0, and its size counts its own beginning.
        here += 16 + -(-size // 8) * 8 if number else max(size, 16)
    return objects
