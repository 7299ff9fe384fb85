"""The flat table of the study of optimism: one row of a CSV file for each answer, never computed twice."""

from __future__ import annotations

import csv
import typing
from dataclasses import dataclass, fields
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """What one device answers in one repetition.

    Parameters
    ----------
    problem, points, repetition, device
        The key.
    status
        How the run ended; "none" where there was no feasible point, and the numbers are NaN.
    predicted, true
        The objective with the outputs that the device predicts, without the price of a region, and with the true ones.
    violation
        By how much the true outputs miss their limits.
    best_data
        The best true objective of a point of the data that meets its limits in truth.
    fit
        R^2 of the network of all data against the truth where data are, of the output that it fits worst.
    outside_hull, near
        Scaled units from the hull of the data; mean distance to the ten nearest points, in what is usual among the data.
    seconds
        Processor time of the region and of the solve, without training.
    """

    problem: str
    points: int
    repetition: int
    device: str
    status: str
    predicted: float
    true: float
    violation: float
    best_data: float
    fit: float
    outside_hull: float
    near: float
    seconds: float

    @property
    def key(self) -> tuple[str, int, int, str]:
        return self.problem, self.points, self.repetition, self.device

    @property
    def optimism(self) -> float:
        """How much more was promised than is true."""
        return self.predicted - self.true


_TYPES = typing.get_type_hints(Row)
_NAMES = [field.name for field in fields(Row)]


def read_rows(path: Path) -> list[Row]:
    """All rows of a file; one without its last field was torn by an interrupt, and is left out."""
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        read = [row for row in csv.DictReader(file) if row.get(_NAMES[-1])]
    return [Row(**{name: _TYPES[name](row[name]) for name in _NAMES}) for row in read]


def append_row(path: Path, row: Row) -> None:
    """Add a row; the file is complete after every answer."""
    is_new = not path.is_file() or path.stat().st_size == 0
    is_torn = not is_new and not path.read_bytes().endswith(b"\n")
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_torn:
            writer.writerow([])
        if is_new:
            writer.writerow(_NAMES)
        writer.writerow([f"{value:.6g}" if isinstance(value, float) else value for value in (getattr(row, name) for name in _NAMES)])
