"""The table of the live log: its columns, and a line of it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, nan

from dcembed.gap import show_gap

# Title and width of each column but the last, which has words. With bounds there are two more, and the others are a little narrower.
COLUMNS = {
    "start": 5,
    "iter": 5,
    "time": 8,
    "objective": 16,
    "violation": 10,
    "best feasible": 16,
    "penalty": 9,
    "step": 9,
}
COLUMNS_WITH_BOUNDS = {
    "start": 5,
    "iter": 5,
    "time": 8,
    "objective": 15,
    "violation": 9,
    "best feasible": 15,
    "bound": 15,
    "gap": 8,
    "penalty": 7,
    "step": 7,
}


@dataclass(frozen=True)
class Standing:
    """What is known so far, in the sense of the program: the best feasible objective (NaN for none), the bound and the gap."""

    best: float = nan
    bound: float = inf
    gap: float = inf


def titles(columns: dict[str, int]) -> str:
    """The first line of the table."""
    return " ".join(f"{title:>{width}}" for title, width in columns.items()) + "  solver"


def line(columns: dict[str, int], cells: dict[str, str], words: str) -> str:
    """A line; a cell that is not given stays empty."""
    return " ".join(f"{cells.get(title, ''):>{width}}" for title, width in columns.items()) + f"  {words}"


def standing_cells(standing: Standing) -> dict[str, str]:
    """The cells of what is known."""
    shown = {"best feasible": standing.best, "bound": standing.bound}
    return {title: f"{value:.9g}" if isfinite(value) else "-" for title, value in shown.items()} | {"gap": show_gap(standing.gap)}
