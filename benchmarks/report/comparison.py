"""Records summed up: what each method did on each size, over the trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from benchmarks.harness import metrics
from benchmarks.harness.records import FAILURES, Record
from benchmarks.methods.method import why_not
from benchmarks.methods.table import METHODS
from benchmarks.problems.experiments import EXPERIMENTS, Experiment, belongs
from dcembed.gap import relative_gap

OURS = "dcembed"
# The same with a proof: no rival, and no other search; what it proves stands beside what ours has found.
PROVER = "dcembed-prove"


@dataclass(frozen=True)
class Cell:
    """One method on one size. Values are means over the trials, times and proved gaps are medians; None where there is nothing to say.

    Times count a trial that never got there as infinite, proved gaps one without a bound.
    """

    method: str
    size: str
    records: tuple[Record, ...]
    npi: float | None
    npi_of_trial: dict[int, float]
    first_feasible: float | None
    to_percent: float | None
    to_permille: float | None
    objective: float | None
    gap: float | None
    bound: float | None
    proved: float | None
    memory: float
    preparation: float
    load: float | None
    num_rejected: int
    added: tuple[int | None, int | None, int | None]

    @property
    def objectives(self) -> list[float]:
        """The best objective of every trial that has one."""
        return [value for record in self.records if (value := metrics.final_objective(record)) is not None and record.status != "licence"]

    @property
    def num_stopped(self) -> int:
        """How many of its runs were ended at their start."""
        return sum(record.stopped_early is not None for record in self.records)

    @property
    def failures(self) -> str:
        """How its runs failed, if they did: "killed", "2 of 3 crashed", "licence"."""
        counts = Counter(record.status for record in self.records if record.status in (*FAILURES, "licence"))
        total = len(self.records)
        return ", ".join(name if count == total else f"{count} of {total} {name}" for name, count in counts.items())


@dataclass(frozen=True)
class Lead:
    """Mean NPI of ours and of the best other method over the trials that both have been run on.

    `ahead_from` is the second from which ours was better than every other method to the end, in all trials; None where another one ends
    level, and infinite where one ends better. Without a rival no other method got away from the start.
    """

    size: str
    other: str
    ours: float
    theirs: float
    ahead_from: float | None
    has_rival: bool

    @property
    def ratio(self) -> float:
        """How many times as high the other NPI is."""
        return self.theirs / max(self.ours, 1e-9)


@dataclass(frozen=True)
class Sweep:
    """An experiment over its sizes."""

    experiment: Experiment
    sizes: tuple[str, ...]
    methods: tuple[str, ...]
    cells: dict[tuple[str, str], Cell]
    references: dict[tuple[str, str, int], float]

    @property
    def horizon(self) -> float:
        """The second at which the runs are compared."""
        return max((record.time_limit for cell in self.cells.values() for record in cell.records), default=0.0)

    def best(self, size: str) -> str | None:
        """The method with the lowest mean NPI over the trials it shares with ours; ours where it is level with another."""
        behind = {method: self.behind(size, method) for method in self.methods}
        scored = [(value, method != OURS, method) for method, value in behind.items() if value is not None]
        return min(scored)[2] if scored else None

    def second(self, size: str) -> str | None:
        """The best of the other methods: one that is ahead of ours, else the nearest of those that share the most trials with ours."""
        scored = [
            (value >= 0, -len(self.shared_trials(size, m)), value, m)
            for m in self.methods
            if m != OURS and (value := self.behind(size, m)) is not None
        ]
        return min(scored)[-1] if scored else None

    def behind(self, size: str, method: str) -> float | None:
        """By how much the NPI of a method is above ours, mean over the trials that both have been run on."""
        trials = self.shared_trials(size, method)
        ours, other = self.cells.get((size, OURS)), self.cells.get((size, method))
        return _mean(other.npi_of_trial[trial] - ours.npi_of_trial[trial] for trial in trials) if trials else None

    def shared_trials(self, size: str, method: str) -> list[int]:
        """The trials of a size on which a method and ours have an NPI."""
        ours, other = self.cells.get((size, OURS)), self.cells.get((size, method))
        return [] if ours is None or other is None else sorted(ours.npi_of_trial.keys() & other.npi_of_trial.keys())

    def lead(self, size: str) -> Lead | None:
        """Ours against the best of the others; None where one of them is missing."""
        second = self.second(size)
        if second is None:
            return None
        trials = self.shared_trials(size, second)
        ours, theirs = (np.mean([self.cells[size, m].npi_of_trial[trial] for trial in trials]) for m in (OURS, second))
        has_rival = any(improved(record) for record in self._others(size))
        return Lead(size, second, float(ours), float(theirs), self._ahead_from(size), has_rival)

    def _others(self, size: str) -> list[Record]:
        """All runs of the other methods."""
        return [record for (s, m), cell in self.cells.items() if s == size and m != OURS for record in cell.records]

    def _ahead_from(self, size: str) -> float | None:
        """When ours was ahead of all the others for good, in the last trial to get there."""
        others = self._others(size)
        own = [record for record in self.cells[size, OURS].records if any(other.trial == record.trial for other in others)]
        seconds = [metrics.ahead_from(record, [other for other in others if other.trial == record.trial]) for record in own]
        known = [value for value in seconds if value is not None]
        return None if len(known) < len(seconds) and np.inf not in known else max(known)


def compare(records: list[Record], references: dict[tuple[str, str, int], float]) -> list[Sweep]:
    """One sweep for each experiment that has records."""
    sweeps = []
    for experiment in EXPERIMENTS.values():
        own = [record for record in records if belongs(experiment, record.experiment, record.size)]
        sizes = sorted({record.size for record in own}, key=lambda size: (experiment.order(size), size))
        methods = [name for name in METHODS if any(record.method == name for record in own)]
        cells = {}
        for size in sizes:
            for method in methods:
                runs = tuple(record for record in own if record.size == size and record.method == method)
                if runs:
                    cells[size, method] = summarize(method, size, runs, references)
        if sizes:
            sweeps.append(Sweep(experiment, tuple(sizes), tuple(methods), cells, references))
    return sweeps


def summarize(method: str, size: str, runs: tuple[Record, ...], references: dict[tuple[str, str, int], float]) -> Cell:
    """The cell of a method and size."""
    ran = [run for run in runs if run.status != "licence" and run.instance in references]
    npi_of_trial = {run.trial: value for run in ran if (value := metrics.npi(run, references[run.instance])) is not None}
    last = next((run for run in ran if run.added_columns is not None), None)
    return Cell(
        method=method,
        size=size,
        records=runs,
        npi=_mean(npi_of_trial.values()),
        npi_of_trial=npi_of_trial,
        first_feasible=_median(ran, metrics.time_to_feasible),
        to_percent=_median(ran, lambda run: metrics.time_to(run, references[run.instance], 1e-2)),
        to_permille=_median(ran, lambda run: metrics.time_to(run, references[run.instance], 1e-3)),
        objective=_mean(value for run in ran if (value := metrics.final_objective(run)) is not None),
        gap=_mean(value for run in ran if (value := metrics.optimality_gap(run)) is not None),
        bound=_mean(run.bound for run in ran if run.bound is not None),
        proved=_median(ran, proved_percent),
        memory=max(run.memory or 0.0 for run in runs),
        preparation=_mean(run.preparation_seconds or 0.0 for run in runs) or 0.0,
        load=_mean(value for run in ran if (value := metrics.processors(run)) is not None),
        num_rejected=sum(run.num_rejected or 0 for run in runs),
        added=(last.added_columns, last.added_rows, last.added_binaries) if last else (None, None, None),
    )


def improved(record: Record) -> bool:
    """Whether a run found anything better than the start."""
    trace = metrics.known_trace(record)
    return bool(trace) and trace[-1][0] > 0.0


def find_experiment(family: str, size: str) -> Experiment | None:
    """The first experiment that runs on a size of a family are of; two sweeps may share instances."""
    return next((experiment for experiment in EXPERIMENTS.values() if belongs(experiment, family, size)), None)


def left_out(method: str, experiment: Experiment) -> str | None:
    """Why a method is not run on an experiment; None if it is."""
    return why_not(METHODS[method], experiment)


def proved_percent(record: Record) -> float | None:
    """(J - bound) / |J| in percent, of the best point, the start included, and the method's own bound; None where it has proved nothing."""
    final = metrics.final_objective(record)
    return None if final is None or record.bound is None else 100.0 * relative_gap(final, record.bound)


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return float(np.mean(listed)) if listed else None


def _median(runs: Iterable[Record], measure: Callable[[Record], float | None]) -> float | None:
    times = [value if (value := measure(run)) is not None else np.inf for run in runs]
    median = float(np.median(times)) if times else np.inf
    return median if np.isfinite(median) else None
