"""Inputs and outputs of a network in a linopy model, read into one piece for each and laid on common dimensions.

A piece is a linear expression with dimensions and coordinates, such as `power` over hours and buses. Pieces meet as arrays do in linopy
and xarray: by the names of their dimensions, along which they must have the same coordinates, and spread over those they lack.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import linopy
import numpy as np
import pandas as pd
import xarray as xr
from linopy.constants import TERM_DIM
from linopy.expressions import ScalarLinearExpression
from linopy.variables import ScalarVariable

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.frontends.messages import shorten

NUMBERS = (int, float, np.number, np.ndarray, xr.DataArray, pd.Series, pd.DataFrame)
ACCEPTED = "Accepted are variables and linear expressions of the model, numbers, and labelled data (xarray, pandas)."


@dataclass(frozen=True, eq=False)
class Piece:
    """One input or output over its dimensions.

    Parameters
    ----------
    label
        What messages call it.
    labels, coefficients
        Of the terms: linopy's labels, -1 for none, with TERM_DIM as a further dimension.
    constant
        NaN where linopy has nothing.
    is_data
        Whether it was given as numbers, without any variable.
    """

    label: str
    labels: xr.DataArray
    coefficients: xr.DataArray
    constant: xr.DataArray
    is_data: bool = False

    @property
    def dims(self) -> tuple[Hashable, ...]:
        """Without TERM_DIM."""
        return tuple(self.constant.dims)

    def part(self, label: str, dim: Hashable, number: int) -> Piece:
        """The piece at one place of a dimension."""
        return self._each(label, lambda array: array.isel({dim: number}, drop=True))

    def reordered(self, dim: Hashable, index: pd.Index) -> Piece:
        """The same coordinates in another order."""
        order = self.constant.indexes[dim].get_indexer(index)
        return self._each(self.label, lambda array: array.isel({dim: order}))

    def _each(self, label: str, change: Callable[[xr.DataArray], xr.DataArray]) -> Piece:
        return Piece(label, change(self.labels), change(self.coefficients), change(self.constant), self.is_data)


def read_piece(value: Any, label: str, model: linopy.Model) -> Piece:
    """A variable, linear expression or numbers."""
    if isinstance(value, ScalarVariable | ScalarLinearExpression):
        value = _from_scalar(value)
    if isinstance(value, linopy.Variable):
        _check_model(value, label, model)
        labels = value.labels.reset_coords(drop=True)
        terms = labels.expand_dims({TERM_DIM: 1}, axis=-1)
        return Piece(label, terms, xr.ones_like(terms, dtype=np.float64), xr.zeros_like(labels, dtype=np.float64).where(labels >= 0))
    if isinstance(value, linopy.LinearExpression):
        _check_model(value, label, model)
        parts = [array.reset_coords(drop=True) for array in (value.vars, value.coeffs, value.const)]
        return Piece(label, parts[0], parts[1], parts[2].astype(np.float64))
    if isinstance(value, NUMBERS) and not isinstance(value, bool):
        return _from_numbers(xr.DataArray(value), label)
    what = "quadratic" if isinstance(value, linopy.QuadraticExpression) else f"of type {type(value).__name__}"
    raise InputError(f"embed: {label} is {what}: {shorten(value, 60)}. {ACCEPTED}")


def _from_scalar(value: ScalarVariable | ScalarLinearExpression) -> linopy.LinearExpression:
    scalar = value.to_scalar_linexpr(1) if isinstance(value, ScalarVariable) else value
    data = xr.Dataset({"vars": (TERM_DIM, list(scalar.vars)), "coeffs": (TERM_DIM, list(map(float, scalar.coeffs)))})
    return linopy.LinearExpression(data, scalar.model)


def _from_numbers(data: xr.DataArray, label: str) -> Piece:
    if data.dtype.kind not in "fiub":
        raise InputError(f"embed: {label} is data of type {data.dtype}, not numbers. {ACCEPTED}")
    constant = data.reset_coords(drop=True).astype(np.float64)
    none = constant.expand_dims({TERM_DIM: 1}, axis=-1).isel({TERM_DIM: slice(0)})
    return Piece(label, none.astype(np.int64), none, constant, is_data=True)


def _check_model(value: Any, label: str, model: linopy.Model) -> None:
    if value.model is not model:
        raise InputError(f"embed: {label} belongs to another model: {shorten(value, 60)}. Use the variables of the model you embed in.")


def name_axes(value: Any, known: Mapping[Hashable, pd.Index | int], label: str) -> Any:
    """Data without names of dimensions, with the names of those known ones that it fits: by coordinates, or an array by its length."""
    if isinstance(value, pd.Series | pd.DataFrame) and None in [axis.name for axis in value.axes]:
        for number, axis in enumerate(value.axes):
            if axis.name is None:
                dim = _only([d for d, index in known.items() if isinstance(index, pd.Index) and axis.equals(index)], known, label)
                value = value.rename_axis(dim, axis=number)
    elif isinstance(value, np.ndarray) and value.ndim:
        fit = [[d for d, index in known.items() if _size(index) == size] for size in value.shape]
        value = xr.DataArray(value, dims=[_only(dims, known, label) for dims in fit])
    return value


def _only(dims: Sequence[Hashable], known: Mapping[Hashable, pd.Index | int], label: str) -> Hashable:
    if len(dims) != 1:
        sizes = ", ".join(f"'{dim}' of {_size(index)}" for dim, index in known.items()) or "none"
        raise InputError(
            f"embed: {label} is data whose axes have no names, and it cannot be told which dimension is meant. The other inputs have: {sizes}. "
            "Give a DataArray with dims, or a pandas object whose index has a name, such as series.rename_axis('time')."
        )
    return dims[0]


def _size(index: pd.Index | int) -> int:
    return index if isinstance(index, int) else len(index)


def collect_dims(pieces: Sequence[Piece]) -> dict[Hashable, pd.Index | int]:
    """All dimensions in the order they appear, each with the first coordinates that are given for it, or its size."""
    known: dict[Hashable, pd.Index | int] = {}
    for piece in pieces:
        for dim in piece.dims:
            index = piece.constant.indexes.get(dim)
            if dim not in known or (isinstance(known[dim], int) and index is not None):
                known[dim] = piece.constant.sizes[dim] if index is None else index
    return known


def conform(piece: Piece, known: Mapping[Hashable, pd.Index | int]) -> Piece:
    """The piece with the known coordinates, or InputError if it has others."""
    for dim in piece.dims:
        wanted, index = known[dim], piece.constant.indexes.get(dim)
        if piece.constant.sizes[dim] != _size(wanted):
            raise InputError(_mismatch(piece, dim, wanted))
        if index is None or isinstance(wanted, int) or index.equals(wanted):
            continue
        if not (index.is_unique and wanted.is_unique and index.sort_values().equals(wanted.sort_values())):
            raise InputError(_mismatch(piece, dim, wanted))
        piece = piece.reordered(dim, wanted)
    return piece


def _mismatch(piece: Piece, dim: Hashable, wanted: pd.Index | int) -> str:
    index = piece.constant.indexes.get(dim)
    return (
        f"embed: {piece.label} has other coordinates along '{dim}' than what was given before it: {_show(index, piece.constant.sizes[dim])} "
        f"where there are {_show(wanted, _size(wanted))}. Select the same ones (sel, reindex), or use shift, which keeps the coordinates."
    )


def _show(index: pd.Index | int | None, size: int) -> str:
    if not isinstance(index, pd.Index):
        return f"{size} without names"
    shown = [str(entry) for entry in index[:3]] + (["..."] if size > 3 else [])
    return f"{size} ({', '.join(shown)})"


def flatten(array: xr.DataArray, known: Mapping[Hashable, pd.Index | int]) -> Array:
    """Values over all known dimensions in one axis, and the terms in a second one if there are any."""
    missing = {dim: _size(index) for dim, index in known.items() if dim not in array.dims}
    whole = array.expand_dims(missing).transpose(*known, ...)
    size = int(np.prod([_size(index) for index in known.values()], dtype=np.int64))
    values: Array = whole.values.reshape((size, array.sizes[TERM_DIM]) if TERM_DIM in array.dims else size)
    return values
