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
from benchmarks.harness.records import Record
from benchmarks.methods.table import METHODS
from benchmarks.report.comparison import OURS, Sweep, improved
from benchmarks.report.names import Name, write_names

# Colour and marker of each method: apart in lightness as well, for eyes that see fewer colours, and never told by colour alone.
LOOKS = {
    "dcembed": ("#0b5fa5", "o"),
    "dcembed-prove": ("#56b4e9", "."),
    "shared": ("#e69f00", "s"),
    "two-path": ("#b8a000", "D"),
    "big-m": ("#8a8f98", "v"),
    "big-m-obbt": ("#3c4149", "^"),
    "big-m-cuts": ("#5f6b7a", "H"),
    "pgd": ("#117733", "P"),
    "ipopt": ("#882255", "d"),
    "ipopt-lbfgs": ("#cc79a7", "8"),
    "attack": ("#4f6d2f", "1"),
    "relax-and-walk": ("#a0522d", "2"),
    "dual-decomposition": ("#999933", "3"),
    "complementarity": ("#8e44ad", "X"),
    "awasthi": ("#aa4499", "h"),
    "greedy": ("#44aa99", "*"),
    "gurobi-ml": ("#d62839", "<"),
    "pyscipopt-ml": ("#8c5a3c", ">"),
    "pyscipopt-ml-sos": ("#c69a6d", "4"),
    "omlt": ("#cc6677", "p"),
    "omlt-partition": ("#a83267", "+"),
    "omlt-complementarity": ("#f2a6c6", "x"),
}
STYLE = {
    "font.size": 11.5,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#60666e",
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlesize": 12.5,
    "axes.grid": True,
    "grid.color": "#e3e6ea",
    "grid.linewidth": 0.8,
}
PANEL, DPI = (6.0, 3.9), 150
GREY = "#a9aeb6"
SMALLEST_NPI = 0.001
FIRST_SECOND = 0.01
# How far apart the error bars of two methods at one size are, in sizes.
DODGE = 0.05

Draw = Callable[[Axes, Sweep], list[Name]]


def draw_npi(sweeps: Sequence[Sweep], folder: Path) -> str:
    """NPI against size: dcembed and the best of the others."""
    return _panels(sweeps, folder, "npi.png", _npi_panel)


def draw_trajectories(sweeps: Sequence[Sweep], folder: Path) -> str:
    """Gap closed over time at the largest size that the most methods were run on."""
    return _panels(sweeps, folder, "trajectories.png", _trajectory_panel)


def rivals(sweep: Sweep) -> list[str]:
    """The methods beside dcembed that are the best of the others, or ahead of dcembed, at some size; those at the start everywhere are not."""
    found = set()
    for size in sweep.sizes:
        behind = {m: value for m in sweep.methods if m != OURS and (value := sweep.behind(size, m)) is not None}
        found |= {m for m, value in behind.items() if value < 0}
        moved = {m: value for m, value in behind.items() if any(improved(record) for record in sweep.cells[size, m].records)}
        found |= {min(moved, key=moved.get)} if moved else set()
    return [method for method in sweep.methods if method in found]


def _panels(sweeps: Sequence[Sweep], folder: Path, file: str, draw: Draw) -> str:
    num_columns = min(2, len(sweeps))
    num_rows = -(-len(sweeps) // num_columns)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(PANEL[0] * num_columns, PANEL[1] * num_rows), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
        grid = np.atleast_1d(figure.subplots(num_rows, num_columns)).reshape(-1)
        drawn = [(axes, draw(axes, sweep)) for axes, sweep in zip(grid, sweeps, strict=False)]
        for axes in grid[len(sweeps) :]:
            axes.set_visible(False)
        for label in [label for axes, names in drawn for label in write_names(figure, axes, names)]:
            label.set_in_layout(True)
        figure.savefig(folder / file, dpi=DPI)
    return file


def _npi_panel(axes: Axes, sweep: Sweep) -> list[Name]:
    named = [OURS, *rivals(sweep)]
    others = [m for m in sweep.methods if m not in named and any(m in _ran(sweep, size) for size in sweep.sizes)]
    names, last = [], None
    for number, method in enumerate([*others, *named]):
        there = [size for size in sweep.sizes if (size, method) in sweep.cells and sweep.cells[size, method].npi is not None]
        if not there:
            continue
        cells = [sweep.cells[size, method] for size in there]
        value = np.maximum([cell.npi for cell in cells], SMALLEST_NPI)
        if method in others:
            at = np.array([sweep.sizes.index(size) for size in there], dtype=float)
            axes.plot(at, value, color=GREY, linewidth=1.2, marker=".", markersize=4, zorder=1)
            last = max(last or (at[-1], value[-1]), (at[-1], value[-1]))
            continue
        at = np.array([sweep.sizes.index(size) for size in there]) + DODGE * (number - len(others) - len(named) / 2)
        low = np.maximum([min(cell.npi_of_trial.values()) for cell in cells], SMALLEST_NPI)
        high = np.maximum([max(cell.npi_of_trial.values()) for cell in cells], SMALLEST_NPI)
        _line(axes, method, at, value, np.maximum([value - low, high - value], 0.0))
        names.append(_name(method, at[-1], value[-1]))
    _log_axis(axes, "%")
    axes.set_ylabel("NPI (lower is better)")
    _size_axis(axes, sweep)
    axes.set_title(f"{sweep.experiment.title}, {sweep.horizon:g} s")
    return names + ([Name(_others_name(others), *last, "#60666e")] if last is not None else [])


def _trajectory_panel(axes: Axes, sweep: Sweep) -> list[Name]:
    size = max(sweep.sizes, key=lambda s: ((s, OURS) in sweep.cells, len(_ran(sweep, s)), sweep.sizes.index(s)))
    ran = _ran(sweep, size)
    axes.set_title(f"{sweep.experiment.title}\n{_size_name(sweep, size)}")
    if not ran:
        axes.text(0.5, 0.5, "no method could be run", transform=axes.transAxes, ha="center", color="#60666e")
        return []
    horizon = max(record.time_limit for method in ran for record in sweep.cells[size, method].records)
    # Means over different trials do not belong in one picture.
    common = set.intersection(*(set(sweep.cells[size, method].npi_of_trial) for method in ran))
    times = np.geomspace(FIRST_SECOND, horizon, 600)
    names, resting, level = [], [], None
    for method in ran:
        cell = sweep.cells[size, method]
        records = [record for record in cell.records if record.trial in (common or cell.npi_of_trial)]
        closed = np.array([_gap_closed(record, sweep.references[record.instance], times) for record in records])
        if method != OURS and not any(improved(record) for record in records):
            resting.append(method)
            level = closed.mean(axis=0)
            continue
        _step(axes, method, times, closed)
        names.append(_name(method, times[-1], closed.mean(axis=0)[-1]))
    if level is not None:
        axes.step(times, level, where="post", color=GREY, linewidth=1.6, zorder=1)
        names.append(Name(_others_name(resting), times[-1], level[-1], "#60666e"))
    axes.set_xscale("log")
    axes.set_xlim(FIRST_SECOND, horizon)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_ylim(-4, 104)
    axes.set_xlabel("seconds")
    axes.set_ylabel("gap closed, %")
    return names


def _gap_closed(record: Record, reference: float, times: np.ndarray) -> np.ndarray:
    initial = record.initial_objective
    if not initial > reference:
        return np.full(times.size, 100.0)
    return 100.0 * (initial - np.minimum(initial, metrics.best_at(record, times))) / (initial - reference)


def _step(axes: Axes, method: str, times: np.ndarray, closed: np.ndarray) -> None:
    """The mean of some trials over time, with a shade over all of them."""
    colour, ours = LOOKS[method][0], method == OURS
    axes.step(times, closed.mean(axis=0), where="post", color=colour, linewidth=2.8 if ours else 1.7, zorder=3 if ours else 2)
    if len(closed) > 1:
        axes.fill_between(times, closed.min(axis=0), closed.max(axis=0), step="post", color=colour, alpha=0.12, linewidth=0)


def _ran(sweep: Sweep, size: str) -> list[str]:
    return [method for method in sweep.methods if (size, method) in sweep.cells and sweep.cells[size, method].npi is not None]


def _line(axes: Axes, method: str, at: Sequence[float], value: Sequence[float], spans: np.ndarray) -> None:
    colour, marker = LOOKS[method]
    ours = method == OURS
    axes.errorbar(
        at,
        value,
        yerr=spans,
        color=colour,
        marker=marker,
        markersize=7 if ours else 6,
        linewidth=2.8 if ours else 1.7,
        elinewidth=1.4,
        capsize=3,
        zorder=4 if ours else 3,
    )


def _name(method: str, x: float, y: float) -> Name:
    return Name(METHODS[method].label, float(x), float(y), LOOKS[method][0], method == OURS)


def _others_name(methods: list[str]) -> str:
    """One name for several methods that are drawn alike."""
    return METHODS[methods[0]].label if len(methods) == 1 else f"{len(methods)} others"


def _size_axis(axes: Axes, sweep: Sweep) -> None:
    """The sizes side by side, however far apart."""
    names = [f"{sweep.experiment.order(size):,}" for size in sweep.sizes]
    axes.set_xlabel(sweep.experiment.axis)
    axes.set_xlim(-0.35, len(names) - 0.65)
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
