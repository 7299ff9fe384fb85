"""The first screen: dcembed against the best of all other methods, experiment by experiment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.harness import metrics
from benchmarks.harness.records import Record
from benchmarks.report import formats
from benchmarks.report.comparison import OURS, Sweep, proved_percent
from benchmarks.report.markdown import table

# Times below this count as this.
SHORTEST = 0.01
# Objectives that differ by less, relative to the best known one, are level here.
SAME = 1e-4


@dataclass(frozen=True)
class Duel:
    """dcembed against the best of all others on one instance, each number against whoever is best at it.

    Parameters
    ----------
    npi, objective, to_percent
        Of dcembed and the best of the others; a time that never came is infinite.
    reference
        J_ref.
    gap
        What dcembed has proved, in percent; None for nothing.
    """

    npi: tuple[float, float]
    objective: tuple[float, float]
    to_percent: tuple[float, float]
    reference: float
    gap: float | None

    @property
    def is_better(self) -> int:
        """1 where dcembed ends with the better objective, 0 where both are level, -1 where it ends with the worse one."""
        ours, theirs = self.objective
        margin = SAME * abs(self.reference)
        return int(ours < theirs - margin) - int(ours > theirs + margin)


def duels(sweep: Sweep, proofs: Mapping[tuple[str, str, int], Record]) -> list[Duel]:
    """All instances of an experiment that dcembed and some other method have been run on."""
    runs: dict[tuple[str, str, int], dict[str, Record]] = {}
    for cell in sweep.cells.values():
        for record in cell.records:
            if record.instance in sweep.references and metrics.npi(record, sweep.references[record.instance]) is not None:
                runs.setdefault(record.instance, {})[record.method] = record
    return [
        _duel(by_method, sweep.references[instance], proofs.get(instance, by_method[OURS]))
        for instance, by_method in runs.items()
        if OURS in by_method and len(by_method) > 1
    ]


def headline(sweeps: Sequence[Sweep], proofs: Mapping[tuple[str, str, int], Record]) -> str:
    """One row an experiment; `proofs` are runs of dcembed that were asked for one where others were not."""
    head = ["experiment", "instances", "within 1 %: dcembed", "best other", "sooner", "NPI: dcembed", "best other", "lower"]
    head += ["final objective: better / level / worse", "proved gap"]
    rows = [_row(sweep, found) for sweep in sweeps if (found := duels(sweep, proofs))]
    return table(head, rows)


def _row(sweep: Sweep, found: list[Duel]) -> list[str]:
    horizon = sweep.horizon
    ours, theirs = (float(np.median([max(duel.to_percent[who], SHORTEST) for duel in found])) for who in (0, 1))
    npi_ours, npi_theirs = (float(np.mean([duel.npi[who] for duel in found])) for who in (0, 1))
    ends = Counter(duel.is_better for duel in found)
    gaps = [duel.gap for duel in found if duel.gap is not None]
    return [
        f"**{sweep.experiment.title}**, {horizon:g} s",
        str(len(found)),
        *(_time([duel.to_percent[who] for duel in found], horizon) for who in (0, 1)),
        _sooner(ours, theirs, horizon),
        formats.percent(npi_ours),
        formats.percent(npi_theirs),
        formats.times(npi_theirs / max(npi_ours, 1e-9)),
        f"{ends[1]} / {ends[0]} / {ends[-1]}",
        _gap(gaps, len(found)),
    ]


def _gap(gaps: list[float], num_instances: int) -> str:
    """The median of what was proved with its range, and on how many instances if not on all."""
    if not gaps:
        return formats.NOTHING
    text = formats.with_range(float(np.median(gaps)), gaps, " %")
    return text if len(gaps) == num_instances else f"{text} ({len(gaps)} of {num_instances})"


def _duel(by_method: dict[str, Record], reference: float, proof: Record) -> Duel:
    ours, others = by_method[OURS], [record for method, record in by_method.items() if method != OURS]
    return Duel(
        (metrics.npi(ours, reference), min(metrics.npi(record, reference) for record in others)),
        (_final(ours), min(map(_final, others))),
        (_to_percent(ours, reference), min(_to_percent(record, reference) for record in others)),
        reference,
        proved_percent(proof),
    )


def _final(record: Record) -> float:
    value = metrics.final_objective(record)
    return np.inf if value is None else value


def _to_percent(record: Record, reference: float) -> float:
    value = metrics.time_to(record, reference, 1e-2)
    return np.inf if value is None else value


def _time(times: list[float], horizon: float) -> str:
    """The median, or on how many instances it came at all where that is fewer than half."""
    median = float(np.median([max(value, SHORTEST) for value in times]))
    if np.isfinite(median):
        return f"{formats.seconds(median)} s"
    num_there = int(np.isfinite(times).sum())
    return f"not in {horizon:g} s" + (f" ({num_there} of {len(times)} were)" if num_there else "")


def _sooner(ours: float, theirs: float, horizon: float) -> str:
    if not np.isfinite(ours):
        return formats.NOTHING
    return formats.times(theirs / ours) if np.isfinite(theirs) else f"over {formats.times(horizon / ours)}"
