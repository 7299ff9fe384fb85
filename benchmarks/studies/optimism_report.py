"""Rows of the study of optimism as a table in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.harness.machine import describe_machine
from benchmarks.report.markdown import heading, page, table
from benchmarks.studies.optimism_devices import DEVICES, LONGER, MEASURED, MORE_STEPS, NUM_STEPS
from benchmarks.studies.optimism_picture import draw_picture
from benchmarks.studies.optimism_problems import PROBLEMS, true_optimum
from benchmarks.studies.optimism_rows import Row

# Limits that are missed by less are kept, in units of the output.
MISSED = 0.1
# The number of points at which all devices were run.
POINTS = 600
TITLES = (
    "device",
    "predicted",
    "true",
    "predicted - true, quartiles",
    "below the true optimum",
    "better than the best measurement",
    "limit missed",
    "outside the hull",
    "seconds",
)
WORDS = (
    "Medians over {repetitions} repetitions (fewer where it says so) with data and networks of their own; `python -m benchmarks.studies.optimism` runs all of it and writes this page. Networks have two hidden "
    "layers of 16 ReLU units; ensembles are ten of them, trained on bootstraps. All objectives are maximized. **Predicted** is the objective with the outputs that the device "
    "predicts, without the price of a region; **true** is the same with the outputs of the formula behind the data. **Best measurement** is no network at all: the point of the data that was "
    "best when it was measured, noise included. **Better** is the share of repetitions in which the answer is truly better than what that point is truly worth and misses no limit; "
    "**limit missed** the share in which the true purity is more than 0.1 below its limit, and by how much these miss it on average. **Outside the hull** is in standard deviations of "
    "the data; **seconds** are of the processor, for region and solve. **At a price**: a scaled unit outside costs the standard deviation of the measured objective. MAD is the mean absolute "
    "deviation of the members. All runs are searches from two points of the data with at most 25 steps each."
)


def write_report(rows: Sequence[Row], path: Path, picture: Path) -> None:
    """Both from the rows alone."""
    path.write_text(page(list(blocks(rows))))
    draw_picture(rows, picture, POINTS)


def blocks(rows: Sequence[Row]) -> list[str]:
    """The page: all devices at one number of points, problem by problem, and how optimism goes with more points."""
    parts = [heading("What surrogates promise and what is true", 1), WORDS.format(repetitions=_repetitions(rows))]
    for problem in PROBLEMS.values():
        of_problem = [row for row in rows if row.problem == problem.name and row.points == POINTS]
        if not of_problem:
            continue
        optimum = true_optimum(problem)[0]
        best, fit = (np.median([getattr(row, name) for row in of_problem]) for name in ("best_data", "fit"))
        words = (
            f"{problem.what} {POINTS} points. The true optimum is {optimum:.2f}; the best point among the data is truly worth {best:.2f}. The networks fit the truth where data "
            f"are with an R² of {fit:.3f}."
        )
        parts += [heading(problem.name.capitalize(), 3), words, table(TITLES, _lines(of_problem, optimum))]
    return [
        *parts,
        heading("With more data", 3),
        *_by_points(rows),
        heading("With a longer search", 3),
        *_by_steps(rows),
        describe_machine() + ".",
    ]


def _repetitions(rows: Sequence[Row]) -> int:
    """How many there are, at most."""
    return len({row.repetition for row in rows})


def _lines(rows: Sequence[Row], optimum: float) -> list[list[str]]:
    measured = {row.repetition: row.true for row in rows if row.device == MEASURED and row.violation <= MISSED}
    lines, most = [], _repetitions(rows)
    for device in DEVICES:
        found = [row for row in rows if row.device == device and np.isfinite(row.predicted)]
        if found:
            label = device if len(found) == most else f"{device} ({len(found)} repetitions)"
            lines.append([label, *_line(found, optimum, measured)])
    return lines


def _line(found: Sequence[Row], optimum: float, measured: dict[int, float]) -> list[str]:
    predicted, true, optimism, outside, seconds = (
        np.array([getattr(row, name) for row in found]) for name in ("predicted", "true", "optimism", "outside_hull", "seconds")
    )
    low, middle, high = np.quantile(optimism, [0.25, 0.5, 0.75])
    violation = np.array([row.violation for row in found])
    missed = violation > MISSED
    # A measurement that missed a limit is worth nothing: whatever keeps the limits is better.
    better = (true > np.array([measured.get(row.repetition, -np.inf) for row in found])) & ~missed
    is_measured = found[0].device == MEASURED
    return [
        f"{np.median(predicted):.2f}",
        f"{np.median(true):.2f}",
        f"{middle:.2f} ({low:.2f} to {high:.2f})",
        f"{np.median(optimum - true):.2f}",
        "" if is_measured else f"{better.mean():.0%}",
        f"{missed.mean():.0%}, by {violation[missed].mean():.1f}" if missed.any() else "0%",
        f"{np.median(outside):.2f}",
        "" if is_measured else f"{np.median(seconds):.2f}",
    ]


def _by_points(rows: Sequence[Row]) -> list[str]:
    """Predicted less true, and true, of the devices that were run at several numbers of points."""
    names = [name for name in PROBLEMS if len({row.points for row in rows if row.problem == name}) > 1]
    sizes = sorted({row.points for row in rows if row.problem in names})
    titles = ["device", *(f"{name}, {points:,} points" for name in names for points in sizes)]
    lines = []
    for device in (device.name for device in DEVICES.values() if device.is_main):
        cells = [
            [row for row in rows if (row.problem, row.points, row.device) == (name, points, device)] for name in names for points in sizes
        ]
        lines.append([device, *map(_cell, cells)])
    return ["Predicted - true, and what is true, medians.", table(titles, lines)]


def _by_steps(rows: Sequence[Row]) -> list[str]:
    """The same devices with few steps and with many, on the repetitions that were made with both."""
    found = {row.key: row for row in rows}
    lines = []
    for problem in PROBLEMS:
        for name, device in LONGER.items():
            longer = [row for row in rows if (row.problem, row.points, row.device) == (problem, POINTS, device.name)]
            short = [found[problem, POINTS, row.repetition, name] for row in longer]
            if longer:
                lines.append([problem, name, str(len(longer)), *(_short(part) for part in (short, longer))])
    words = (
        f"At most {NUM_STEPS} steps from each start, as above, and at most {MORE_STEPS}, on the same repetitions, {POINTS} points: predicted, true, predicted - true, outside the hull; medians. "
        "A search that begins among the data may end near them because its steps are over, and look more careful than its objective is."
    )
    return [words, table(["problem", "device", "repetitions", f"{NUM_STEPS} steps", f"{MORE_STEPS} steps"], lines, 2)]


def _short(rows: Sequence[Row]) -> str:
    names = ("predicted", "true", "optimism", "outside_hull")
    return "; ".join(f"{np.median([getattr(row, name) for row in rows]):.2f}" for name in names)


def _cell(found: Sequence[Row]) -> str:
    known = [row for row in found if np.isfinite(row.predicted)]
    if not known:
        return ""
    return f"{np.median([row.optimism for row in known]):.2f}; {np.median([row.true for row in known]):.2f}"
