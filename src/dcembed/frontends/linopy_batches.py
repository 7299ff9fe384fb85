"""The pieces of a network's inputs or outputs as a batch, and where it is evaluated."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.frontends.batches import Batch
from dcembed.frontends.linopy_names import entry_names
from dcembed.frontends.linopy_pieces import Piece, flatten

Dims = Mapping[Hashable, pd.Index | int]


def template(known: Dims) -> xr.DataArray:
    """An array of True over the known dimensions."""
    coords = {dim: index for dim, index in known.items() if not isinstance(index, int)}
    sizes = [index if isinstance(index, int) else len(index) for index in known.values()]
    flat = {dim: index for dim, index in coords.items() if not isinstance(index, pd.MultiIndex)}
    array = xr.DataArray(np.ones(sizes, dtype=bool), coords=flat, dims=list(known))
    for dim, index in coords.items():
        if isinstance(index, pd.MultiIndex):
            array = array.assign_coords(xr.Coordinates.from_pandas_multiindex(index, dim))
    return array


def where_present(pieces: Sequence[Piece], known: Dims, wanted: Array | None = None) -> Array:
    """Where the pieces have variables, flat. That some of them are absent at a wanted place and others not is an InputError.

    A masked or shifted variable is absent; so is an expression without any variable and constant there.
    """
    absent = [_absent(piece, known) for piece in pieces if not piece.is_data]
    if not absent:
        return np.ones(template(known).size, dtype=bool)
    table = np.stack(absent)
    is_torn = table.any(axis=0) & ~table.all(axis=0)
    torn = np.flatnonzero(is_torn if wanted is None else is_torn & wanted)
    if torn.size:
        labels = [piece.label for piece in pieces if not piece.is_data]
        missing, there = (labels[int(np.argmax(table[:, torn[0]] == is_absent))] for is_absent in (True, False))
        raise InputError(
            f"embed: {missing} is absent at {place_name(known, torn[0])} (masked, or shifted in from outside), but {there} is not. Give it a value there, such as "
            "expression.fillna(level) or shift(...) + a constant where it is missing, or leave such places out with mask=... ; "
            "where a mask is given, missing terms of an expression count as zero."
        )
    return np.logical_not(table.any(axis=0))


def place_name(known: Dims, number: int) -> str:
    """What messages call a flat place."""
    return entry_names("", template(known))[number]


def _absent(piece: Piece, known: Dims) -> Array:
    constant = flatten(piece.constant, known)
    live = (flatten(piece.labels, known) >= 0).any(axis=1)
    absent: Array = np.isnan(constant) | (~live & (constant == 0))
    return absent


def make_batch(pieces: Sequence[Piece], known: Dims, rows: Array) -> Batch:
    """The pieces at the flat places `rows` as k = len(rows) evaluations."""
    width = len(pieces)
    labels, entries, coefficients = [], [], []
    constant = np.empty((rows.size, width))
    for number, piece in enumerate(pieces):
        terms, factors = flatten(piece.labels, known)[rows], flatten(piece.coefficients, known)[rows]
        row, term = np.nonzero((terms >= 0) & (factors != 0))
        labels.append(terms[row, term])
        coefficients.append(factors[row, term])
        entries.append(row * width + number)
        constant[:, number] = flatten(piece.constant, known)[rows]
    _check_finite(pieces, known, rows, constant)
    entry = np.concatenate(entries)
    order = np.argsort(entry, kind="stable")
    factor = np.concatenate(coefficients)[order].astype(np.float64)
    if not np.isfinite(factor).all():
        raise InputError("embed: a coefficient of the inputs or outputs is not finite.")
    return Batch(np.concatenate(labels)[order].astype(np.int64).tolist(), entry[order], factor, constant)


def _check_finite(pieces: Sequence[Piece], known: Dims, rows: Array, constant: Array) -> None:
    bad = np.argwhere(~np.isfinite(constant))
    if bad.size:
        row, number = bad[0]
        place = place_name(known, rows[row])
        raise InputError(
            f"embed: {pieces[number].label} is {'absent' if not pieces[number].is_data else 'not a finite number'}{f' at {place}' if place else ''}. "
            "Give it a value there (fillna), or leave such places out with mask=... ."
        )
