"""When a method stands still."""

from __future__ import annotations


def agree(one: float, other: float, objective_tol: float) -> bool:
    """Whether two objectives are the same to the objective tolerance, relative to max(1, |F|)."""
    return abs(one - other) <= objective_tol * max(1.0, abs(one))
