"""The columns between two steps of a model: their values, and which of them are still what the user gave.

A column that no step has changed yet may be encoded as a category; a constant may be a text, or missing until an imputer fills it in.
`UNKNOWN` stands for the columns behind a step that cannot be embedded, and goes through all functions here.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcembed.arrays import Array, Matrix
from dcembed.importers import operations as ops
from dcembed.importers.lowering import UNKNOWN
from dcembed.importers.operations import Unsupported
from dcembed.network.builder import NetworkBuilder, Tensor

# The value of a column that the user left out.
LEFT_OUT = object()


@dataclass(frozen=True, eq=False)
class Untouched:
    """A column of the model's input that no step has changed.

    Parameters
    ----------
    column
        Which one.
    name
        For messages.
    categories
        The values that it may have, where inputs of the network say which of them it has; None for a number.
    """

    column: int
    name: str
    categories: tuple[Any, ...] | None = None


@dataclass(frozen=True, eq=False)
class Constant:
    """A column that the user gave a value."""

    name: str
    value: Any


Source = Untouched | Constant | None


@dataclass(frozen=True, eq=False)
class Frame:
    """Columns of one point.

    Parameters
    ----------
    entries
        Their values, shape (1, n); 0 for what is no number.
    sources
        What each of them is if it is not computed.
    """

    entries: Tensor
    sources: tuple[Source, ...]


def computed(value: Tensor) -> Frame:
    """Columns that a step has computed."""
    return Frame(value, (None,) * value.shape[1])


def as_numbers(frame: Frame) -> Tensor:
    """The values of all columns, shape (1, n); Unsupported names a column that is no number."""
    for source in frame.sources:
        if isinstance(source, Constant) and not is_number(given(source)):
            raise Unsupported(f"takes '{source.name}' as a number, but it was given as {source.value!r}")
        if isinstance(source, Untouched) and source.categories and not all(map(is_number, source.categories)):
            raise Unsupported(f"takes '{source.name}' as a number, but its categories are not numbers")
    return frame.entries


def given(constant: Constant) -> Any:
    """The value of a constant; Unsupported if it was left out."""
    if constant.value is LEFT_OUT:
        raise Unsupported(f"needs '{constant.name}', which load_network(inputs=...) leaves out; name it there, or give it a value")
    return constant.value


def is_number(value: Any) -> bool:
    """Whether a value of a column can be computed with."""
    return isinstance(value, numbers.Real | np.bool_) and math.isfinite(value)


def is_missing(value: Any) -> bool:
    """Whether a value of a column is one of the signs for a missing one: None, NaN and pandas' NA, which equals nothing."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        return type(value).__name__ == "NAType"


def take(builder: NetworkBuilder, frame: Any, columns: Sequence[int] | Array) -> Any:
    """Some of the columns, in this order."""
    if frame is UNKNOWN:
        return UNKNOWN
    places = np.asarray(columns, dtype=np.int64)
    entries = ops.select(builder, frame.entries, lambda a: a[:, places])
    return Frame(entries, tuple(frame.sources[place] for place in places))


def join(builder: NetworkBuilder, frames: Sequence[Any]) -> Any:
    """The columns of all frames, one after the other."""
    if any(frame is UNKNOWN for frame in frames):
        return UNKNOWN
    frames = [frame for frame in frames if frame.sources]
    entries = builder.concat([frame.entries for frame in frames], axis=1)
    return Frame(entries, tuple(source for frame in frames for source in frame.sources))


def combine(builder: NetworkBuilder, frame: Any, matrix: Matrix) -> Any:
    """matrix @ columns."""
    return UNKNOWN if frame is UNKNOWN else computed(builder.linear(as_numbers(frame), matrix))
