"""Rows of the study of optimism as a picture: what every device promises and what is true, and how the distance goes with more data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.studies.optimism_devices import DEVICES
from benchmarks.studies.optimism_problems import PROBLEMS, true_optimum
from benchmarks.studies.optimism_rows import Row

BLUE, ORANGE, GREEN, GRAY = "#1f5fa8", "#d9822b", "#2e8b57", "#8a9099"
SHOWN = ("yield", "reactor")
COLORS = {
    "best measurement": GRAY,
    "plain": "#c0392b",
    "hull": BLUE,
    "mean": ORANGE,
    "worst case": GREEN,
    "hull + worst case": "#6b4fa0",
}


def draw_picture(rows: Sequence[Row], path: Path, points: int) -> None:
    """Above all devices at one number of points, below the main ones at all; a column for each problem."""
    figure = Figure(figsize=(10, 8.6), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(2, 2, height_ratios=[3, 2])
    for place, name in enumerate(SHOWN):
        of_problem = [row for row in rows if row.problem == name and np.isfinite(row.predicted)]
        _draw_devices(panels[0, place], [row for row in of_problem if row.points == points], name, points)
        _draw_points(panels[1, place], of_problem)
    panels[0, 1].set_yticklabels([])
    panels[1, 0].set_ylabel("predicted - true, median")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    handles, labels = panels[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
    figure.savefig(path, dpi=110)


def _draw_devices(axes: Any, rows: Sequence[Row], name: str, points: int) -> None:
    for place, device in enumerate(DEVICES):
        found = [row for row in rows if row.device == device]
        if not found:
            axes.text(0.99, place, "not run", transform=axes.get_yaxis_transform(), color=GRAY, fontsize=9, ha="right", va="center")
            continue
        promised, true = (np.quantile([getattr(row, what) for row in found], [0.25, 0.5, 0.75]) for what in ("predicted", "true"))
        first = "_" if place else ""
        axes.plot([true[1], promised[1]], [place, place], color="#d5d9de", linewidth=1.2, zorder=1)
        axes.plot(promised[[0, 2]], [place - 0.14] * 2, color=ORANGE, linewidth=3, alpha=0.5, solid_capstyle="butt")
        axes.plot(true[[0, 2]], [place + 0.14] * 2, color=BLUE, linewidth=3, alpha=0.5, solid_capstyle="butt")
        axes.plot(promised[1], place - 0.14, "o", color=ORANGE, label=first + "predicted (median, quartiles)")
        axes.plot(true[1], place + 0.14, "o", color=BLUE, label=first + "true")
    optimum = true_optimum(PROBLEMS[name])[0]
    axes.axvline(optimum, color=GREEN, linewidth=1.4, label="true optimum")
    _cut(axes, rows, optimum)
    measured = [row.best_data for row in rows]
    if measured:
        axes.axvline(np.median(measured), color=GRAY, linewidth=1.2, linestyle="--", label="best point of the data, in truth")
    axes.set(yticks=range(len(DEVICES)), yticklabels=list(DEVICES), ylim=(len(DEVICES) - 0.4, -0.6))
    axes.set_title(f"{name}, {points} points", loc="left", fontsize=11)
    axes.set_xlabel("objective (maximized)")
    _plain(axes)


def _cut(axes: Any, rows: Sequence[Row], optimum: float) -> None:
    """A bar that reaches far to the left would leave no room for the others: it ends at the frame, with a number."""
    least = {
        device: np.quantile([row.true for row in rows if row.device == device], [0.25, 0.5]) for device in {row.device for row in rows}
    }
    if not least:
        return
    limit = optimum - 2.0 * (optimum - min(middle for _, middle in least.values()))
    if min(low for low, _ in least.values()) >= limit:
        return
    axes.set_xlim(left=limit)
    for place, device in enumerate(DEVICES):
        if device in least and least[device][0] < limit:
            axes.text(limit, place + 0.46, f" to {least[device][0]:.1f}", color=BLUE, fontsize=9, va="center")


def _draw_points(axes: Any, rows: Sequence[Row]) -> None:
    for device, color in COLORS.items():
        sizes = sorted({row.points for row in rows if row.device == device})
        optimism = [np.median([row.optimism for row in rows if row.device == device and row.points == size]) for size in sizes]
        axes.plot(sizes, optimism, "o-", color=color, linewidth=1.8, markersize=5, label=device)
    axes.axhline(0.0, color="black", linewidth=0.8)
    sizes = sorted({row.points for row in rows})
    axes.set_xscale("log")
    axes.set(xticks=sizes, xticklabels=[f"{size:,}" for size in sizes], xlabel="points of training data")
    axes.set_xticks([], minor=True)
    axes.set_yscale("symlog", linthresh=1.0)
    ticks = [-1, -0.5, 0, 0.5, 1, 2, 5, 10, 20, 50]
    axes.set(yticks=ticks, yticklabels=[f"{tick:g}" for tick in ticks], ylim=(-1.0, 50.0))
    axes.set_yticks([], minor=True)
    _plain(axes)


def _plain(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="both", color="#eceef1", linewidth=0.8)
    axes.set_axisbelow(True)
