"""Sizes as the command line and the records write them."""

from __future__ import annotations


class SizeError(ValueError):
    """A size that the experiment cannot read."""


def read_number(size: str) -> int:
    """A size that is a whole number, such as "800"."""
    if not size.isdigit() or int(size) < 1:
        raise SizeError(f"A size of this experiment is a whole number; received {size!r}.")
    return int(size)
