"""A picture of a run: how the best feasible point and the bound improved, and what the subproblems did."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dcembed.arrays import Array
from dcembed.plot.figures import BLUE, GREEN, GREY, RED, new_figure, tidy
from dcembed.program.program import Program

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Improving points that are further from the last one than most by this factor are not in the picture.
FAR = 4.0


class Run(Protocol):
    """What a picture needs of a `dcembed.Result`."""

    @property
    def seconds(self) -> float:
        """When, since the run began."""

    @property
    def history(self) -> Sequence[Step]:
        """Its steps."""

    @property
    def incumbents(self) -> Sequence[tuple[float, float]]:
        """(seconds, objective) of improving points."""

    @property
    def bounds(self) -> Sequence[tuple[float, float]]:
        """(seconds, bound) of better bounds."""

    @property
    def program(self) -> Program:
        """What was solved."""

    @property
    def feasibility_tol(self) -> float:
        """From which violation on a point is not feasible."""


class Step(Protocol):
    """What it needs of a step."""

    @property
    def seconds(self) -> float:
        """When, since the run began."""

    @property
    def objective(self) -> float:
        """Of its candidate."""

    @property
    def violation(self) -> float:
        """Of its candidate."""


def plot_run(result: Run, path: str | Path, title: str = "") -> None:
    """Draw the incumbents and the bounds over time, and below them the violation of every candidate, to a file.

    Parameters
    ----------
    result
        Of `dcembed.solve`.
    path
        A .png, .pdf or .svg file.
    title
        A line above the picture.
    """
    draw_run(result, title).savefig(path, dpi=130)


def draw_run(result: Run, title: str = "") -> Figure:
    """The same picture as a figure; no window is opened."""
    figure = new_figure((8, 5.5))
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1.4])
    end = max(result.seconds, 1e-3)
    _draw_objective(upper, result, end)
    _draw_violation(lower, result)
    upper.set_title(title, loc="left", fontsize=11)
    lower.set_xlabel("seconds")
    lower.set_xlim(0, end * 1.02)
    for axes in (upper, lower):
        tidy(axes)
    return figure


def _draw_objective(axes: Axes, result: Run, end: float) -> None:
    feasible = [record for record in result.history if record.violation <= result.feasibility_tol]
    axes.plot([r.seconds for r in feasible], [r.objective for r in feasible], ".", color=GREY, markersize=6, label="feasible candidates")
    axes.set_ylabel("objective" + (" (maximized)" if result.program.maximize else " (minimized)"))
    bounds = [entry for entry in result.bounds if np.isfinite(entry[1])]
    if bounds:
        since, known = (np.array(part) for part in zip(*bounds, strict=True))
        axes.step([*since, end], [*known, known[-1]], where="post", color=GREEN, linewidth=1.8, linestyle="--", zorder=3, label="bound")
    if not result.incumbents:
        axes.text(0.5, 0.5, "no feasible point was found", transform=axes.transAxes, ha="center", va="center", color=RED)
        return
    seconds, values = (np.array(part) for part in zip(*result.incumbents, strict=True))
    axes.step([*seconds, end], [*values, values[-1]], where="post", color=BLUE, linewidth=1.8, label="best feasible point")
    axes.plot(seconds, values, "o", color=BLUE, markersize=4.5)
    axes.annotate(
        f"{values[-1]:.7g}",
        (seconds[-1], values[-1]),
        xytext=(0, 8 if result.program.maximize else -14),
        textcoords="offset points",
        ha="left" if seconds[-1] < 0.8 * end else "right",
        color=BLUE,
        fontweight="bold",
    )
    axes.set_ylim(*_window(values, [known for _, known in bounds[-1:]]))
    axes.legend(loc="best", frameon=False)


def _window(values: Array, bounds: Sequence[float]) -> tuple[float, float]:
    """From where to where objectives are drawn: the last one, the last bound, and what is not much further off than most improving points.

    The first points of a run are often so far from the rest that nothing else could be told apart.
    """
    off = np.abs(values - values[-1])
    near = values[off <= FAR * max(float(np.median(off)), *(abs(bound - values[-1]) for bound in bounds), 0.0)]
    low, high = float(min([*near, *bounds])), float(max([*near, *bounds]))
    room = 0.15 * (high - low) or 0.05 * max(abs(low), 1e-6)
    return low - room, high + room


def _draw_violation(axes: Axes, result: Run) -> None:
    """On a logarithmic scale; what is exactly feasible is drawn at its lower end."""
    tolerance = result.feasibility_tol
    floor = tolerance * 1e-4
    known = [record for record in result.history if np.isfinite(record.violation)]
    seconds = np.array([record.seconds for record in known])
    violation = np.array([max(record.violation, floor) for record in known])
    fine = violation <= tolerance
    axes.set_yscale("log")
    axes.set_ylim(floor / 3, max(violation.max(initial=0.0), tolerance) * 10)
    axes.axhline(tolerance, color=RED, linewidth=1, linestyle="--", label=f"tolerance {tolerance:.0e}")
    axes.plot(seconds[fine], violation[fine], ".", color=BLUE, markersize=6)
    axes.plot(seconds[~fine], violation[~fine], "x", color=RED, markersize=5)
    axes.set_ylabel("violation")
    axes.legend(loc="best", frameon=False, fontsize=9)
