"""The pictures of the report, each drawn into a PNG file. A method has one colour, marker and name in all of them; names stand at the ends of the lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from benchmarks.harness import metrics
from benchmarks.methods.table import METHODS
from benchmarks.report.comparison import OURS, Sweep, speed_up

# Colour and marker of each method.
LOOKS = {
    "dcembed": ("#0b5fa5", "o"),
    "shared": ("#e07b00", "s"),
    "two-path": ("#b8a000", "D"),
    "big-m": ("#8a8f98", "v"),
    "big-m-obbt": ("#3c4149", "^"),
    "big-m-cuts": ("#5f6b7a", "H"),
    "pgd": ("#1f8a4c", "P"),
    "ipopt": ("#7a1f5c", "d"),
    "ipopt-lbfgs": ("#c98bb9", "8"),
    "attack": ("#4f6d2f", "1"),
    "relax-and-walk": ("#a0522d", "2"),
    "dual-decomposition": ("#5a7d9a", "3"),
    "complementarity": ("#8e44ad", "X"),
    "awasthi": ("#c060c0", "h"),
    "greedy": ("#0aa5a5", "*"),
    "gurobi-ml": ("#d62839", "<"),
    "pyscipopt-ml": ("#8c5a3c", ">"),
    "pyscipopt-ml-sos": ("#c69a6d", "4"),
    "omlt": ("#e75a9a", "p"),
    "omlt-partition": ("#a83267", "+"),
    "omlt-complementarity": ("#f2a6c6", "x"),
}
STYLE = {
    "font.size": 11,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#60666e",
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlesize": 12,
    "axes.grid": True,
    "grid.color": "#e3e6ea",
    "grid.linewidth": 0.8,
}
PANEL = 6.6, 4.2
# Vertical space between two names, in points.
NAME_SPACING = 13.0
SMALLEST_NPI = 0.01
FIRST_SECOND = 0.03

Draw = Callable[[Axes, Sweep], dict[str, tuple[float, float]]]


def draw_npi(sweeps: Sequence[Sweep], folder: Path) -> str:
    """NPI against size."""
    return _panels(sweeps, folder, "npi.png", _npi_panel)


def draw_trajectories(sweeps: Sequence[Sweep], folder: Path) -> str:
    """Gap closed over time at the largest size that the most methods were run on."""
    return _panels(sweeps, folder, "trajectories.png", _trajectory_panel)


def draw_speed_up(sweeps: Sequence[Sweep], folder: Path) -> str:
    """How many times sooner dcembed is as good as each other method ever gets."""
    return _panels(sweeps, folder, "speed-up.png", _speed_up_panel)


def _panels(sweeps: Sequence[Sweep], folder: Path, file: str, draw: Draw) -> str:
    num_columns = min(2, len(sweeps))
    num_rows = -(-len(sweeps) // num_columns)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(PANEL[0] * num_columns, PANEL[1] * num_rows), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.15, h_pad=0.12)
        grid = np.atleast_1d(figure.subplots(num_rows, num_columns)).reshape(-1)
        ends = [(axes, draw(axes, sweep)) for axes, sweep in zip(grid, sweeps, strict=False)]
        for axes in grid[len(sweeps) :]:
            axes.set_visible(False)
        labels = [label for axes, end in ends for label in _names(figure, axes, end)]
        for label in labels:
            label.set_in_layout(True)
        figure.savefig(folder / file, dpi=130)
    return file


def _npi_panel(axes: Axes, sweep: Sweep) -> dict[str, tuple[float, float]]:
    ends = {}
    for method in sweep.methods:
        there = [size for size in sweep.sizes if (size, method) in sweep.cells and sweep.cells[size, method].npi is not None]
        if there:
            at = [sweep.sizes.index(size) for size in there]
            cells = [sweep.cells[size, method] for size in there]
            value = np.maximum([cell.npi for cell in cells], SMALLEST_NPI)
            low = np.maximum([min(cell.npi_of_trial.values()) for cell in cells], SMALLEST_NPI)
            high = np.maximum([max(cell.npi_of_trial.values()) for cell in cells], SMALLEST_NPI)
            _line(axes, method, at, value)
            axes.fill_between(at, low, high, color=LOOKS[method][0], alpha=0.10, linewidth=0)
            ends[method] = (at[-1], value[-1])
    _log_axis(axes, "%")
    axes.set_ylabel("NPI, % (lower is better)")
    _size_axis(axes, sweep)
    axes.set_title(sweep.experiment.title)
    return ends


def _trajectory_panel(axes: Axes, sweep: Sweep) -> dict[str, tuple[float, float]]:
    size = max(sweep.sizes, key=lambda s: ((s, OURS) in sweep.cells, len(_ran(sweep, s)), sweep.sizes.index(s)))
    ran = _ran(sweep, size)
    axes.set_title(f"{sweep.experiment.title}: {_size_name(sweep, size)}")
    if not ran:
        axes.text(0.5, 0.5, "no method could be run", transform=axes.transAxes, ha="center", color="#60666e")
        return {}
    horizon = max(record.time_limit for method in ran for record in sweep.cells[size, method].records)
    # Means over different trials do not belong in one picture.
    common = set.intersection(*(set(sweep.cells[size, method].npi_of_trial) for method in ran))
    times = np.geomspace(FIRST_SECOND, horizon, 600)
    ends = {}
    for method in ran:
        cell = sweep.cells[size, method]
        records = [record for record in cell.records if record.trial in (common or cell.npi_of_trial)]
        closed = np.mean([_gap_closed(record, sweep.references[record.instance], times) for record in records], axis=0)
        axes.step(
            times, closed, where="post", color=LOOKS[method][0], linewidth=2.8 if method == OURS else 1.7, zorder=3 if method == OURS else 2
        )
        ends[method] = (times[-1], closed[-1])
    axes.set_xscale("log")
    axes.set_xlim(FIRST_SECOND, horizon)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_ylim(-4, 104)
    axes.set_xlabel("seconds")
    axes.set_ylabel("gap closed, %")
    return ends


def _gap_closed(record, reference: float, times: np.ndarray) -> np.ndarray:
    initial = record.initial_objective
    if not initial > reference:
        return np.full(times.size, 100.0)
    return 100.0 * (initial - np.minimum(initial, metrics.best_at(record, times))) / (initial - reference)


def _speed_up_panel(axes: Axes, sweep: Sweep) -> dict[str, tuple[float, float]]:
    ends, never = {}, []
    for method in sweep.methods:
        points = [(at, value) for at, size in enumerate(sweep.sizes) if (value := _speed_up(sweep, size, method)) is not None]
        reached = [(at, value) for at, value in points if value > 0]
        never += [(at, method) for at, value in points if value == 0]
        if reached:
            at, value = zip(*reached, strict=True)
            _line(axes, method, at, value)
            ends[method] = (at[-1], value[-1])
    axes.set_yscale("log")
    axes.axhline(1.0, color="#60666e", linewidth=1.2, linestyle="--", zorder=1)
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, 0.4), max(high, 20.0))
    for at, method in never:
        axes.plot([at], [axes.get_ylim()[0]], marker="v", markersize=10, color=LOOKS[method][0], clip_on=False, zorder=4)
        ends.setdefault(method, (at, axes.get_ylim()[0]))
    _log_axis(axes, "x")
    axes.set_ylabel("dcembed is sooner by")
    _size_axis(axes, sweep)
    axes.set_title(sweep.experiment.title)
    if not ends:
        axes.text(0.5, 0.5, "no other method improved on the start", transform=axes.transAxes, ha="center", color="#60666e")
    return ends


def _speed_up(sweep: Sweep, size: str, method: str) -> float | None:
    """Geometric mean over the trials; 0 if in one of them dcembed never got as far."""
    if method == OURS or (size, method) not in sweep.cells or (size, OURS) not in sweep.cells:
        return None
    ours = {record.trial: record for record in sweep.cells[size, OURS].records}
    pairs = [(ours[record.trial], record) for record in sweep.cells[size, method].records if record.trial in ours]
    values = [value for own, other in pairs if (value := speed_up(own, other)) is not None]
    if not values:
        return None
    return 0.0 if min(values) == 0 else float(np.exp(np.mean(np.log(values))))


def _ran(sweep: Sweep, size: str) -> list[str]:
    return [method for method in sweep.methods if (size, method) in sweep.cells and sweep.cells[size, method].npi is not None]


def _line(axes: Axes, method: str, at: Sequence[float], value: Sequence[float]) -> None:
    colour, marker = LOOKS[method]
    ours = method == OURS
    axes.plot(
        at, value, color=colour, marker=marker, markersize=7 if ours else 5.5, linewidth=2.8 if ours else 1.6, zorder=3 if ours else 2
    )


def _size_axis(axes: Axes, sweep: Sweep) -> None:
    """The sizes side by side, however far apart."""
    names = [f"{sweep.experiment.order(size):,}" for size in sweep.sizes]
    axes.set_xlabel(sweep.experiment.axis)
    room = 0.04 * max(len(names) - 1, 1)
    axes.set_xlim(-room, len(names) - 1 + room)
    axes.set_xticks(range(len(names)), names, rotation=30 if sum(map(len, names)) > 30 else 0)


def _log_axis(axes: Axes, unit: str) -> None:
    """A logarithmic axis with enough numbers on it, however few decades it spans."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high / low < 200 else (1.0,)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} {unit}"))
    axes.yaxis.set_minor_locator(NullLocator())


def _size_name(sweep: Sweep, size: str) -> str:
    number, axis = f"{sweep.experiment.order(size):,}", sweep.experiment.axis.split(" (")[0]
    return f"{number} {axis}" if axis.endswith("s") else f"{axis} {number}"


def _names(figure: Figure, axes: Axes, ends: dict[str, tuple[float, float]]) -> list:
    """Write the name of each method beside the end of its line, moved apart where ends are close."""
    figure.draw_without_rendering()
    to_axes = axes.transData + axes.transAxes.inverted()
    height = axes.get_window_extent().height * 72 / figure.dpi
    order = sorted(ends, key=lambda method: to_axes.transform(ends[method])[1])
    wanted = np.array([to_axes.transform(ends[method])[1] * height for method in order])
    placed = _apart(wanted, NAME_SPACING, height) / height if order else wanted
    labels = []
    for method, y in zip(order, placed, strict=True):
        colour, _ = LOOKS[method]
        labels.append(
            axes.annotate(
                METHODS[method].label,
                xy=ends[method],
                xytext=(1.06, y),
                textcoords=axes.transAxes,
                color=colour,
                va="center",
                ha="left",
                fontsize=10,
                fontweight="bold" if method == OURS else "normal",
                annotation_clip=False,
                arrowprops={
                    "arrowstyle": "-",
                    "color": colour,
                    "linewidth": 1.0,
                    "linestyle": ":",
                    "relpos": (0, 0.5),
                    "shrinkA": 1,
                    "shrinkB": 4,
                },
            )
        )
    return labels


def _apart(wanted: np.ndarray, spacing: float, height: float) -> np.ndarray:
    """Positions in ascending order, at least `spacing` apart, as near to the wanted ones as a few sweeps bring them."""
    placed = wanted.astype(float).copy()
    for _ in range(200):
        gaps = np.diff(placed)
        close = np.flatnonzero(gaps < spacing - 1e-6)
        if close.size == 0:
            break
        for number in close:
            middle = (placed[number] + placed[number + 1]) / 2
            placed[number], placed[number + 1] = middle - spacing / 2, middle + spacing / 2
    placed += max(0.0, -placed[0]) if placed.size else 0.0
    placed -= max(0.0, placed[-1] - height) if placed.size else 0.0
    return placed
