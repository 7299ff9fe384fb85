"""Plain fields of dataclasses, numbers and texts, as records and tables, and back.

What a field may hold is what its declaration says, so that a class that gets another plain field needs no word here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from math import isfinite
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.reading import as_names, as_number, as_whole, require
from dcembed.saving.packed import Packed

# What is written for a value, and what is read: JSON has no infinities, so these are texts.
_WRITERS: Mapping[str, Callable[[Any], Any]] = {
    "bool": bool,
    "int": int,
    "float": lambda value: float(value) if isfinite(value) else str(float(value)),
    "str": str,
    "tuple[str, ...]": list,
    "list[str]": list,
}
_READERS: Mapping[str, Callable[[Any, str], Any]] = {
    "bool": lambda value, where: require(value, bool, where),
    "int": as_whole,
    "float": lambda value, where: float(value) if value in ("inf", "-inf", "nan") else as_number(value, where),
    "str": lambda value, where: require(value, str, where),
    "tuple[str, ...]": as_names,
    "list[str]": lambda value, where: list(as_names(value, where)),
}
# Columns of a table: numbers are an array, texts are kept once and pointed to.
_KINDS = {"bool": "b", "int": "iu", "float": "f"}


def pack_plain(instance: Any) -> dict[str, Any]:
    """The plain fields of a dataclass."""
    return {field.name: _WRITERS[str(field.type)](getattr(instance, field.name)) for field in fields(instance) if field.type in _WRITERS}


def unpack_plain(kind: type[Any], record: Any, where: str) -> dict[str, Any]:
    """The values of plain fields that are there, by name; those of another type are an InputError."""
    entries = require(record, dict, where)
    return {
        field.name: _READERS[str(field.type)](entries[field.name], f"{where}.{field.name}")
        for field in fields(kind)
        if field.type in _READERS and field.name in entries
    }


def pack_table(records: Sequence[Any], kind: type[Any]) -> Packed:
    """The plain fields of many dataclasses of one kind, each a column."""
    arrays: dict[str, Array] = {}
    texts: dict[str, list[str]] = {}
    for field in fields(kind):
        column = [getattr(record, field.name) for record in records]
        if field.type in _KINDS:
            arrays[field.name] = np.array(column, dtype={"bool": bool, "int": np.int64, "float": np.float64}[field.type])
        elif field.type == "str":
            texts[field.name] = list(dict.fromkeys(column))
            place = {text: number for number, text in enumerate(texts[field.name])}
            arrays[field.name] = np.array([place[text] for text in column], dtype=np.int64)
    return Packed(arrays, {"length": len(records), **texts})


def unpack_table(packed: Packed, kind: type[Any]) -> list[dict[str, Any]]:
    """The values of each record by name; those of columns that are not there are missing."""
    length = as_whole(packed.record["length"], "length")
    columns: dict[str, list[Any]] = {}
    for field in fields(kind):
        if field.name not in packed.arrays:
            continue
        if field.type in _KINDS:
            columns[field.name] = packed.numbers(field.name, _KINDS[field.type]).tolist()
        elif field.type == "str":
            texts = as_names(packed.record[field.name], field.name)
            columns[field.name] = [texts[place] for place in packed.whole(field.name, len(texts))]
    if any(len(column) != length for column in columns.values()) or (length and not columns):
        raise ValueError("its table has columns of different lengths")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
