"""What goes into a file: arrays by name, and a record of plain values beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dcembed.arrays import Array


@dataclass(frozen=True, eq=False)
class Packed:
    """Arrays by name, and what JSON has words for."""

    arrays: Mapping[str, Array]
    record: Mapping[str, Any] = field(default_factory=dict)

    def within(self, name: str) -> Packed:
        """The same as a part of something larger, which `part` takes out again."""
        return Packed({f"{name}.{key}": array for key, array in self.arrays.items()}, {name: dict(self.record)})

    def part(self, name: str) -> Packed:
        """A part by its name."""
        record = self.record.get(name)
        if not isinstance(record, dict):
            raise ValueError(f"there is no record of the {name}")
        inside = f"{name}."
        return Packed({key.removeprefix(inside): array for key, array in self.arrays.items() if key.startswith(inside)}, record)

    def numbers(self, name: str, kinds: str = "f", dimensions: int = 1) -> Array:
        """An array of one of these kinds (numpy's letters) and so many dimensions; ValueError for any other."""
        array = self.arrays.get(name)
        if array is None:
            raise ValueError(f"{name} is missing")
        if array.dtype.kind not in kinds or array.ndim != dimensions:
            raise ValueError(f"{name} has type {array.dtype} and shape {array.shape}")
        return array.astype(np.float64) if kinds == "f" else array

    def whole(self, name: str, below: int) -> Array:
        """Whole numbers from 0 to below `below`, which point into something."""
        array = self.numbers(name, "iu").astype(np.int64)
        if array.size and (array.min() < 0 or array.max() >= below):
            raise ValueError(f"{name} has entries outside of 0 to {below - 1}")
        return array


def joined(*parts: Packed) -> Packed:
    """All in one."""
    return Packed(
        {key: array for part in parts for key, array in part.arrays.items()},
        {key: value for part in parts for key, value in part.record.items()},
    )
