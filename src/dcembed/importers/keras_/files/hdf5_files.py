"""Read the arrays and attributes of an HDF5 file as Keras writes it, without HDF5's own library.

The library trusts a file: of a damaged one it may ask for all memory there is, or not come back. What Keras writes is plain: groups with
symbol tables, arrays in one piece, attributes of numbers and texts. Files that use anything else (links, other files, compression, the
newer layout) are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from dcembed.arrays import Array
from dcembed.importers.keras_.files.hdf5_bytes import Bytes
from dcembed.importers.keras_.files.hdf5_types import read_shape, read_type, read_values

_SIGN = b"\x89HDF\r\n\x1a\n"
_SHAPE, _TYPE, _OUTSIDE, _LAYOUT, _FILTERS, _ATTRIBUTE, _MORE, _TABLE = 0x01, 0x03, 0x07, 0x08, 0x0B, 0x0C, 0x10, 0x11
# Messages that say nothing about what there is to read: nothing, fill values, comments and times.
_IGNORED = (0x00, 0x04, 0x05, 0x0D, 0x0E, 0x12)
_NOWHERE = 2**64 - 1


@dataclass(frozen=True)
class Node:
    """A group or an array: its attributes, and what is in it."""

    attributes: dict[str, Array] = field(default_factory=dict)
    members: dict[str, Node] = field(default_factory=dict)
    values: Array | None = None


def read_hdf5(content: bytes) -> Node:
    """All groups, arrays and attributes; ValueError where the file is damaged or written in another way."""
    file = Bytes(content)
    file.expect(0, _SIGN)
    if file.number(8, 1) != 0 or (file.number(13, 1), file.number(14, 1)) != (8, 8):
        raise ValueError("it is written in a newer layout of HDF5 than Keras writes")
    return _read_node(file, file.number(64))


def arrays_of(node: Node) -> Iterator[Array]:
    """All arrays in a file."""
    if node.values is not None:
        yield node.values
    for member in node.members.values():
        yield from arrays_of(member)


def _read_node(file: Bytes, place: int) -> Node:
    file.visit(place)
    attributes: dict[str, Array] = {}
    found: dict[int, int] = {}
    for kind, start, size in _messages(file, place):
        if kind == _ATTRIBUTE:
            name, values = _read_attribute(file, start, size)
            attributes[name] = values
        elif kind in (_SHAPE, _TYPE, _LAYOUT, _TABLE):
            found[kind] = start
        elif kind not in _IGNORED:
            what = {_OUTSIDE: "values in another file", _FILTERS: "compressed values"}.get(kind, f"a message of type {kind}")
            raise ValueError(f"it has {what}, which Keras does not write")
    if _TABLE in found:
        table = found[_TABLE]
        return Node(
            attributes, {name: _read_node(file, where) for name, where in _members(file, file.number(table), file.number(table + 8))}
        )
    return Node(attributes, values=_read_array(file, found))


def _messages(file: Bytes, place: int) -> Iterator[tuple[int, int, int]]:
    """Type, place and size of the messages of an object; they may go on elsewhere in the file."""
    if file.number(place, 1) != 1:
        raise ValueError(f"an object of another kind at {place}")
    left, blocks = file.number(place + 2, 2), [(place + 16, file.number(place + 8, 4))]
    while blocks:
        here, size = blocks.pop(0)
        end = here + size
        while here + 8 <= end and left > 0:
            kind, length = file.number(here, 2), file.number(here + 2, 2)
            file.take(here + 8, length)
            left -= 1
            if kind == _MORE:
                file.visit(file.number(here + 8))
                blocks.append((file.number(here + 8), file.number(here + 16)))
            else:
                yield kind, here + 8, length
            here += 8 + length


def _read_array(file: Bytes, found: dict[int, int]) -> Array:
    if not {_SHAPE, _TYPE, _LAYOUT} <= set(found):
        raise ValueError("an object is neither a group nor an array")
    shape, kind, layout = read_shape(file, found[_SHAPE]), read_type(file, found[_TYPE]), found[_LAYOUT]
    version, order = file.number(layout, 1), file.number(layout + 1, 1)
    if version != 3 or order > 1:
        raise ValueError("it has values in several pieces, which Keras does not write")
    start = layout + 4 if order == 0 else file.number(layout + 2)
    # An array of nothing lies nowhere.
    return read_values(file, 0 if start == _NOWHERE and 0 in shape else start, kind, shape)


def _read_attribute(file: Bytes, place: int, size: int) -> tuple[str, Array]:
    version, name, kind, shape = (file.number(place + at, length) for at, length in ((0, 1), (2, 2), (4, 2), (6, 2)))
    if version not in (1, 3):
        raise ValueError(f"an attribute of version {version}")
    # Version 1 fills each part up to a multiple of eight bytes; version 3 has a byte for the alphabet instead.
    start = place + (8 if version == 1 else 9)
    sizes = [-(-part // 8) * 8 if version == 1 else part for part in (name, kind, shape)]
    places = [start, start + sizes[0], start + sizes[0] + sizes[1], start + sum(sizes)]
    if places[3] > place + size:
        raise ValueError("an attribute is longer than its message")
    return file.text(places[0], places[1]), read_values(file, places[3], read_type(file, places[1]), read_shape(file, places[2]))


def _members(file: Bytes, tree: int, heap: int) -> Iterator[tuple[str, int]]:
    """Names and places of what is in a group: a tree of tables, with the names in a heap."""
    file.expect(heap, b"HEAP\0")
    names, end = file.number(heap + 24), file.number(heap + 24) + file.number(heap + 8)
    for table in _tables(file, tree):
        file.expect(table, b"SNOD\1")
        for number in range(file.number(table + 6, 2)):
            entry = table + 8 + 40 * number
            if file.number(entry + 16, 4) > 1:
                raise ValueError("it has links, which Keras does not write")
            yield file.text(names + file.number(entry), end), file.number(entry + 8)


def _tables(file: Bytes, place: int) -> Iterator[int]:
    file.visit(place)
    file.expect(place, b"TREE\0")
    level, count = file.number(place + 5, 1), file.number(place + 6, 2)
    for number in range(count):
        child = file.number(place + 32 + 16 * number)
        if level:
            yield from _tables(file, child)
        else:
            file.visit(child)
            yield child
