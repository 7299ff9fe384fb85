"""Inputs and outputs of a predictor as people write them in a gurobipy model: variables, expressions and numbers in all sorts of containers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gurobipy as gp
import numpy as np

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.frontends.batches import Batch, LinearEntry, as_object, stack
from dcembed.reading import as_number

_ACCEPTED = "variables, linear expressions and numbers, in an MVar, MLinExpr, list, nested list, dict, ndarray or DataFrame"


def read_entries(value: Any, what: str) -> Array:
    """An array of objects of the shape that was meant."""
    if isinstance(value, gp.MVar):
        return np.array(value.tolist(), dtype=object)
    if isinstance(value, gp.MLinExpr):
        entries = np.empty(value.shape, dtype=object)
        for index in np.ndindex(value.shape):
            entries[index] = value[index].item() if index else value.item()
        return entries
    if isinstance(value, Mapping):
        return read_entries(_rows_of_mapping(value), what)
    if isinstance(value, list | tuple):
        return stack([read_entries(part, what) for part in value], what)
    if hasattr(value, "to_numpy"):
        value = value.to_numpy(dtype=object)
    return value.astype(object) if isinstance(value, np.ndarray) else as_object(value)


def _rows_of_mapping(mapping: Mapping[Any, Any]) -> list[Any]:
    """The values; where the keys are tuples, those that differ in the last place only are one row."""
    if not all(isinstance(key, tuple) for key in mapping):
        return list(mapping.values())
    rows: dict[tuple[Any, ...], list[Any]] = {}
    for key, value in mapping.items():
        rows.setdefault(key[:-1], []).append(value)
    return list(rows.values()) if len(rows) > 1 else list(mapping.values())


def read_terms(entry: Any) -> LinearEntry:
    """A variable, linear expression or number as (variables, coefficients, constant)."""
    if isinstance(entry, gp.Var):
        return [entry], [1.0], 0.0
    if isinstance(entry, gp.LinExpr):
        terms = range(entry.size())
        return [entry.getVar(i) for i in terms], [entry.getCoeff(i) for i in terms], entry.getConstant()
    if isinstance(entry, int | float | np.number):
        return [], [], as_number(entry, "add_predictor_constr: an input")
    raise InputError(f"add_predictor_constr: an input is of type {type(entry).__name__}: {entry!r:.60}. Accepted are {_ACCEPTED}.")


def write_entries(batch: Batch) -> Array:
    """Inputs (k, n_in) as expressions, or as variables where they are nothing more."""
    entries = np.empty(batch.constant.size, dtype=object)
    entries[:] = batch.variables if batch.is_plain else [gp.LinExpr(constant) for constant in batch.constant.reshape(-1)]
    for variable, number, coefficient in [] if batch.is_plain else zip(batch.variables, batch.entry, batch.coefficient, strict=True):
        entries[number] += coefficient * variable
    return entries.reshape(batch.shape)
