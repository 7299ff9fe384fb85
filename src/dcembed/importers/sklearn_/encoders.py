"""Encoders of categories: one-hot, ordinal and by the mean of the target.

What a column is encoded as depends on its category alone, so the encoder itself is asked for every category, and its answers are the
weights of the inputs that stand for the categories. A column that is constant is encoded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.importers import operations as ops
from dcembed.importers.operations import Unsupported
from dcembed.importers.sklearn_.frame import Constant, Frame, Source, Untouched, computed, given, is_missing
from dcembed.importers.sklearn_.table import as_column, as_matrix, as_table
from dcembed.importers.sklearn_.walk import Encoded, Walk


def encode(walk: Walk, encoder: Any, frame: Frame) -> Frame:
    """The encoded columns; columns whose categories are not known yet are remembered, and the columns are zero then."""
    options = [_options(encoder, place, source) for place, source in enumerate(frame.sources)]
    unknown = {place: source for place, source in enumerate(frame.sources) if isinstance(source, Untouched) and source.categories is None}
    for place, source in unknown.items():
        walk.encoded.setdefault(source.column, []).append(Encoded(encoder, place))
    first = _ask(encoder, [[values[0] for values in options]])
    if unknown:
        return computed(ops.as_tensor(np.zeros(first.shape)))
    return computed(_by_category(walk, encoder, frame.sources, options, first))


def agree(found: Sequence[Encoded]) -> tuple[Any, ...]:
    """The categories of a column that every encoder of it accepts and has finite numbers for, in the order of the first."""
    named = {_key(value): value for item in found for value in item.encoder.categories_[item.place]}
    for item in found:
        own = {_key(value) for value in item.encoder.categories_[item.place]}
        if getattr(item.encoder, "handle_unknown", "") == "error":
            named = {key: value for key, value in named.items() if key in own}
        rows = _rows(item.encoder.categories_, item.place, list(named.values()))
        totals: Any = np.asarray(_ask(item.encoder, rows).sum(axis=1)).reshape(-1) if rows else []
        named = {key: value for (key, value), total in zip(named.items(), totals, strict=True) if np.isfinite(total)}
    return tuple(named.values())


def _by_category(walk: Walk, encoder: Any, sources: Sequence[Source], options: list[Sequence[Any]], first: Any) -> Any:
    """first + for every column the difference that its category makes; an entry that is the column's alone has no other part."""
    places, blocks = walk.inputs.places, [sp.coo_array((first.shape[1], walk.inputs.size))]
    offset = np.asarray(first.sum(axis=0), dtype=np.float64).reshape(-1)
    for place, source in enumerate(sources):
        if isinstance(source, Untouched):
            encoded = sp.csc_array(_ask(encoder, _rows(options, place)))
            same = sp.csc_array(np.ones((encoded.shape[0], 1))) @ sp.csc_array(first)
            is_own = np.asarray(abs(encoded - same).sum(axis=0)).reshape(-1) > 0
            own = sp.coo_array(encoded @ sp.diags_array(is_own.astype(np.float64)))
            blocks.append(sp.coo_array((own.data, (own.col, own.row + places[source.column].start)), shape=blocks[0].shape))
            offset[is_own] = 0.0
    return walk.builder.linear(walk.builder.input, sp.csr_array(sum(blocks[1:], blocks[0])), offset)


def _rows(options: Sequence[Sequence[Any]], place: int, values: Sequence[Any] | None = None) -> list[list[Any]]:
    """One row for every value of a column, with the other columns at their first."""
    first = [column[0] for column in options]
    return [[*first[:place], value, *first[place + 1 :]] for value in (options[place] if values is None else values)]


def _options(encoder: Any, place: int, source: Source) -> Sequence[Any]:
    """The values that a column may have."""
    if source is None:
        raise Unsupported(f"encodes column {place}, which a step before it computes; encode the columns as they are given")
    if isinstance(source, Constant):
        return [given(source)]
    known = source.categories if source.categories is not None else encoder.categories_[place]
    if not len(known):
        raise Unsupported(f"has no category of '{source.name}' that all encoders of it accept")
    return list(known)


def _ask(encoder: Any, rows: Sequence[Sequence[Any]]) -> Any:
    """What the encoder makes of the rows: an array or a sparse matrix, in float64."""
    columns: list[Array] = [as_column(values) for values in zip(*rows, strict=True)]
    names = getattr(encoder, "feature_names_in_", None)
    encoded = as_matrix(encoder.transform(as_table(columns, None if names is None else list(names))))
    return encoded.astype(np.float64)


def _key(value: Any) -> Any:
    """NaN is one category, although it is not equal to itself."""
    return "NaN" if is_missing(value) and value is not None else (type(value) is str, value)


COLUMNS = dict.fromkeys(("OneHotEncoder", "OrdinalEncoder", "TargetEncoder"), encode)
