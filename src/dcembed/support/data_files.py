"""Data of a region in a file: a .csv with names in its first line, an array in an .npy file, or arrays in an .npz file."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.importers.archives import DAMAGES, check_entries, check_file, parse_array, read_array
from dcembed.reading import as_names, show

SUFFIXES = (".csv", ".npy", ".npz")
# The array of an .npz file that is the data where there are others beside it.
DATA = "data"


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by name, which `dcembed.support` takes as it takes a DataFrame."""

    values: Mapping[str, Array]

    @property
    def columns(self) -> list[str]:
        """The names."""
        return list(self.values)

    @property
    def dtypes(self) -> list[Any]:
        """Numbers or text, for each column."""
        return [column.dtype for column in self.values.values()]

    def __getitem__(self, name: str) -> Array:
        return self.values[name]


def read_data_file(path: Path, targets: Any = None) -> tuple[Table | Array, Array | None]:
    """The data, and the targets that are named: columns of a .csv file, arrays of an .npz file."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"support: {path} is no file of data by its name; accepted are {', '.join(SUFFIXES)}.")
    check_file(path)
    named = () if targets is None else (targets,) if isinstance(targets, str) else as_names(targets, "support: targets")
    try:
        if path.suffix.lower() == ".csv":
            return _split_columns(_read_csv(path), named, path)
        if path.suffix.lower() == ".npz":
            return _split_arrays(_read_archive(path), named, path)
        array = parse_array(path.read_bytes(), path.name)
    except InputError:
        raise
    except DAMAGES as error:
        raise InputError(f"support: {path} cannot be read: {error}.") from None
    if named:
        raise InputError(f"support: {path} has one array without names, and no targets. Write both into an .npz file, or give a .csv file.")
    return array, None


def _read_csv(path: Path) -> dict[str, Array]:
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    lines = [line for line in csv.reader(io.StringIO(text, newline="")) if line]
    if len(lines) < 2:
        raise InputError(f"support: {path} has {len(lines)} lines; names of the columns, and a line for each point after it, are expected.")
    names = [name.strip() for name in lines[0]]
    if len(names) == 1 and any(mark in names[0] for mark in ";\t"):
        raise InputError(
            f"support: {path} has its columns separated by {'semicolons' if ';' in names[0] else 'tabs'}; commas are expected."
        )
    if len(set(names)) < len(names) or any(_is_number(name) for name in names):
        raise InputError(
            f"support: the first line of {path} has no names of columns, or has one twice: {show(lines[0])}. Give every column its own name there."
        )
    for number, line in enumerate(lines[1:], start=1):
        if len(line) != len(names):
            raise InputError(f"support: {path} has {len(names)} columns, but {len(line)} entries in its row {number}.")
    return {name: _as_column([line[j].strip() for line in lines[1:]]) for j, name in enumerate(names)}


def _as_column(entries: Sequence[str]) -> Array:
    """Numbers, with NaN where there is no entry; or text, with None there."""
    if all(_is_number(entry) or not entry for entry in entries):
        return np.array([float(entry) if entry else np.nan for entry in entries])
    return np.array([entry or None for entry in entries], dtype=object)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_archive(path: Path) -> dict[str, Array]:
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        check_entries(entries, path)
        return {entry.filename.removesuffix(".npy"): read_array(archive, entry) for entry in entries}


def _split_columns(columns: dict[str, Array], targets: Sequence[str], path: Path) -> tuple[Table, Array | None]:
    chosen = [_take(columns, name, path, "column") for name in targets]
    for name, column in zip(targets, chosen, strict=True):
        if column.dtype.kind != "f":
            raise InputError(f"support: targets names the column {name!r} of {path}, which has text in it; numbers are expected.")
    if not columns:
        raise InputError(f"support: targets names all columns of {path}, and no inputs are left.")
    return Table(columns), np.column_stack(chosen) if chosen else None


def _split_arrays(arrays: dict[str, Array], targets: Sequence[str], path: Path) -> tuple[Array, Array | None]:
    chosen = [_take(arrays, name, path, "array") for name in targets]
    if len(arrays) != 1 and DATA not in arrays:
        raise InputError(
            f"support: {path} has {len(arrays)} arrays beside targets ({', '.join(arrays) or 'none'}); one is expected, or one that is called {DATA!r}."
        )
    found = arrays[DATA] if DATA in arrays else next(iter(arrays.values()))
    return found, np.column_stack(chosen) if chosen else None


def _take(parts: dict[str, Array], name: str, path: Path, what: str) -> Array:
    if name not in parts:
        raise InputError(f"support: targets names {name!r}, but {path} has no such {what}. It has {', '.join(map(repr, parts))}.")
    return parts.pop(name)
