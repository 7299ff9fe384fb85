"""Where another method is better than dcembed in any respect, on any trial of any instance."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from benchmarks.harness import metrics
from benchmarks.harness.records import FAILURES, Record
from benchmarks.problems.experiments import EXPERIMENTS, Experiment
from benchmarks.report import formats
from benchmarks.report.comparison import OURS, find_experiment
from benchmarks.report.markdown import folded, heading, table
from benchmarks.report.reasons import END, SPEED, reason
from benchmarks.report.views import Results

# What counts as a difference: of NPI in percent, of objectives relative to the best known one, of times in seconds.
NPI_MARGIN, OBJECTIVE_MARGIN, TIME_MARGIN = 1e-3, metrics.LEVEL, 0.01

Value = Callable[[Record, float], float | None]


@dataclass(frozen=True)
class Respect:
    """One way to be better: a number of which less is better, infinite where a run has none, and what counts as a difference."""

    name: str
    value: Value
    margin: Callable[[float], float]


@dataclass(frozen=True)
class Loss:
    """A trial on which another method is better in one respect; `scale` is the size of the best known objective."""

    experiment: Experiment
    size: str
    trial: int
    method: str
    respect: str
    ours: float
    theirs: float
    scale: float
    versions: tuple[str, str]


def find_losses(results: Results) -> list[Loss]:
    """All of them, in the order of experiments, sizes, methods and trials; an instance that two experiments share comes once."""
    references = results.last_sweeps[0].references
    losses = [loss for seconds in results.checkpoints for loss in _lost(results.views[seconds], references, [_integral(seconds)])]
    losses += _lost_ends(results, references)
    order = {respect: number for number, respect in enumerate(respects(results.checkpoints))}
    names = list(EXPERIMENTS)
    return sorted(
        losses,
        key=lambda loss: (
            names.index(loss.experiment.name),
            loss.experiment.order(loss.size),
            loss.method,
            loss.trial,
            order[loss.respect],
        ),
    )


def compared(results: Results) -> dict[str, set[tuple[str, str, int]]]:
    """Respect -> the instances on which dcembed is compared with another method in it."""
    at = {seconds: _instances_with_rivals(records) for seconds, records in results.views.items()}
    ends = set().union(*at.values())
    return {**{_integral(seconds).name: found for seconds, found in at.items()}, **{each.name: ends for each in (_END, *_TIMES)}}


def _instances_with_rivals(records: Iterable[Record]) -> set[tuple[str, str, int]]:
    methods: dict[tuple[str, str, int], set[str]] = {}
    for record in records:
        if record.method == OURS or record.status not in (*FAILURES, "licence"):
            methods.setdefault(record.instance, set()).add(record.method)
    return {instance for instance, there in methods.items() if OURS in there and len(there) > 1}


def respects(checkpoints: Iterable[float]) -> list[str]:
    """The names of all respects of runs that are compared at such seconds."""
    return [*(_integral(seconds).name for seconds in checkpoints), "final objective", "to 1 %, s", "to 0.1 %, s"]


def losses_section(results: Results) -> list[str]:
    """The section of the report."""
    losses = find_losses(results)
    text = (
        "Every trial of every instance on which another method has the lower NPI, ends with the better objective or is the first within 1 % "
        f"or 0.1 % of the best known one. Differences count from {NPI_MARGIN:g} % of NPI, {OBJECTIVE_MARGIN:g} of the objective and "
        f"{TIME_MARGIN:g} s. Objectives are compared at the end of the longest runs that both have."
    )
    if not losses:
        return [heading("Where we lose"), text, "There is no such trial in these records."]
    names = respects(results.checkpoints)
    groups = _grouped(losses, lambda loss: (loss.experiment.name, loss.size, loss.method))
    rows = [_summary(group, names, results) for group in groups]
    single = _grouped(losses, lambda loss: (loss.experiment.name, loss.size, loss.method, loss.trial))
    head = ["instance", "method", "trials", *names, "why"]
    return [
        heading("Where we lose"),
        text,
        "Each cell is the trial in which it is the most: the other method against dcembed.",
        table(head, rows, num_texts=2),
        folded(
            f"Trial by trial: {len(single)} rows",
            [table([*head[:2], "trial", *names], [_single(group, names) for group in single], num_texts=2)],
        ),
    ]


def _integral(seconds: float) -> Respect:
    return Respect(f"NPI at {seconds:g} s, %", metrics.npi, lambda reference: NPI_MARGIN)


_END = Respect(
    "final objective", lambda record, reference: metrics.final_objective(record), lambda reference: OBJECTIVE_MARGIN * abs(reference)
)
_TIMES = [
    Respect("to 1 %, s", lambda record, reference: metrics.time_to(record, reference, 1e-2), lambda reference: TIME_MARGIN),
    Respect("to 0.1 %, s", lambda record, reference: metrics.time_to(record, reference, 1e-3), lambda reference: TIME_MARGIN),
]


def _lost_ends(results: Results, references: dict[tuple[str, str, int], float]) -> list[Loss]:
    """Objectives and times: of the runs of the horizon where both have one, else of those that are shorter."""
    losses: dict[tuple, Loss] = {}
    compared: set[tuple] = set()
    for seconds in reversed(results.checkpoints):
        records = results.views[seconds]
        for loss in _lost(records, references, [_END, *_TIMES]):
            if (*_instance(loss), loss.method) not in compared:
                losses[(*_instance(loss), loss.method, loss.respect)] = loss
        ours = {record.instance for record in records if record.method == OURS}
        compared |= {(*record.instance, record.method) for record in records if record.instance in ours}
    return list(losses.values())


def _instance(loss: Loss) -> tuple[str, str, int]:
    return loss.experiment.family, loss.size, loss.trial


def _lost(records: Iterable[Record], references: dict[tuple[str, str, int], float], kinds: list[Respect]) -> list[Loss]:
    """The losses among runs that are compared with one another."""
    records = list(records)
    ours = {record.instance: record for record in records if record.method == OURS}
    losses = []
    for record in records:
        own, experiment = ours.get(record.instance), find_experiment(record.experiment, record.size)
        if record.method == OURS or own is None or experiment is None or record.status in (*FAILURES, "licence"):
            continue
        reference, versions = references[record.instance], (own.version, record.version)
        for kind in kinds:
            mine, other = (_or_never(kind.value(run, reference)) for run in (own, record))
            if other < mine - kind.margin(reference):
                losses.append(Loss(experiment, record.size, record.trial, record.method, kind.name, mine, other, abs(reference), versions))
    return losses


def _or_never(value: float | None) -> float:
    return np.inf if value is None else value


def _grouped(losses: list[Loss], key: Callable[[Loss], tuple]) -> list[list[Loss]]:
    groups: dict[tuple, list[Loss]] = {}
    for loss in losses:
        groups.setdefault(key(loss), []).append(loss)
    return list(groups.values())


def _summary(group: list[Loss], names: list[str], results: Results) -> list[str]:
    first = group[0]
    theirs, ours = (
        {run.trial for run in results.last if (run.experiment, run.size, run.method) == (first.experiment.family, first.size, method)}
        for method in (first.method, OURS)
    )
    trials = sorted({loss.trial for loss in group})
    why = _why(group)
    return [
        *_names(first),
        f"{', '.join(map(str, trials))} ({len(trials)} of {len(theirs & ours)})",
        *(_worst(group, name) for name in names),
        why,
    ]


def _why(group: list[Loss]) -> str:
    """What is known of the reason, and whether the run of dcembed is of another version than the other's."""
    first = group[0]
    lost = [what for what in (END, SPEED) if any((loss.respect == _END.name) == (what == END) for loss in group)]
    known = [reason(first.experiment.name, first.experiment.family, first.method, what) for what in lost]
    texts = known if len(known) == 1 else [f"{what}: {text}" for what, text in zip(lost, known, strict=True)]
    older = sorted({loss.versions[0] for loss in group if loss.versions[0] != loss.versions[1]})
    return "; ".join([*texts, *(f"the run of dcembed is of version {version}" for version in older)])


def _single(group: list[Loss], names: list[str]) -> list[str]:
    return [*_names(group[0]), str(group[0].trial), *(_worst(group, name) for name in names)]


def _names(loss: Loss) -> list[str]:
    return [f"{loss.experiment.title}, {formats.size_name(loss.experiment, loss.size)}", formats.label(loss.method)]


def _worst(group: list[Loss], name: str) -> str:
    """The largest loss in a respect, as numbers of the other and ours; empty if there is none."""
    there = [loss for loss in group if loss.respect == name]
    if not there:
        return ""
    loss = max(there, key=lambda each: each.ours - each.theirs)
    if name == "final objective":
        pair = [formats.objective(loss.experiment, value if np.isfinite(value) else None) for value in (loss.theirs, loss.ours)]
        pair[1] += f" (by {100 * (loss.ours - loss.theirs) / max(loss.scale, 1e-12):.2g} %)"
    else:
        show = formats.number if "NPI" in name else formats.seconds
        pair = [show(loss.theirs), "never" if not np.isfinite(loss.ours) else show(loss.ours)]
    return " against ".join(pair)
