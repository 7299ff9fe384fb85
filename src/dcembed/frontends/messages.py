"""Words that messages of several front ends share."""

from __future__ import annotations

CARRIES = "dcembed takes linear, indicator and convex quadratic constraints beside the networks"


def shorten(text: object, length: int = 120) -> str:
    """One line of at most `length` characters."""
    line = " ".join(str(text).split())
    return line if len(line) <= length else line[: length - 3] + "..."
