"""One run: an instance, a method, a time limit. What comes back is a row of the records."""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness.fingerprint import fingerprint
from benchmarks.harness.outcome import Checked, LicenceError, Outcome, check, outcome_of
from benchmarks.harness.process import Line, Report, run_apart
from benchmarks.harness.records import STOPPED, Record
from benchmarks.harness.watch import Watch
from benchmarks.methods.table import METHODS
from benchmarks.problems.experiments import experiment_of
from benchmarks.problems.instance import Instance
from benchmarks.studies.case_runner import processor_seconds
from dcembed import Options, __version__

# Beyond twice the time limit and the allowance for preparation: importing packages, building the instance, checking the points.
GRACE_SECONDS = 20.0
# How long a run that is asked to end, because it is still at its start, may take for it; then its process is ended.
STOPPING_SECONDS = 10.0


@dataclass(frozen=True)
class Job:
    """What identifies a run."""

    experiment: str
    size: str
    trial: int
    method: str
    time_limit: float
    version: str = __version__
    fingerprint: str = ""


def fingerprinted(job: Job) -> Job:
    """The job with the fingerprint of the code that runs it."""
    return replace(job, fingerprint=fingerprint(job.experiment, job.size, job.trial, job.method))


def run_job(
    job: Job, preparation_limit: float, grace: float = GRACE_SECONDS, stop: threading.Event | None = None, stall: float = np.inf
) -> Record:
    """Run a job in its own process; whatever happens becomes a record.

    `stall` is the second after which a run that is still at its start is ended, if its method allows it.
    """
    limit = 2 * job.time_limit + preparation_limit + grace
    return to_record(job, run_apart(partial(perform, stall=stall), job, limit, stop))


def perform(job: Job, line: Line, stall: float = np.inf) -> dict[str, Any]:
    """Build, solve, check: what the process of a job does. Returns fields of a `Record`."""
    experiment = experiment_of(job.experiment, job.size)
    instance = experiment.build(job.size, job.trial)
    starts = check(instance, [(0.0, start) for start in instance.starts])
    initial = check(instance, [(0.0, instance.initial)]) if instance.initial is not None else starts
    # Of the code in this process: it may have been edited since the sweep began.
    common = {
        "fingerprint": fingerprinted(job).fingerprint,
        "initial_objective": _last(initial),
        "start_objective": _last(starts),
    }
    method = METHODS[job.method]
    # Where exact methods are to come to a proof, the start may be the optimum and stays.
    may_stop = method.may_stop and not experiment.is_small and stall < job.time_limit
    watch = _watch(instance, common, line, stall) if may_stop else None
    heard = {"stop": watch, "callback": watch.hear} if watch is not None else {}
    options = Options(time_limit=job.time_limit, verbose=False, **heard, **method.settings(experiment))
    method.import_packages()
    work = processor_seconds()
    try:
        answer = method.solve(instance.program, instance.embeddings, instance.starts, options)
        common["processor_seconds"] = processor_seconds() - work
    except LicenceError as error:
        return {**common, "status": "licence", "note": str(error)}
    finally:
        line.done()
    outcome = answer if isinstance(answer, Outcome) else outcome_of(answer)
    optimum = experiment.optimum(job.size) if experiment.optimum is not None else None
    fields = {**common, **_fields(outcome, check(instance, outcome.points)), "optimum": optimum}
    return {**fields, **stopped(stall)} if watch is not None and watch.has_stopped else fields


def stopped(stall: float) -> dict[str, Any]:
    """The fields that say that a run was ended because it was still at its start."""
    return {"status": STOPPED, "stopped_early": stall, "note": f"still at its start after {stall:g} s and ended there"}


def _watch(instance: Instance, common: dict[str, Any], line: Line, stall: float) -> Watch:
    """Who asks a run to end after `stall` seconds at its start; where that is not heard, its process is ended with what is known."""
    known = {**common, **stopped(stall), "seconds": stall}

    def begin(more: dict[str, Any]) -> None:
        line.promise({**known, **more}, stall + STOPPING_SECONDS)

    return Watch(instance, common["start_objective"], stall, begin, line.go_on)


def to_record(job: Job, report: Report) -> Record:
    """The row of a run that ended in any way."""
    fields = report.answer if report.answer is not None else {"status": report.failure, "note": report.note}
    record = Record(**{**asdict(job), **fields})
    return replace(record, memory=report.memory, process_seconds=report.seconds)


def _fields(outcome: Outcome, checked: Checked) -> dict[str, Any]:
    return {
        "status": outcome.status,
        "objective": checked.trace[-1][1] if checked.trace else None,
        "bound": outcome.bound,
        "seconds": outcome.seconds,
        "preparation_seconds": outcome.preparation_seconds,
        "added_columns": outcome.added_columns,
        "added_rows": outcome.added_rows,
        "added_binaries": outcome.added_binaries,
        "num_points": len(outcome.points),
        "num_rejected": checked.num_rejected,
        "largest_violation": checked.largest_violation,
        "trace": tuple(checked.trace),
    }


def _last(checked: Checked) -> float | None:
    return checked.trace[-1][1] if checked.trace else None
