"""What users pass, as numbers and objects of the expected kind; what is none of them is named with what was received."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.errors import InputError

T = TypeVar("T")

# Letters of a value that a message shows.
MOST_SHOWN = 60


def show(value: object) -> str:
    """A value for messages, shortened: its type, and what it looks like."""
    try:
        text = repr(value) if not isinstance(value, int) or abs(value) < 10**18 else "a number of many digits"
    except Exception:
        # A damaged object cannot even be printed.
        text = "that cannot be printed"
    return f"{type(value).__name__} {shorten(text)}"


def shorten(text: str, most: int = MOST_SHOWN) -> str:
    """A text for messages, in one line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[:most] + " ..."


def as_numbers(value: Any, where: str) -> Array:
    """A float64 copy of an array of numbers; `where` is what the message calls it, such as "Program: cost"."""
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value.copy()
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiubO":
            raise TypeError(f"type {array.dtype}")
        if np.ma.is_masked(value) or (array.dtype.kind == "O" and any(entry is None for entry in array.flat)):
            raise TypeError("entries are missing")
        return np.array(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{where} is not accepted: numbers are expected, received {show(value)} ({error}).") from None


def as_number(value: Any, where: str) -> float:
    """One number."""
    array = as_numbers(value, where)
    if array.ndim:
        raise InputError(f"{where} is not accepted: one number is expected, received {show(value)}.")
    return float(array)


def as_whole(value: Any, where: str) -> int:
    """One whole number; a float without a fraction is one."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        return int(value) if isinstance(value, float) and value.is_integer() else operator.index(value)
    except TypeError:
        raise InputError(f"{where} is not accepted: a whole number is expected, received {show(value)}.") from None


def as_flag(value: Any, where: str) -> bool:
    """True or False, also as 1 or 0."""
    if not isinstance(value, bool | int | np.bool_) or value not in (0, 1):
        raise InputError(f"{where} is not accepted: True or False is expected, received {show(value)}.")
    return bool(value)


def as_path(value: Any, where: str) -> Path:
    """The path of a file."""
    if not isinstance(value, str | Path):
        raise InputError(f"{where} is not accepted: the path of a file is expected, received {show(value)}.")
    return Path(value)


def as_name(value: Any, where: str) -> str | None:
    """A text, or None."""
    if value is not None and not isinstance(value, str):
        raise InputError(f"{where} is not accepted: a text or None is expected, received {show(value)}.")
    return value


def as_names(value: Any, where: str) -> tuple[str, ...]:
    """Names one by one: a text alone is none of them but a name itself."""
    if isinstance(value, str | bytes):
        raise InputError(f"{where} is not accepted: a list of names is expected, received {show(value)}.")
    names = _as_tuple(value, where, "names")
    for name in names:
        if not isinstance(name, str | int | np.integer):
            raise InputError(f"{where} is not accepted: names are texts, received {show(name)} among them.")
    return tuple(map(str, names))


def require(value: Any, kind: type[T], where: str) -> T:
    """`value`, if it is an instance of `kind`."""
    if not isinstance(value, kind):
        raise InputError(f"{where} is not accepted: {_article(kind.__name__)} is expected, received {show(value)}.")
    return value


def require_all(value: Any, kind: type[T], where: str) -> tuple[T, ...]:
    """All of `value`, if each is an instance of `kind`."""
    items = _as_tuple(value, where, f"{kind.__name__} objects")
    return tuple(require(item, kind, f"{where}[{number}]") for number, item in enumerate(items))


def require_iterable(value: Any, where: str) -> tuple[Any, ...]:
    """The entries of a list; a text is none."""
    return _as_tuple(value, where, "entries")


def check_places(matrix: Any, where: str) -> None:
    """Raise InputError if a sparse matrix has entries outside of itself, which compiled code would read and write all the same."""
    try:
        if matrix.format in ("csr", "csc", "bsr"):
            matrix.check_format(full_check=True)
        elif matrix.format == "coo":
            sp.coo_array(matrix)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where} is not accepted: the sparse matrix is damaged ({error}).") from None


def _as_tuple(value: Any, where: str, what: str) -> tuple[Any, ...]:
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        return tuple(value)
    except (TypeError, ValueError):
        raise InputError(f"{where} is not accepted: a list of {what} is expected, received {show(value)}.") from None


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'AEIOU' else 'a'} {noun}"
