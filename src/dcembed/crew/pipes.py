"""Objects through a pipe between this process and one that it has started: eight bytes of length, then the object.

Both ends are ours and run the same code. Files and other people's data never come this way.
"""

from __future__ import annotations

import pickle
from typing import IO, Any

LENGTH_BYTES = 8


def pack(value: object) -> bytes:
    """An object as bytes."""
    return pickle.dumps(value, protocol=5)


def unpack(data: bytes) -> Any:
    """The object of such bytes."""
    return pickle.loads(data)


def send(stream: IO[bytes], data: bytes) -> None:
    """Write a packed object."""
    for part in (len(data).to_bytes(LENGTH_BYTES, "big"), data):
        rest = memoryview(part)
        while rest.nbytes:
            rest = rest[stream.write(rest) :]
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """The next packed object; None where the other side has ended, be it in the middle of one."""
    length = _take(stream, LENGTH_BYTES)
    return None if length is None else _take(stream, int.from_bytes(length, "big"))


def _take(stream: IO[bytes], size: int) -> bytes | None:
    data = bytearray(size)
    rest = memoryview(data)
    while rest.nbytes:
        # Files that are opened for bytes have it; the type of all files does not.
        got = stream.readinto(rest)  # type: ignore[attr-defined]
        if not got:
            return None
        rest = rest[got:]
    return bytes(data)
