"""Columns of a model file by name: exact names, patterns with * and ?, and constants.

Matches of a pattern come in natural order, in which numbers inside names count as numbers: x1, x2, x10.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.errors import InputError

Item = str | float

# A name that is not there is compared with so many others, and only if it is no longer than this: the comparison takes its time.
MOST_COMPARED, LONGEST_COMPARED = 2_000, 100


@dataclass(frozen=True, eq=False)
class Selection:
    """Rows of entries, each a column or a constant.

    Parameters
    ----------
    columns
        Shape (k, width); -1 where the entry is a constant.
    constants
        Shape (k, width); 0 where the entry is a column.
    """

    columns: Array
    constants: Array


def select(names: Sequence[str], items: Any, width: int, what: str) -> Selection:
    """The columns that `items` name, in rows of `width`.

    Parameters
    ----------
    names
        All column names.
    items
        One name, pattern or number, a list of them, or a list of lists: one inner list of single names and numbers per row.
        A list with one item for each of the `width` entries, some of which match several columns, is read entry by entry: the
        matches of an item go down the rows, and an item with one match, or a number, is the same in all rows.
        In any other list the matches follow one another and are cut into rows of `width`.
    width, what
        How many entries a row has, and what to call them in messages.
    """
    listed = items if isinstance(items, list | tuple) else [items]
    if not listed:
        raise InputError(f"{what} is empty; the network has {width}.")
    table = {name: number for number, name in enumerate(names)}
    if any(isinstance(item, list | tuple) for item in listed):
        rows = [[_single(table, entry, what) for entry in _as_row(row, what)] for row in listed]
    else:
        rows = _arrange([_find(table, item, what) for item in listed], width)
    for number, row in enumerate(rows):
        if len(row) != width:
            raise InputError(_miscount(names, rows, number, width, what))
    return Selection(
        np.array([[entry if isinstance(entry, int) else -1 for entry in row] for row in rows], dtype=np.int64),
        np.array([[0.0 if isinstance(entry, int) else float(entry) for entry in row] for row in rows]),
    )


def _arrange(found: list[list[int | _Number]], width: int) -> list[list[Any]]:
    longest = max(len(matches) for matches in found)
    if len(found) == width and longest > 1 and all(len(matches) in (1, longest) for matches in found):
        spread = [matches * longest if len(matches) == 1 else matches for matches in found]
        return [list(row) for row in zip(*spread, strict=True)]
    flat = [entry for matches in found for entry in matches]
    return [flat[first : first + width] for first in range(0, len(flat), width)]


class _Number(float):
    """A constant, told apart from a column number."""


def _find(table: dict[str, int], item: Any, what: str) -> list[Any]:
    if isinstance(item, int | float) and not isinstance(item, bool):
        return [_constant(item, what)]
    if not isinstance(item, str):
        raise InputError(f"{what}: {item!r} is not accepted. Give names, patterns or numbers.")
    if item in table:
        return [table[item]]
    number = _parse(item)
    if number is not None:
        return [number]
    if "*" not in item and "?" not in item:
        raise InputError(f"{what}: there is no column '{item}'. {_hint(table, item)}")
    pattern = _compile(item)
    matches = sorted((name for name in table if pattern.fullmatch(name)), key=natural_key)
    if not matches:
        raise InputError(f"{what}: no column matches '{item}'. {_hint(table, item)}")
    return [table[name] for name in matches]


def _compile(item: str) -> re.Pattern[str]:
    """A pattern as a regular expression.

    What lies between two stars is matched where it first occurs, and that is final: a group (?>...) is not tried again, so that the
    time does not grow exponentially with the stars.
    """
    first, *others = ("".join("." if c == "?" else re.escape(c) for c in part) for part in re.split(r"\*+", item))
    if not others:
        return re.compile(first, re.DOTALL)
    middle = "".join(f"(?>.*?{part})" for part in others[:-1])
    return re.compile(f"{first}{middle}.*{others[-1]}", re.DOTALL)


def _single(table: dict[str, int], entry: Any, what: str) -> Any:
    found = _find(table, entry, what)
    if len(found) != 1:
        raise InputError(f"{what}: '{entry}' matches {len(found)} columns; inside a row of a list of lists each entry is one column.")
    return found[0]


def _as_row(row: Any, what: str) -> list[Any]:
    if not isinstance(row, list | tuple):
        raise InputError(f"{what}: {row!r} stands beside lists. Give a list for every row, or no inner lists at all.")
    return list(row)


def _parse(text: str) -> _Number | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return _Number(number) if np.isfinite(number) else None


def _constant(number: float, what: str) -> _Number:
    try:
        constant = _Number(number)
    except OverflowError:
        constant = _Number(np.inf)
    if not np.isfinite(constant):
        raise InputError(f"{what}: the constant {float(constant)} is not finite.")
    return constant


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Sorts numbers inside names as numbers, by their length and then by their digits: some are too long for Python to convert."""
    parts = (part for part in re.split(r"(\d+)", name) if part)
    return [(0, len(digits := part.lstrip("0")), digits) if part.isdecimal() else (1, 0, part) for part in parts]


def _hint(table: dict[str, int], item: str) -> str:
    close = difflib.get_close_matches(item.strip("*?") or item, list(table)[:MOST_COMPARED], n=3) if len(item) <= LONGEST_COMPARED else []
    some = ", ".join(list(table)[:8]) + (", ..." if len(table) > 8 else "")
    return (f"Did you mean {' or '.join(close)}? " if close else "") + f"The columns are {some}."


def _miscount(names: Sequence[str], rows: list[list[Any]], number: int, width: int, what: str) -> str:
    total = sum(len(row) for row in rows)
    flat = [names[entry] if isinstance(entry, int) else f"{float(entry):g}" for row in rows for entry in row]
    shown = ", ".join(flat[:8]) + (", ..." if total > 8 else "")
    return f"{what}: {total} entries are given ({shown}), but the network has {width} for each evaluation: expected a multiple of {width}."
