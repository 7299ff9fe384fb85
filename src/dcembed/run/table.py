"""The tables of the live log: their columns, and lines of them. No line has more than 79 letters."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, nan

from dcembed.gap import show_gap
from dcembed.result import Iteration, show_violation
from dcembed.run.voice import WIDTH

# Title and width of each column but the last, which has words. With bounds there are two more.
COLUMNS = {"time": 8, "start": 5, "steps": 6, "best feasible": 14}
COLUMNS_WITH_BOUNDS = {**COLUMNS, "bound": 14, "gap": 9}
# A line for every step.
COLUMNS_OF_STEPS = {"time": 8, "start": 5, "iter": 5, "objective": 14, "violation": 9, "penalty": 7, "step": 7}
# Solver's words that need not be said.
USUAL = ("optimal", "solved", "piqp_solved")


@dataclass(frozen=True)
class Standing:
    """What is known so far, in the sense of the program: the best feasible objective (NaN for none), the bound and the gap.

    Without a feasible point, `violation` is the least that was met.
    """

    best: float = nan
    bound: float = inf
    gap: float = inf
    violation: float = inf


def titles(columns: dict[str, int]) -> str:
    """The first line of a table."""
    return " ".join(f"{title:>{width}}" for title, width in columns.items()) + "   at work"


def line(columns: dict[str, int], cells: dict[str, str], words: str, is_new: bool = False) -> str:
    """A line, marked where it has a better point; a cell that is not given stays empty, and of the words there are as many as fit."""
    row = " ".join(f"{cells.get(title, ''):>{width}}" for title, width in columns.items()) + (" * " if is_new else "   ")
    return f"{row}{_fit(words, WIDTH - len(row))}".rstrip()


def _fit(words: str, room: int) -> str:
    """As many whole words as there is room for; of one that is longer than that its beginning."""
    if len(words) <= room:
        return words
    begun = words[: max(0, room + 1)].rpartition(" ")[0].rstrip(" ,:")
    return begun or words[: max(0, room)]


def show_seconds(seconds: float) -> str:
    """A time in at most eight letters."""
    return f"{seconds:.2f}s" if seconds < 9999.0 else f"{seconds:.0f}s"


def standing_cells(standing: Standing) -> dict[str, str]:
    """The cells of what is known."""
    best = _number(standing.best)
    if best == "-" and isfinite(standing.violation):
        best = f"off by {standing.violation:.2g}"
    return {"best feasible": best, "bound": _number(standing.bound), "gap": show_gap(standing.gap)}


def step_cells(record: Iteration) -> dict[str, str]:
    """The cells of a step."""
    values = {"objective": f"{record.objective:.8g}", "violation": show_violation(record.violation)}
    sizes = {"penalty": f"{record.penalty:.2g}", "step": f"{record.step:.2g}"}
    return {"time": show_seconds(record.seconds), "start": str(record.start), "iter": str(record.number), **values, **sizes}


def step_words(record: Iteration) -> str:
    """Which step it was, and what its solver said where that was not the usual."""
    said = "" if record.solver_status.lower() in USUAL else record.solver_status
    return ": ".join(filter(None, (record.kind, said)))


def _number(value: float) -> str:
    return f"{value:.8g}" if isfinite(value) else "-"
