"""Words that messages of several front ends share."""

from __future__ import annotations

import inspect
import warnings

CARRIES = "dcembed takes linear, indicator and convex quadratic constraints beside the networks"

PRODUCT = "A product that only the objective needs is taken in the objective itself, convex or not"


def shorten(text: object, length: int = 120) -> str:
    """One line of at most `length` characters."""
    try:
        line = " ".join(str(text).split())
    except Exception:
        # A damaged object cannot even be printed.
        line = f"<{type(text).__name__}>"
    return line if len(line) <= length else line[: length - 3] + "..."


def warn_user(text: str) -> None:
    """Warn at the line of the user's that led here."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "dcembed":
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)
