"""What exact methods, and dcembed, prove on the small experiments: `python -m benchmarks.studies.proofs`.

Made of the records alone. A run is proved where the method says "optimal" and its bound meets, to 0.02 %, what the harness has measured.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.harness.metrics import is_proved, is_refuted, proved_gap, references
from benchmarks.harness.records import RESULTS, Record
from benchmarks.methods.table import METHODS
from benchmarks.problems.experiments import EXPERIMENTS, Experiment, belongs
from benchmarks.report.markdown import heading, page, table
from benchmarks.report.views import choose_horizon, read_all, view
from dcembed.gap import show_gap

RECORDS = RESULTS / "small" / "records.csv"
HEAD = ("method", "proved", "seconds", "gap", "objective", "bound", "binaries")
NOTE = (
    "Sums over sizes and trials: **proved** of how many runs, median **seconds** of the method's own clock (preparation aside; a run that is "
    "not proved counts as infinite, - is infinite), largest **gap** between the measured objective and the method's own bound. Then instance by "
    "instance. A bound that a feasible point contradicts is marked: refuted."
)


def write_proofs(path: Path, target: Path) -> None:
    """Write the table of a file of records."""
    known = read_all([path])
    limit = choose_horizon(known)
    records = view(known, limit, limit)
    best = references(records)
    blocks = [heading("What is proved on the small experiments", 1), f"{limit:g} seconds and one thread a run. {NOTE}"]
    for experiment in EXPERIMENTS.values():
        own = [record for record in records if experiment.is_small and belongs(experiment, record.experiment, record.size)]
        if own:
            blocks += [heading(experiment.title), _overview(own, best), *_instances(experiment, own, best)]
    machines = dict.fromkeys(text for record in records for text in (record.machine, record.versions) if text)
    target.write_text(page([*blocks, *machines]), encoding="utf-8")


def _overview(records: list[Record], best: dict[tuple[str, str, int], float]) -> str:
    rows = []
    for method, runs in _by_method(records):
        proved = [is_proved(run) and not is_refuted(run, best[run.instance]) for run in runs]
        times = [run.seconds if closed else np.inf for run, closed in zip(runs, proved, strict=True)]
        gap = max(map(proved_gap, runs))
        ended = ", ".join(dict.fromkeys(run.status.replace("_", " ") for run in runs))
        rows.append([METHODS[method].label, f"{sum(proved)} of {len(runs)}", _seconds(float(np.median(times))), show_gap(gap), ended])
    return table(["method", "proved", "seconds", "largest gap", "ended"], rows)


def _instances(experiment: Experiment, records: list[Record], best: dict[tuple[str, str, int], float]) -> list[str]:
    blocks = []
    for instance in dict.fromkeys(record.instance for record in sorted(records, key=lambda r: (experiment.order(r.size), r.trial))):
        own = [run for run in records if run.instance == instance]
        rows = [_row(experiment, run, best[instance]) for _, runs in _by_method(own) for run in runs]
        blocks += [f"{experiment.name} {instance[1]}, trial {instance[2]}", table(HEAD, rows)]
    return blocks


def _row(experiment: Experiment, run: Record, best: float) -> list[str]:
    word = "refuted" if is_refuted(run, best) else "yes" if is_proved(run) else run.status.replace("_", " ")
    objective, bound = (f"{experiment.sign * value + 0.0:.6g}" if value is not None else "-" for value in (run.objective, run.bound))
    binaries = "-" if run.added_binaries is None else f"{run.added_binaries:,}"
    return [METHODS[run.method].label, word, _seconds(run.seconds), show_gap(proved_gap(run)), objective, bound, binaries]


def _by_method(records: Iterable[Record]) -> Iterable[tuple[str, list[Record]]]:
    listed = list(records)
    for method in METHODS:
        own = [record for record in listed if record.method == method]
        if own:
            yield method, own


def _seconds(value: float | None) -> str:
    return "-" if value is None or not np.isfinite(value) else f"{value:.2f}"


def main(arguments: list[str] | None = None) -> None:
    """Write proofs.md beside the records."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=Path, default=RECORDS, help="a file of records (default: those of results/small)")
    asked = parser.parse_args(arguments)
    write_proofs(asked.records, asked.records.parent / "proofs.md")


if __name__ == "__main__":
    main()
