"""Layers and functions of torch that go in, one construction per row, for all ways that lead from torch to a network."""

from __future__ import annotations

from . import (
    activations,
    arithmetic,
    control_flow,
    normalization,
    reductions,
    resizing,
    sequences,
    shapes,
    weights,
    windows,
)
from .table import Apply, Construction

__all__ = ["BY_NAME", "CONSTRUCTIONS", "NAMES", "Apply", "Construction", "choose"]

_SUBJECTS = (activations, arithmetic, windows, normalization, resizing, shapes, reductions, weights, sequences, control_flow)
CONSTRUCTIONS = [row for subject in _SUBJECTS for row in subject.ROWS.rows]
BY_NAME = {row.name: row for row in CONSTRUCTIONS}
NAMES = list(BY_NAME)
assert len(BY_NAME) == len(CONSTRUCTIONS)


def choose(*names: str) -> list[str]:
    """The same names, all of which are in the table."""
    unknown = [name for name in names if name not in BY_NAME]
    if unknown:
        raise ValueError(f"The table of constructions has no {', '.join(unknown)}.")
    return list(names)
