"""Bytes of an HDF5 file, read by place: nothing is taken from outside of the file, and what is walked is walked once."""

from __future__ import annotations

from dataclasses import dataclass, field

# Objects and nodes that a file may have; a Keras model of a thousand layers has some ten thousand.
MOST_PARTS = 200_000
# Times its size that the values of a file may take together.
MOST_TIMES = 2


@dataclass
class Bytes:
    """The content of a file, the places that were visited, how many bytes were taken as values, and what is where in the heaps of texts."""

    content: bytes
    visited: set[int] = field(default_factory=set)
    taken: int = 0
    heaps: dict[int, dict[int, tuple[int, int]]] = field(default_factory=dict)

    def take(self, place: int, size: int) -> bytes:
        """So many bytes from a place on."""
        if place < 0 or size < 0 or place + size > len(self.content):
            raise ValueError(f"{size} bytes at {place} lie outside of its {len(self.content)}")
        return self.content[place : place + size]

    def take_values(self, place: int, size: int) -> bytes:
        """The same for values; many arrays may lie in the same place, and would be more than the file together."""
        self.count(size)
        return self.take(place, size)

    def count(self, size: int) -> None:
        """Raise ValueError if values of so many bytes more are too many for the file."""
        self.taken += size
        if self.taken > MOST_TIMES * len(self.content):
            raise ValueError(f"its arrays have more than {self.taken} bytes together, in a file of {len(self.content)}")

    def number(self, place: int, size: int = 8) -> int:
        """A whole number that is not negative."""
        return int.from_bytes(self.take(place, size), "little")

    def expect(self, place: int, sign: bytes) -> None:
        """Raise ValueError unless these bytes are at a place."""
        if self.take(place, len(sign)) != sign:
            raise ValueError(f"{sign.decode('latin-1')} is missing at {place}")

    def text(self, place: int, end: int) -> str:
        """What is written from a place on, up to a zero."""
        part = self.take(place, end - place)
        return part.partition(b"\0")[0].decode("utf-8")

    def visit(self, place: int) -> None:
        """Raise ValueError where something is walked a second time, in a circle."""
        if place in self.visited or len(self.visited) > MOST_PARTS:
            raise ValueError("its parts refer to one another in a circle, or are too many")
        self.visited.add(place)
