"""The flat table of runs: one row of a CSV file each, never computed twice."""

from __future__ import annotations

import csv
import json
import typing
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent.parent / "results"
# The files that the committed report is made of.
REPORTED = (RESULTS / "records.csv", RESULTS / "horizon" / "records.csv", RESULTS / "small" / "records.csv")
KEY = ("experiment", "size", "trial", "method", "time_limit", "version", "fingerprint")
# What a failure of the harness around the method is called; every other status is the method's own word.
FAILURES = ("crashed", "killed")
# A run that was ended because it was still at its start.
STOPPED = "stopped"

# A trace may be longer than the csv module's cautious default.
csv.field_size_limit(2**27)


@dataclass(frozen=True)
class Record:
    """One run.

    Parameters
    ----------
    experiment, size, trial, method, time_limit, version, fingerprint
        The key: what was run, with which version of dcembed and which source (`fingerprint.py`). Records from before there were
        fingerprints have none: they are reported, but they do not stand for a run.
    status
        The method's own word for how it ended, or "licence", "stopped", "crashed", "killed".
    note
        What went wrong, if something did.
    objective
        Of the best point that the harness found feasible.
    initial_objective, start_objective
        J_0, and the best of the starting points that every method gets.
    optimum
        The true optimum where it was enumerated.
    bound
        What the method says that no feasible point is below; none where it proves nothing, and in files from before it was written down.
        `metrics.is_proved` compares it with what was measured.
    seconds, preparation_seconds, process_seconds
        The method's clock, what it did before, and the life of its process.
    processor_seconds
        What the method and all processes that it started have taken of the processor, its preparation included.
    stopped_early
        The second of its clock at which the run was ended because it was still at its start; what it had then counts to the time limit.
    memory
        Peak in MiB.
    added_columns, added_rows, added_binaries
        What the formulation adds to the host.
    num_points, num_rejected, largest_violation
        How many points the method claimed, how many were not feasible, and by how much at worst.
    trace
        (seconds, objective) of every improving feasible point.
    machine, versions, command
        Where and how it was run.
    """

    experiment: str
    size: str
    trial: int
    method: str
    time_limit: float
    version: str
    status: str
    note: str = ""
    objective: float | None = None
    initial_objective: float | None = None
    start_objective: float | None = None
    optimum: float | None = None
    seconds: float | None = None
    preparation_seconds: float | None = None
    process_seconds: float | None = None
    processor_seconds: float | None = None
    stopped_early: float | None = None
    memory: float | None = None
    added_columns: int | None = None
    added_rows: int | None = None
    added_binaries: int | None = None
    num_points: int | None = None
    num_rejected: int | None = None
    largest_violation: float | None = None
    machine: str = ""
    versions: str = ""
    command: str = ""
    fingerprint: str = ""
    bound: float | None = None
    trace: tuple[tuple[float, float], ...] = ()

    @property
    def key(self) -> tuple:
        return tuple(getattr(self, name) for name in KEY)

    @property
    def instance(self) -> tuple[str, str, int]:
        """What the run was on."""
        return self.experiment, self.size, self.trial


def read_records(path: Path) -> list[Record]:
    """All records of a file, the last one of each key; none if there is no file."""
    if not path.is_file():
        return []
    records: dict[tuple, Record] = {}
    for record in map(_parse, _rows(path)):
        # The newest record of an instance comes last, also where its key has been there before.
        records.pop(record.key, None)
        records[record.key] = record
    return list(records.values())


def append_record(path: Path, record: Record) -> None:
    """Add a row; the file is complete after every run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _add_new_columns(path)
    is_new = not path.is_file() or path.stat().st_size == 0
    is_torn = not is_new and not path.read_bytes().endswith(b"\n")
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        if is_torn:
            writer.writerow([])
        if is_new:
            writer.writerow(_NAMES)
        writer.writerow([_format(getattr(record, name)) for name in _NAMES])


def missing(keys: Iterable[tuple], records: Iterable[Record], retry_failed: bool = False, stall: float = 0.0) -> list[tuple]:
    """The keys that have no record; with `retry_failed` those too whose run crashed or was killed.

    A record without a fingerprint is of unknown source and stands for no run, one that was stopped early for none that may stay at its
    start for longer.
    """
    there = {
        record.key
        for record in records
        if record.fingerprint
        and not (retry_failed and record.status in FAILURES)
        and not (record.stopped_early is not None and record.stopped_early < stall)
    }
    return [key for key in keys if key not in there]


_TYPES = typing.get_type_hints(Record)
_NAMES = [field.name for field in fields(Record)]


def _rows(path: Path) -> list[dict[str, str]]:
    """The rows of a file; one without its last field was torn by an interrupt, and its run is repeated."""
    with path.open(newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row.get(_NAMES[-1]) is not None]


def _add_new_columns(path: Path) -> None:
    """Give a file of an older form the columns that it lacks, empty, so that rows and head agree."""
    if not path.is_file() or path.stat().st_size == 0:
        return
    with path.open(newline="", encoding="utf-8") as file:
        if next(csv.reader(file), []) == _NAMES:
            return
    rows = _rows(path)
    written = path.with_suffix(".new")
    with written.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, _NAMES, restval="", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    # In one step: an interrupt leaves the old file or the new one.
    written.replace(path)


def _format(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return json.dumps([[round(float(seconds), 4), float(objective)] for seconds, objective in value], separators=(",", ":"))
    return repr(float(value)) if isinstance(value, float) else str(value)


def _parse(row: dict[str, str]) -> Record:
    return Record(**{name: _read(name, row[name]) for name in _NAMES if row.get(name) is not None})


def _read(name: str, text: str) -> Any:
    if name == "trace":
        return tuple((float(seconds), float(objective)) for seconds, objective in json.loads(text or "[]"))
    kind = _TYPES[name]
    if kind is str:
        return text
    if not text:
        return None
    return int(text) if kind in (int, int | None) else float(text)
