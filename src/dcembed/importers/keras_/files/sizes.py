"""Sizes in the description of a model: shapes are compared with what a file of this size may ask for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dcembed.network.growth import UNLIMITED, Growth, growth_of

# Numbers that a convolution may be made of as a sparse matrix, some hundreds of megabytes, whatever the size of the file.
MOST_IN_CONVOLUTION = 20_000_000


@dataclass(frozen=True)
class Limits:
    """How large the values of a model may become, and the matrices that make them."""

    values: Growth = UNLIMITED
    matrices: Growth = UNLIMITED


def limits_of(num_numbers: int) -> Limits:
    """What is in proportion to a file that holds so many numbers. The weights of a convolution stand at every place of its result."""
    growth = growth_of(num_numbers)
    return Limits(growth, Growth(max(MOST_IN_CONVOLUTION, growth.most or 0)))


# Layers and operations that may make values larger than those that weights are for.
_ENLARGING = ("UpSampling", "ZeroPadding", "RepeatVector", "Resizing", "Transpose", "Pad", "Tile", "Repeat", "BroadcastTo", "Resize")


def check_sizes(value: Any, growth: Growth) -> None:
    """Raise NetworkError if a shape in a part of a description is too large."""
    for shape in _shapes(value):
        sizes = [size for size in shape if size is not None]
        growth.check(math.prod(sizes), f"A value of shape {shape}")


def _shapes(value: Any) -> Iterator[list[Any]]:
    """All lists of sizes; None is a free one."""
    if isinstance(value, dict):
        for part in value.values():
            yield from _shapes(part)
    elif isinstance(value, list):
        if all(size is None or isinstance(size, int) for size in value):
            yield value
        else:
            for part in value:
                yield from _shapes(part)


def enlarges(description: Any) -> bool:
    """Whether something in a model may make values larger than those that weights are for."""
    return any(word in name for name in _class_names(description) for word in _ENLARGING)


def _class_names(value: Any) -> Iterator[str]:
    parts = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    if isinstance(value, dict) and isinstance(value.get("class_name"), str):
        yield value["class_name"]
    for part in parts:
        yield from _class_names(part)
