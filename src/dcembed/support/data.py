"""Data that a network was trained on, from an array or a frame, as numbers; which columns are categories or whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.reading import as_names, as_numbers, require_iterable, show

# Combinations of categories that get a binary each, at most.
MOST_COMBINATIONS = 1_000


@dataclass(frozen=True, eq=False)
class Data:
    """N points of n_in inputs.

    Parameters
    ----------
    points
        Shape (N, n_in).
    names
        Of the inputs; None where they have none.
    is_discrete
        Which inputs are categories or whole numbers, shape (n_in,).
    """

    points: Array
    names: tuple[str, ...] | None
    is_discrete: Array

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the inputs, or "input 0" and so on."""
        return self.names or tuple(f"input {j}" for j in range(self.points.shape[1]))


def read_data(data: Any, discrete: Any = None) -> Data:
    """An array (N, n_in) or a DataFrame; columns of text or categories become one column for each of their values, called name_value.

    `discrete` names the columns that are categories or whole numbers; by default those that are, or have nothing but 0 and 1.
    """
    encoded: list[int] = []
    if hasattr(data, "columns") and hasattr(data, "dtypes"):
        points, names, encoded = _read_frame(data)
    else:
        points, names = as_numbers(data, "support: data"), None
    if points.ndim == 1:
        raise InputError(f"support: data has shape {points.shape}. Give one row for each point and one column for each input.")
    if points.ndim != 2 or points.shape[0] < 2 or points.shape[1] < 1:
        raise InputError(f"support: data has shape {points.shape}: at least two rows and one column are expected.")
    bad = np.argwhere(~np.isfinite(points))
    if bad.size:
        column = names[bad[0, 1]] if names else f"column {bad[0, 1]}"
        raise InputError(
            f"support: data has NaN or infinite entries, the first in row {bad[0, 0]}, {column}. Leave such rows out, or fill them in as in training."
        )
    is_discrete = np.isin(points, (0.0, 1.0)).all(axis=0) & (points.std(axis=0) > 0)
    if discrete is not None:
        is_discrete = np.zeros(points.shape[1], dtype=bool)
        is_discrete[_read_places(discrete, names, points.shape[1])] = True
    is_discrete[encoded] = True
    found = Data(points, names, is_discrete)
    _check_combinations(found)
    return found


def _read_frame(frame: Any) -> tuple[Array, tuple[str, ...], list[int]]:
    """Numbers, names, and which columns were made of categories."""
    columns: list[Array] = []
    names: list[str] = []
    encoded: list[int] = []
    for name in frame.columns:
        column = frame[name]
        values = np.asarray(column)
        if values.ndim != 1:
            raise InputError(f"support: data has more than one column called {name!r}.")
        if values.dtype.kind in "fiub":
            columns.append(values.astype(np.float64))
            names.append(str(name))
            continue
        if values.dtype.kind not in "OUS" or any(value != value or value is None for value in values):
            raise InputError(
                f"support: column {name!r} of the data is of type {column.dtype}, or has entries that are missing; numbers or categories are expected."
            )
        for value in sorted(set(values.tolist()), key=str):
            encoded.append(len(columns))
            columns.append((values == value).astype(np.float64))
            names.append(f"{name}_{value}")
    if not columns:
        raise InputError("support: data has no columns.")
    return np.column_stack(columns), as_names(names, "support: names of the data"), encoded


def _read_places(discrete: Any, names: tuple[str, ...] | None, n: int) -> list[int]:
    listed: Sequence[Any] = [discrete] if isinstance(discrete, str | int | np.integer) else require_iterable(discrete, "support: discrete")
    places = []
    for item in listed:
        if isinstance(item, str) and names is not None and item in names:
            places.append(names.index(item))
        elif isinstance(item, int | np.integer) and not isinstance(item, bool) and 0 <= item < n:
            places.append(int(item))
        else:
            known = ", ".join(map(repr, names)) if names else f"numbers from 0 to {n - 1}"
            raise InputError(f"support: discrete names {show(item)}, which is no column of the data. Columns are {known}.")
    return places


def _check_combinations(data: Data) -> None:
    if not data.is_discrete.any():
        return
    number = len(np.unique(data.points[:, data.is_discrete], axis=0))
    if number > MOST_COMBINATIONS:
        raise InputError(
            f"support: the discrete columns of the data have {number:,} combinations, and each gets a binary; {MOST_COMBINATIONS:,} are the most. Name fewer "
            "columns with discrete=[...], or none with discrete=[]: they are treated as numbers then."
        )
