"""The columns of a model as inputs of a network: which are inputs, which constants, and which are one input for each category."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.importers.check import SEED
from dcembed.importers.request import Request
from dcembed.importers.sklearn_.features import count_features, find_names
from dcembed.importers.sklearn_.frame import LEFT_OUT, Constant, Frame, Source, Untouched, is_number
from dcembed.importers.sklearn_.table import as_column, as_table
from dcembed.network.builder import NetworkBuilder

# Of one column, to compare at.
MOST_CATEGORIES = 500


@dataclass(frozen=True, eq=False)
class Inputs:
    """The columns that a model was fitted on.

    Parameters
    ----------
    names
        Of all columns; x0, x1, ... as scikit-learn calls them where it was given none.
    is_named
        Whether the model was given names.
    free
        The columns that are inputs of the network, in this order.
    fixed
        Those that are constants, and their values; LEFT_OUT for those that the user did not mention beside others.
    categories
        Of the free columns that are encoded: the values that they may have. Each of these is an input of the network, 1 for the value
        that the column has and 0 for the others.
    """

    names: tuple[str, ...]
    is_named: bool
    free: tuple[int, ...]
    fixed: Mapping[int, Any]
    categories: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)

    @property
    def places(self) -> dict[int, slice]:
        """The inputs of the network that stand for each free column."""
        ends = np.cumsum([len(self.categories.get(column, (None,))) for column in self.free]).tolist()
        return {column: slice(start, end) for column, start, end in zip(self.free, [0, *ends], ends, strict=False)}

    @property
    def size(self) -> int:
        """The number of inputs of the network."""
        return sum(len(self.categories.get(column, (None,))) for column in self.free)

    @property
    def network_names(self) -> tuple[str, ...] | None:
        """Names of the inputs of the network; those of categories as scikit-learn's encoders make them."""
        if not self.is_named and not self.categories:
            return None
        return tuple(name for column in self.free for name in self._names_of(column))

    def _names_of(self, column: int) -> list[str]:
        name = self.names[column]
        return [f"{name}_{category}" for category in self.categories[column]] if column in self.categories else [name]


def read_inputs(model: Any, request: Request) -> Inputs:
    """The columns of a model and what the user wants of them."""
    names = find_names(model)
    count = len(names) if names is not None else count_features(model)
    if count is None:
        # One that is not fitted has no columns yet, and an IsotonicRegression has one.
        count = 1 if request.input_shape is None else math.prod(request.input_shape)
    known = tuple(f"x{number}" for number in range(count)) if names is None else names
    free, fixed = _choose(known, request)
    number = {name: place for place, name in enumerate(known)}
    return Inputs(known, names is not None, tuple(number[name] for name in free), {number[name]: value for name, value in fixed.items()})


def first_frame(builder: NetworkBuilder, inputs: Inputs) -> Frame:
    """The columns as they enter the model; a category that is a number has its value."""
    places, offset, sources = inputs.places, np.zeros(len(inputs.names)), list[Source]()
    triplets: list[tuple[float, int, int]] = []
    for column, name in enumerate(inputs.names):
        if column in inputs.fixed:
            value = inputs.fixed[column]
            offset[column] = _number(value)
            sources.append(Constant(name, value))
            continue
        categories = inputs.categories.get(column)
        values = [1.0] if categories is None else map(_number, categories)
        triplets += [(value, column, place) for place, value in enumerate(values, start=places[column].start)]
        sources.append(Untouched(column, name, categories))
    entries, rows, columns = zip(*triplets, strict=True)
    matrix = sp.csr_array((np.array(entries), (np.array(rows), np.array(columns))), shape=(len(inputs.names), inputs.size))
    return Frame(builder.linear(builder.input, matrix, offset), tuple(sources))


def _number(value: Any) -> float:
    return float(value) if is_number(value) else 0.0


def as_model_input(inputs: Inputs, points: Array) -> Any:
    """Points of the network, shape (k, size), as the table that the model itself takes."""
    places = inputs.places
    columns = [
        as_column([_shown(inputs.fixed[column])] * len(points))
        if column in inputs.fixed
        else _values(inputs, column, points[:, places[column]])
        for column in range(len(inputs.names))
    ]
    return as_table(columns, inputs.names if inputs.is_named else None)


def _shown(value: Any) -> Any:
    """A column that was left out is one that the model does not look at."""
    return 0.0 if value is LEFT_OUT else value


def choose_categories(inputs: Inputs, points: Array) -> Array:
    """The points with a category of every encoded column; as many more that each is there once, unless there are very many."""
    widest = max((len(categories) for categories in inputs.categories.values()), default=0)
    chosen = np.resize(points, (max(len(points), min(widest, MOST_CATEGORIES)), points.shape[1]))
    rng, rows = np.random.default_rng(SEED), np.arange(len(chosen))
    for place in (inputs.places[column] for column in inputs.categories):
        chosen[:, place] = 0.0
        chosen[rows, place.start + rng.permutation(rows % (place.stop - place.start))] = 1.0
    return chosen


def _values(inputs: Inputs, column: int, entries: Array) -> Array:
    if column not in inputs.categories:
        return entries[:, 0]
    categories = inputs.categories[column]
    return as_column([categories[place] for place in entries.argmax(axis=1)])


def _choose(names: Sequence[str], request: Request) -> tuple[list[str], Mapping[str, Any]]:
    """Names of the columns that are inputs, and values of the others."""
    fixed, listed = request.fixed or {}, request.inputs
    unknown = [name for name in (*fixed, *(listed or ())) if name not in names]
    if unknown:
        raise InputError(f"load_network: inputs has {_quote(unknown)}, but the columns of the scikit-learn model are {_quote(names)}.")
    # A mapping of constants alone says nothing of the others.
    free = list(listed) if listed else [name for name in names if name not in fixed]
    if len(set(free)) < len(free):
        raise InputError(f"load_network: inputs has a column twice: {_quote(free)}. Name each of them once.")
    if not free:
        raise InputError("load_network: inputs gives a value to every column, so nothing is left to decide. Give None to some of them.")
    left_out = [name for name in names if name not in fixed and name not in free]
    return free, {**fixed, **dict.fromkeys(left_out, LEFT_OUT)}


def _quote(names: Sequence[str], most: int = 8) -> str:
    rest = len(names) - most
    return ", ".join(f"'{name}'" for name in names[:most]) + (f" and {rest} more" if rest > 0 else "")
