"""What the first screen says below its table: how often another method is ahead, who was not run where, and what was ended early."""

from __future__ import annotations

from benchmarks.methods.table import METHODS
from benchmarks.report import formats
from benchmarks.report.closing import never_run
from benchmarks.report.comparison import OURS, find_experiment, is_small, left_out
from benchmarks.report.losses import Loss, find_losses, respects
from benchmarks.report.views import Results
from dcembed.result import show_count

LINK = "[where we lose](#where-we-lose)"
# So many methods have their names on the first screen; more of them are counted there.
MOST_NAMES = 3


def findings(results: Results) -> list[str]:
    """One text for each."""
    return [*_standing(results), *_coverage(results), *_unseen(results), *_ended_early(results)]


def _standing(results: Results) -> list[str]:
    """How often another method is ahead: on small instances, which are there for proofs, and on all others."""
    groups = {small: _instances(results, small) for small in (False, True)}
    titles = (
        {False: "at the paper's sizes and beyond", True: "small enough for proofs"}
        if all(groups.values())
        else dict.fromkeys(groups, "of these records")
    )
    losses = find_losses(results)
    return [
        _standing_of(
            f"the {show_count(len(own), 'instance')} (size and trial each) {titles[small]}",
            _respects_of(results, small),
            [loss for loss in losses if is_small(loss.experiment) == small],
        )
        for small, own in groups.items()
        if own
    ]


def _standing_of(instances: str, names: list[str], losses: list[Loss]) -> str:
    lost = {name: [loss for loss in losses if loss.respect == name] for name in names}
    never = [_name(name) for name, found in lost.items() if not found]
    some = [f"{_name(name)} on {_num_instances(found)} ({_who(found)})" for name, found in lost.items() if found]
    if not some:
        return f"No other method is ahead of dcembed in any respect on {instances}."
    ahead = f"another one is in {formats.listed(some)}: {LINK}."
    if not never:
        return f"Of {instances}, {ahead.replace('another one is', 'another method is ahead of dcembed')}"
    return f"No other method is ahead of dcembed in {formats.listed(never)} on {instances}; {ahead}"


def _name(respect: str) -> str:
    name, _, unit = respect.partition(", ")
    return f"time {name}" if unit == "s" else name


def _who(losses: list[Loss]) -> str:
    methods = sorted({formats.label(loss.method) for loss in losses})
    return formats.listed(methods) if len(methods) <= MOST_NAMES else f"{len(methods)} methods"


def _num_instances(losses: list[Loss]) -> int:
    return len({(loss.experiment.family, loss.size, loss.trial) for loss in losses})


def _instances(results: Results, small: bool) -> set[tuple[str, str, int]]:
    """Those that dcembed has a run on."""
    return {record.instance for record in results.last if record.method == OURS and _is_of(record.instance, small)}


def _respects_of(results: Results, small: bool) -> list[str]:
    """The respects in which such instances are compared: each at its own seconds."""
    there = [seconds for seconds in results.checkpoints if any(_is_of(record.instance, small) for record in results.views[seconds])]
    return respects(there)


def _is_of(instance: tuple[str, str, int], small: bool) -> bool:
    experiment = find_experiment(*instance[:2])
    return experiment is not None and is_small(experiment) == small


def _coverage(results: Results) -> list[str]:
    """The methods that were run on fewer instances than dcembed, of those of their experiments: on the rest nobody knows how good they are."""
    compared = [record for sweep in results.final for cell in sweep.cells.values() for record in cell.records]
    runs = {(*record.instance, record.method) for record in compared if record.status != "licence"}
    own = {tuple(instance): find_experiment(*instance[:2]) for *instance, method in runs if method == OURS}
    fewer = []
    for name in METHODS:
        there = [instance for instance, experiment in own.items() if experiment is not None and left_out(name, experiment) is None]
        num_runs = sum((*instance, name) in runs for instance in there)
        if 0 < num_runs < len(there):
            fewer.append(f"{formats.label(name)} ({num_runs} of {len(there)})")
    return [f"Not run on all instances that they apply to, and not among the best others there: {formats.listed(fewer)}."] if fewer else []


def _unseen(results: Results) -> list[str]:
    """The sizes without dcembed, and the methods without a run."""
    unseen = [
        f"{sweep.experiment.title}, {size}" for sweep in results.last_sweeps for size in sweep.sizes if (size, OURS) not in sweep.cells
    ]
    silent = [METHODS[name].label for name in never_run(results.runs)]
    return [
        *([f"dcembed has no run on {formats.listed(unseen)}."] if unseen else []),
        *([f"Never run: {formats.listed(silent)} ([why](#the-methods))."] if silent else []),
    ]


def _ended_early(results: Results) -> list[str]:
    early = [record for record in results.last if record.stopped_early is not None]
    if not early:
        return []
    labels = sorted({formats.label(record.method) for record in early})
    return [
        f"{show_count(len(early), 'run')} of exact encodings ({formats.listed(labels)}) were ended early, still at their start; they count as if they had stayed there."
    ]
