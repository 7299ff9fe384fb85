"""Which records the report compares, and how they stood at which second."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.metrics import cut, references, with_starts
from benchmarks.harness.records import Record, read_records
from benchmarks.problems.experiments import EXPERIMENTS
from benchmarks.report.comparison import OURS, PROVER, Sweep, compare, find_experiment

# The second at which longer runs are looked at, too.
EARLY = 30.0


@dataclass(frozen=True)
class Results:
    """All that the report is about.

    Parameters
    ----------
    horizon
        The time limit of the runs that are compared; experiments that have none of these have a horizon of their own.
    checkpoints
        The seconds at which runs are compared, ascending.
    views
        Checkpoint -> the runs of the experiments that are compared then, as they stood.
    sweeps
        The same by experiment.
    final
        The sweep of each experiment at its horizon; at an earlier second where dcembed alone has runs of that length.
    last, last_sweeps
        The longest runs of each method on each size, up to the horizon: a method that has only shorter ones is in it, too, but one that has
        some of both is with the longer ones alone, so that no mean is over different limits.
    proofs
        Instance -> the newest of the longest runs of dcembed that were asked for a proof beside those that are compared.
    """

    horizon: float
    checkpoints: tuple[float, ...]
    views: dict[float, list[Record]]
    sweeps: dict[float, list[Sweep]]
    final: list[Sweep]
    last: list[Record]
    last_sweeps: list[Sweep]
    proofs: dict[tuple[str, str, int], Record]

    @property
    def runs(self) -> list[Record]:
        """All that is shown."""
        return [*self.last, *self.proofs.values()]


def read_all(paths: Iterable[Path]) -> list[Record]:
    """The records of several files, those of later files after those of earlier ones; the last one of a key counts."""
    records: dict[tuple, Record] = {}
    for path in paths:
        for record in read_records(path):
            records.pop(record.key, None)
            records[record.key] = record
    return with_starts(list(records.values()))


def choose_horizon(records: list[Record]) -> float:
    """The longest time limit that dcembed has at least half of its instances with; else the most used. Without runs of ours, those of all methods count."""
    runs: dict[float, set[tuple]] = {}
    for record in [record for record in records if record.method == OURS] or records:
        runs.setdefault(record.time_limit, set()).add((*record.instance, record.method))
    num_all = len(set().union(*runs.values()))
    usual = [limit for limit, there in runs.items() if 2 * len(there) >= num_all]
    return max(usual) if usual else max(runs, key=lambda limit: (len(runs[limit]), limit))


def view(records: Iterable[Record], seconds: float, horizon: float) -> list[Record]:
    """How the runs that went on for so long stood then."""
    return [cut(record, seconds) for record in choose(records, seconds, horizon)]


def choose(records: Iterable[Record], seconds: float, horizon: float) -> list[Record]:
    """The runs that went on for so long: of each method and instance the newest of the horizon, else the newest there is."""
    chosen: dict[tuple, Record] = {}
    for record in records:
        key = (*record.instance, record.method)
        before = chosen.get(key)
        is_worse = before is not None and before.time_limit == horizon != record.time_limit
        if record.time_limit >= seconds and not is_worse:
            chosen[key] = record
    return list(chosen.values())


def checkpoints_of(horizon: float) -> tuple[float, ...]:
    """When runs of a horizon are compared: then, and early in longer ones."""
    return (EARLY, horizon) if horizon > EARLY else (horizon,)


def gather(records: list[Record], horizon: float | None = None) -> Results:
    """The records at all checkpoints; J_ref is over all of them, whatever their limit."""
    proofs = sorted((record for record in records if record.method == PROVER), key=lambda record: record.time_limit)
    compared = [record for record in records if record.method != PROVER]
    horizon = choose_horizon(compared) if horizon is None else horizon
    best, views, last = references(records), {}, []
    for own in _by_experiment(compared):
        limit = horizon if any(record.time_limit >= horizon for record in own) else choose_horizon(own)
        for seconds in checkpoints_of(limit):
            views.setdefault(seconds, []).extend(view(own, seconds, limit))
        last += [cut(record, limit) for record in choose(own, checkpoints_of(limit)[0], limit)]
    views, last = dict(sorted(views.items())), _longest(last)
    sweeps = {seconds: compare(found, best) for seconds, found in views.items()}
    # Of each experiment the latest one in which we are not alone.
    final: dict[str, Sweep] = {}
    for sweep in (sweep for each in sweeps.values() for sweep in each):
        earlier = final.get(sweep.experiment.name)
        if earlier is None or _has_others(sweep) or not _has_others(earlier):
            final[sweep.experiment.name] = sweep
    ordered = [final[name] for name in EXPERIMENTS if name in final]
    return Results(horizon, tuple(views), views, sweeps, ordered, last, compare(last, best), {run.instance: run for run in proofs})


def _longest(records: list[Record]) -> list[Record]:
    """Without runs that are shorter than others of the same method on the same size."""
    limits: dict[tuple, float] = {}
    for record in records:
        of = record.experiment, record.size, record.method
        limits[of] = max(record.time_limit, limits.get(of, 0.0))
    return [record for record in records if record.time_limit == limits[record.experiment, record.size, record.method]]


def _has_others(sweep: Sweep) -> bool:
    return any(method != OURS for method in sweep.methods)


def _by_experiment(records: Iterable[Record]) -> list[list[Record]]:
    """Records apart by the first experiment that they are of; the others belong to none."""
    found: dict[str, list[Record]] = {}
    for record in records:
        experiment = find_experiment(record.experiment, record.size)
        if experiment is not None:
            # Two sweeps of a family share instances, and with them their horizon; small ones are apart.
            found.setdefault(f"{experiment.family} {experiment.is_small}", []).append(record)
    return list(found.values())
