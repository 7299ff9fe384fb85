"""A program with other numbers in the same places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.program.derive import derive, revalue
from dcembed.program.matrices import check_finite
from dcembed.program.program import Program, check_indicators, check_interval, read_quadratic, read_vector
from dcembed.reading import as_number, as_numbers

# Fields with one number for each column or row.
VECTORS = {"cost": "columns", "lb": "columns", "ub": "columns", "row_lb": "rows", "row_ub": "rows"}
CHANGEABLE = (*VECTORS, "offset", "quadratic", "concave")


def change(program: Program, changes: Mapping[str, Any]) -> Program:
    """The program with the fields that are given, checked as those of a program are; fields that come out as they were are the same arrays.

    Parameters
    ----------
    changes
        Values by the names in `CHANGEABLE`. None leaves a field as it is.
    """
    read = {name: _read(program, name, value) for name, value in changes.items() if value is not None}
    kept = {name for name, value in read.items() if _is_same(value, getattr(program, name))}
    news = {name: value for name, value in read.items() if name not in kept}
    if not news:
        return program
    changed = derive(program, **news) if news.keys() & {"quadratic", "concave"} else revalue(program, **news)
    if "row_lb" in news or "row_ub" in news:
        check_interval(changed.row_lb, changed.row_ub, changed.row_label)
    if "lb" in news or "ub" in news:
        check_interval(changed.lb, changed.ub, changed.column_label)
        check_indicators(changed)
    return changed


def _read(program: Program, name: str, value: Any) -> Any:
    if name in VECTORS:
        return _read_vector(program, name, value)
    if name == "offset":
        constant = as_number(value, "Program: offset")
        check_finite(np.array([constant]), "offset")
        return constant
    return read_quadratic(value, name, program.num_columns, program.maximize)


def _read_vector(program: Program, name: str, value: Any) -> Array:
    size = program.num_columns if VECTORS[name] == "columns" else program.num_rows
    array = as_numbers(value, f"Program: {name}")
    if array.shape not in ((), (size,)) or (name == "cost" and array.shape != (size,)):
        raise InputError(
            f"Program: {name} has shape {array.shape} but there are {size} {VECTORS[name]}: expected ({size},). "
            "Columns and rows are those that the problem was compiled with; compile another one for another shape."
        )
    if name == "cost":
        check_finite(array, name)
        return array
    return read_vector(array, size, 0.0, name, VECTORS[name])


def _is_same(value: Any, old: Any) -> bool:
    """Whether a field is as it was; matrices are not looked into."""
    if isinstance(value, np.ndarray):
        return np.array_equal(value, old)
    return value is old or (isinstance(value, float) and value == old)
