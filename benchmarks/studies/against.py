"""This state of dcembed against another checkout of it, case by case, alternately and each time in a fresh process.

A case is FAMILY-SIZE or FAMILY-SIZE-TRIAL with the families and sizes of the experiments: qp-64x3, pooling-17, water-100-1. Instances are
built here and handed over as files, so that both states solve the same problem whatever the other one's benchmarks look like. The points
of both are measured here.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.harness.outcome import check
from benchmarks.problems.experiments import Experiment, of_family
from benchmarks.problems.instance import Instance
from benchmarks.studies.apart import HERE, RunError, run_checkout
from benchmarks.studies.case_files import write_case

CASES = ("qp-64x3", "qp-64x6", "pooling-17", "water-100")
REPEATS = 3
TIME_LIMIT, WATER_TIME_LIMIT = 180.0, 60.0
RELATIVE_TOL = 1e-6


@dataclass(frozen=True, eq=False)
class Case:
    """One instance and how long each state has for it."""

    name: str
    experiment: Experiment
    instance: Instance
    time_limit: float


@dataclass(frozen=True)
class Run:
    """One solve in one process.

    Parameters
    ----------
    objective
        Of the final point, measured here; None if there is no feasible one.
    num_subproblems
        Entries of the history.
    processor_seconds, wall_seconds
        Of the call of `solve` alone.
    is_stopped
        Whether it used up its time: then its seconds say nothing.
    failure
        What went wrong, if something did; then nothing else is known.
    """

    objective: float | None = None
    num_subproblems: int | None = None
    processor_seconds: float = np.nan
    wall_seconds: float = np.nan
    is_stopped: bool = False
    failure: str = ""


@dataclass(frozen=True)
class Comparison:
    """All runs of both states on a case, in the order they were made."""

    case: Case
    new: tuple[Run, ...]
    old: tuple[Run, ...]


def read_case(name: str, time_limit: float | None = None) -> Case:
    """Build the instance of a case; ValueError says what a name looks like."""
    family, _, rest = name.partition("-")
    size, _, trial = rest.partition("-")
    try:
        experiment, number = of_family(family), int(trial or 0)
        experiment.files(size, number)
    except (StopIteration, ValueError) as error:
        raise ValueError(f"unknown case {name!r}; a case is FAMILY-SIZE or FAMILY-SIZE-TRIAL, such as {', '.join(CASES)}") from error
    limit = time_limit or (WATER_TIME_LIMIT if family == "water" else TIME_LIMIT)
    return Case(name, experiment, experiment.build(size, number), limit)


def compare_with(other: Path, cases: Sequence[Case], repeats: int, console: Console) -> list[Comparison]:
    """Run all cases with both states and print the table."""
    comparisons = []
    for case in cases:
        with console.status(f"running {case.name}"):
            comparisons.append(run_alternately(case, other, repeats))
        for state, runs in (("new", comparisons[-1].new), ("old", comparisons[-1].old)):
            for failure in dict.fromkeys(run.failure for run in runs if run.failure):
                console.print(f"{case.name}, {state}: {failure}", highlight=False)
    console.print(build_table(comparisons))
    return comparisons


def run_alternately(case: Case, other: Path, repeats: int) -> Comparison:
    """Both states in turn; who goes first alternates too, so that a machine that slows down favours nobody."""
    checkouts = {"new": HERE, "old": other}
    runs: dict[str, list[Run]] = {state: [] for state in checkouts}
    with tempfile.TemporaryDirectory() as folder:
        write_case(case.instance, {"time_limit": case.time_limit, "verbose": False, "threads": 1}, Path(folder))
        for number in range(repeats):
            for state in ("new", "old") if number % 2 == 0 else ("old", "new"):
                runs[state].append(run_state(case, checkouts[state], Path(folder)))
    return Comparison(case, tuple(runs["new"]), tuple(runs["old"]))


def run_state(case: Case, checkout: Path, folder: Path) -> Run:
    """One solve with the dcembed of a checkout."""
    answer = folder / "answer"
    try:
        measured = run_checkout(checkout, folder, answer, case.time_limit)
    except RunError as error:
        return Run(failure=str(error))
    return Run(
        objective=_objective(case, answer.with_suffix(".npy")),
        num_subproblems=measured["num_subproblems"],
        processor_seconds=measured["processor_seconds"],
        wall_seconds=measured["wall_seconds"],
        is_stopped=measured["status"] == "TIME_LIMIT",
    )


def _objective(case: Case, path: Path) -> float | None:
    points = [(0.0, np.load(path))] if path.is_file() else []
    trace = check(case.instance, points).trace
    return trace[-1][1] if trace else None


def build_table(comparisons: Sequence[Comparison]) -> Table:
    """One row a case, medians over the repeats."""
    table = Table(title="new: this state, old: the other checkout; one thread, medians")
    for name in ("case", "objective new", "old", "subproblems new", "old", "processor s new", "old", "ratio"):
        table.add_column(name, justify="left" if name == "case" else "right")
    for name in ("wall s new", "old", "ratio", "agree"):
        table.add_column(name, justify="left" if name == "agree" else "right")
    for one in comparisons:
        new, old = one.new, one.old
        sign = one.case.experiment.sign
        table.add_row(
            one.case.name + (f", stopped at {one.case.time_limit:g} s" if any(run.is_stopped for run in (*new, *old)) else ""),
            *(_shown([None if run.objective is None else sign * run.objective for run in runs], ".9g") for runs in (new, old)),
            *(_shown([run.num_subproblems for run in runs], ".0f") for runs in (new, old)),
            *_times([run.processor_seconds for run in new], [run.processor_seconds for run in old]),
            *_times([run.wall_seconds for run in new], [run.wall_seconds for run in old]),
            agreement(new, old),
        )
    return table


def agreement(new: Sequence[Run], old: Sequence[Run]) -> str:
    """Whether all runs of both states end with the same objective and number of subproblems, and if not, what differs."""
    runs = [*new, *old]
    if any(run.failure for run in runs):
        return "failed"
    differing = [name for name, agree in (("objective", _same_objective), ("subproblems", _same_number)) if not agree(runs)]
    if not differing:
        return "yes"
    varying = [name for name, own in (("new", new), ("old", old)) if not (_same_objective(own) and _same_number(own))]
    return f"no: {', '.join(differing)}" + (f" (so do repeats of {' and '.join(varying)})" if varying else "")


def _same_objective(runs: Sequence[Run]) -> bool:
    values = [run.objective for run in runs if run.objective is not None]
    if len(values) < len(runs):
        return not values
    return max(values) - min(values) <= RELATIVE_TOL * max(map(abs, values))


def _same_number(runs: Sequence[Run]) -> bool:
    return len({run.num_subproblems for run in runs}) == 1


def _shown(values: Sequence[float | None], form: str) -> str:
    known = [value for value in values if value is not None]
    return format(median(known), form) if known else "-"


def _times(new: Sequence[float], old: Sequence[float]) -> tuple[str, str, str]:
    ours, theirs = (median([value for value in values if np.isfinite(value)] or [np.nan]) for values in (new, old))
    return f"{ours:.2f}", f"{theirs:.2f}", f"{ours / theirs:.2f}"
