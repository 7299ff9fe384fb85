"""Messages between this process and a solver's: a kind, a few values, and arrays as they lie in memory.

A message is the length of its head in eight bytes, the head in JSON, and the bytes of each array, in order. Nothing is pickled, and
an array is copied once, by the pipe.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO

import numpy as np

from dcembed.arrays import Array

# Of the length that goes before the head.
LENGTH_BYTES = 8


@dataclass(frozen=True, eq=False)
class Message:
    """What one process tells the other.

    Parameters
    ----------
    kind
        What is meant.
    values
        Numbers, texts, truth values and None, by name.
    arrays
        Arrays of numbers, by name.
    """

    kind: str
    values: Mapping[str, object] = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)


def write(stream: IO[bytes], message: Message) -> None:
    """Send a message."""
    arrays = {name: np.ascontiguousarray(array) for name, array in message.arrays.items()}
    listed = [(name, array.dtype.str, message.arrays[name].shape) for name, array in arrays.items()]
    head = json.dumps({"kind": message.kind, "values": dict(message.values), "arrays": listed}).encode()
    _write_all(stream, len(head).to_bytes(LENGTH_BYTES, "big") + head)
    for array in arrays.values():
        if array.size:
            _write_all(stream, array.reshape(-1).view(np.uint8))
    stream.flush()


def read(stream: IO[bytes]) -> Message | None:
    """The next message; None where the other side has ended, be it in the middle of one."""
    length = _read_all(stream, LENGTH_BYTES)
    head = _read_all(stream, int.from_bytes(length.tobytes(), "big")) if length is not None else None
    if head is None:
        return None
    parts = json.loads(head.tobytes())
    arrays: dict[str, Array] = {}
    for name, dtype, shape in parts["arrays"]:
        kind = np.dtype(dtype)
        body = _read_all(stream, kind.itemsize * int(np.prod(shape, dtype=np.int64)))
        if body is None:
            return None
        arrays[name] = body.view(kind).reshape(shape)
    return Message(parts["kind"], parts["values"], arrays)


def _write_all(stream: IO[bytes], data: bytes | Array) -> None:
    rest = memoryview(data)  # type: ignore[arg-type]
    while rest.nbytes:
        rest = rest[stream.write(rest) :]


def _read_all(stream: IO[bytes], size: int) -> Array | None:
    """So many bytes; None if the stream ends before."""
    data = np.empty(size, dtype=np.uint8)
    # The types of numpy do not know that arrays are buffers.
    rest = memoryview(data)  # type: ignore[arg-type]
    while rest.nbytes:
        # Files that are opened for bytes have it; the type of all files does not.
        got = stream.readinto(rest)  # type: ignore[attr-defined]
        if not got:
            return None
        rest = rest[got:]
    return data
