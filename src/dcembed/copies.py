"""Frozen data with some fields changed, without the generality of `dataclasses.replace`.

A step of a search makes some forty such copies, and what is checked and computed at each of them takes longer than a small master's rows.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

T = TypeVar("T")


def replace(original: T, **changes: Any) -> T:
    """A copy of a dataclass whose fields are those of the original, apart from the changes; nothing is checked or computed again.

    What it has computed once (`cached_property`) stays with the original, and a `__post_init__` is not called.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Interval:
    ...     lb: float
    ...     ub: float
    >>> replace(Interval(0.0, 1.0), ub=2.0)
    Interval(lb=0.0, ub=2.0)
    """
    kind, own = type(original), vars(original)
    names = _names.get(kind) or _find_names(kind)
    if not changes.keys() <= names:
        raise TypeError(f"{kind.__name__} has no field {sorted(changes.keys() - names)}.")
    copy = object.__new__(kind)
    vars(copy).update({name: own[name] for name in names}, **changes)
    return copy


# The fields of each kind of dataclasses that was copied so far.
_names: dict[type, frozenset[str]] = {}


def _find_names(kind: Any) -> frozenset[str]:
    return _names.setdefault(kind, frozenset(field.name for field in fields(kind)))
