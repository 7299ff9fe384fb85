"""Numbers as the report shows them."""

from __future__ import annotations

import numpy as np

from benchmarks.methods.table import METHODS
from benchmarks.problems.experiments import Experiment

NOTHING = "-"
# Decimals of an objective.
DIGITS = {"qp": 6, "water": 2, "pooling": 4, "boxes": 6}
OBJECTIVE_TITLES = {
    "qp": "Objective (lower is better)",
    "water": "Samples made potable",
    "pooling": "Profit (higher is better)",
    "boxes": "Risk (higher is better)",
}


def size_name(experiment: Experiment, size: str) -> str:
    """A size as a person thinks of it, with what the command line calls it where that differs."""
    number = f"{experiment.order(size):,}"
    if experiment.family == "pooling":
        return f"{number} (m = {size})"
    return f"{number} ({size})" if "x" in size else number


def objective(experiment: Experiment, value: float | None) -> str:
    """An objective in the sense that a person thinks of it."""
    return NOTHING if value is None else f"{experiment.sign * value + 0.0:.{DIGITS[experiment.family]}f}"


def number(value: float | None) -> str:
    """About three digits."""
    if value is None:
        return NOTHING
    size = abs(value)
    return (
        f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 0.1 else f"{value:.3f}" if size >= 1e-3 or size == 0 else f"{value:.0e}"
    )


def seconds(value: float | None) -> str:
    """A time; nothing where it never came."""
    if value is None or not np.isfinite(value):
        return NOTHING
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def times(ratio: float) -> str:
    """A factor."""
    return f"{ratio:,.2g} times" if ratio < 1 else f"{ratio:,.1f} times" if ratio < 100 else f"{ratio:,.0f} times"


def percent(value: float | None) -> str:
    """A share in percent; nothing where it is not known."""
    return NOTHING if value is None or not np.isfinite(value) else f"{number(value)} %"


def with_range(middle: float | None, values: list[float], unit: str = "") -> str:
    """A mean with the range over the trials below it, in small print."""
    if middle is None:
        return NOTHING
    low, high = (number(min(values)), number(max(values))) if values else ("", "")
    return f"{number(middle)}{unit}" if low == high else f"{number(middle)}{unit}<br><sub>{low} to {high}{unit}</sub>"


def label(method: str) -> str:
    """What a person calls a method."""
    return METHODS[method].label


def listed(words: list[str]) -> str:
    """Words with commas and an "and"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""
