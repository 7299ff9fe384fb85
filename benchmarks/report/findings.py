"""What the first screen says below its table: how often another method is ahead, who was not run where, and what was ended early."""

from __future__ import annotations

import numpy as np

from benchmarks.methods.table import METHODS
from benchmarks.report import formats
from benchmarks.report.closing import never_run
from benchmarks.report.comparison import OURS, PROVER, find_experiment, left_out
from benchmarks.report.headline import duels
from benchmarks.report.losses import Loss, compared, find_losses
from benchmarks.report.views import Results
from dcembed.result import show_count

LINK = "[where we lose](#where-we-lose)"
# So many methods have their names on the first screen; more of them are counted there.
MOST_NAMES = 3


def findings(results: Results) -> list[str]:
    """One text for each."""
    return [*_standing(results), *_alone(results), *_coverage(results), *_unseen(results), *_ended_early(results)]


def _standing(results: Results) -> list[str]:
    """How often another method is ahead: on small instances, which are there for proofs, and on all others."""
    titles = _titles(results)
    losses, there = find_losses(results), compared(results)
    texts = []
    for small, title in titles.items():
        numbers = {name: sum(_is_of(instance, small) for instance in instances) for name, instances in there.items()}
        own = [loss for loss in losses if loss.experiment.is_small == small]
        if any(numbers.values()):
            texts.append(_standing_of(title, {name: number for name, number in numbers.items() if number}, own))
    return texts


def _titles(results: Results) -> dict[bool, str]:
    """What instances are called: small ones and all others, where there are both."""
    kinds = [small for small in (False, True) if any(_is_of(record.instance, small) for record in results.last)]
    names = {False: "At the paper's sizes and beyond", True: "On instances small enough for proofs"}
    return {small: names[small] if len(kinds) > 1 else "On these instances" for small in kinds}


def _standing_of(title: str, numbers: dict[str, int], losses: list[Loss]) -> str:
    """How often another method is ahead; `numbers` says on how many instances (size and trial each) a respect is compared."""
    lost = {name: [loss for loss in losses if loss.respect == name] for name in numbers}
    never = [name for name, found in lost.items() if not found]
    some = [f"{_name(name)} on {_num_instances(found)} of {numbers[name]} ({_who(found)})" for name, found in lost.items() if found]
    none = f"no other method is ahead of dcembed in {_counted(never, numbers)}"
    ahead = f"{'another one is' if never else 'another method is ahead of dcembed'} in {formats.listed(some)}: {LINK}"
    return f"{title}, {'; '.join([*([none] if never else []), *([ahead] if some else [])])}."


def _counted(names: list[str], numbers: dict[str, int]) -> str:
    """Respects with their numbers of instances; said once where it is the same."""
    if len({numbers[name] for name in names}) == 1:
        return f"{formats.listed(list(map(_name, names)))} ({show_count(numbers[names[0]], 'instance')}, size and trial each)"
    return formats.listed([f"{_name(name)} ({show_count(numbers[name], 'instance')})" for name in names])


def _alone(results: Results) -> list[str]:
    """Where nobody else comes near: then J_ref is what dcembed itself has found."""
    alone = []
    for sweep in results.final:
        found = duels(sweep, results.proofs)
        number = sum(not np.isfinite(duel.to_percent[1]) for duel in found)
        if number:
            alone.append(f"{number} of {len(found)} instances of {sweep.experiment.title}")
    if not alone:
        return []
    return [
        f"No other method comes within 1 % of the best known objective on {formats.listed(alone)}: the best known one is that of a run of dcembed "
        "there, unless it was enumerated, and its times say how soon it was where it ended."
    ]


def _name(respect: str) -> str:
    name, _, unit = respect.partition(", ")
    return f"time {name}" if unit == "s" else name


def _who(losses: list[Loss]) -> str:
    methods = sorted({formats.label(loss.method) for loss in losses})
    return formats.listed(methods) if len(methods) <= MOST_NAMES else f"{len(methods)} methods"


def _num_instances(losses: list[Loss]) -> int:
    return len({(loss.experiment.family, loss.size, loss.trial) for loss in losses})


def _is_of(instance: tuple[str, str, int], small: bool) -> bool:
    experiment = find_experiment(*instance[:2])
    return experiment is not None and experiment.is_small == small


def _coverage(results: Results) -> list[str]:
    """The methods that were run on fewer instances than dcembed, of those of their experiments: on the rest nobody knows how good they are."""
    final = [record for sweep in results.final for cell in sweep.cells.values() for record in cell.records]
    runs = {(*record.instance, record.method) for record in final if record.status != "licence"}
    own = {tuple(instance): find_experiment(*instance[:2]) for *instance, method in runs if method == OURS}
    texts = []
    for small, title in _titles(results).items():
        fewer, none = [], []
        for name in [name for name in METHODS if name != PROVER]:
            there = [instance for instance, e in own.items() if e is not None and e.is_small == small and left_out(name, e) is None]
            num_runs = sum((*instance, name) in runs for instance in there)
            if 0 < num_runs < len(there):
                fewer.append(f"{formats.label(name)} ({num_runs} of {len(there)})")
            elif there and not num_runs and any(record.method == name and _is_of(record.instance, small) for record in results.last):
                none.append(formats.label(name))
        whole = (
            [f"not as long as these ones were runs of {formats.listed(none)}, or no licence allowed them (the sections have them)"]
            if none
            else []
        )
        part = [f"not run on all instances that they apply to: {formats.listed(fewer)}"] if fewer else []
        if whole or part:
            texts.append(f"{title}, {'; '.join([*part, *whole])}. They are not among the best others there.")
    return texts


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
