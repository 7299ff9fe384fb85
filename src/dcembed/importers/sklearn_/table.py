"""Columns of values as what a fitted model takes: a DataFrame where it has learned names, an array otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dcembed.arrays import Array


def as_column(values: Sequence[Any]) -> Array:
    """Values of one column; numbers stay numbers, all else becomes objects."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    try:
        plain = np.asarray(values)
    except ValueError:
        return column
    return plain if plain.dtype.kind in "fiub" and plain.ndim == 1 else column


def as_table(columns: Sequence[Array], names: Sequence[str] | None) -> Any:
    """The columns side by side."""
    package = None if names is None else _import_frames()
    if package is not None:
        return package.DataFrame({str(name): _plain(column) for name, column in zip(names or (), columns, strict=True)})
    if all(column.dtype.kind in "fiub" for column in columns):
        return np.column_stack(columns).astype(np.float64)
    table = np.empty((len(columns[0]), len(columns)), dtype=object)
    for place, column in enumerate(columns):
        table[:, place] = column
    return table


def as_matrix(table: Any) -> Any:
    """What a transformer gives, as an array or a sparse matrix: some are set to give DataFrames."""
    return table.to_numpy() if hasattr(table, "to_numpy") else table


def _import_frames() -> Any:
    """Pandas, or what stands for it; None where the model must do with an array."""
    for name in ("pandas", "polars"):
        try:
            return __import__(name)
        except ModuleNotFoundError:
            continue
    return None


def _plain(column: Array) -> Any:
    """A list where polars would make a column of objects."""
    return column if column.dtype.kind != "O" else column.tolist()
