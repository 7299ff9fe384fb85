"""Which records the report compares, and how they stood at which second."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.metrics import cut, references, with_starts
from benchmarks.harness.records import Record, read_records
from benchmarks.report.comparison import Sweep, compare

# The second at which longer runs are looked at, too.
EARLY = 30.0


@dataclass(frozen=True)
class Results:
    """All that the report is about.

    Parameters
    ----------
    horizon
        The time limit of the runs that are compared.
    checkpoints
        The seconds at which they are, the horizon last.
    views
        Checkpoint -> the runs that went on for as long, as they stood then.
    sweeps
        The same by experiment.
    last
        The longest run of each method on each instance, and by experiment: a method that has no run of the horizon is in it, too.
    """

    horizon: float
    checkpoints: tuple[float, ...]
    views: dict[float, list[Record]]
    sweeps: dict[float, list[Sweep]]
    last: list[Record]
    last_sweeps: list[Sweep]


def read_all(paths: Iterable[Path]) -> list[Record]:
    """The records of several files, those of later files after those of earlier ones; the last one of a key counts."""
    records: dict[tuple, Record] = {}
    for path in paths:
        for record in read_records(path):
            records.pop(record.key, None)
            records[record.key] = record
    return with_starts(list(records.values()))


def choose_horizon(records: list[Record]) -> float:
    """The longest time limit that at least half of all runs have been made with, an instance and method counting once; else the most used."""
    runs: dict[float, set[tuple]] = {}
    for record in records:
        runs.setdefault(record.time_limit, set()).add((*record.instance, record.method))
    num_all = len(set().union(*runs.values()))
    usual = [limit for limit, there in runs.items() if 2 * len(there) >= num_all]
    return max(usual) if usual else max(runs, key=lambda limit: (len(runs[limit]), limit))


def view(records: Iterable[Record], seconds: float, horizon: float) -> list[Record]:
    """How the runs that went on for so long stood then: of each method and instance the newest of the horizon, else the newest there is."""
    chosen: dict[tuple, Record] = {}
    for record in records:
        key = (*record.instance, record.method)
        before = chosen.get(key)
        is_worse = before is not None and before.time_limit == horizon != record.time_limit
        if record.time_limit >= seconds and not is_worse:
            chosen[key] = record
    return [cut(record, seconds) for record in chosen.values()]


def gather(records: list[Record], horizon: float | None = None) -> Results:
    """The records at all checkpoints; J_ref is over all of them, whatever their limit."""
    horizon = choose_horizon(records) if horizon is None else horizon
    best = references(records)
    checkpoints = (EARLY, horizon) if horizon > EARLY else (horizon,)
    views = {seconds: view(records, seconds, horizon) for seconds in checkpoints}
    # The later view of a run takes the place of the earlier one.
    last = list({(*record.instance, record.method): record for seconds in checkpoints for record in views[seconds]}.values())
    sweeps = {seconds: compare(found, best) for seconds, found in views.items()}
    return Results(horizon, checkpoints, views, sweeps, last, compare(last, best))
