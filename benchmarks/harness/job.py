"""One run: an instance, a method, a time limit. What comes back is a row of the records."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from benchmarks.harness.fingerprint import fingerprint
from benchmarks.harness.outcome import Checked, LicenceError, Outcome, check, outcome_of
from benchmarks.harness.process import Report, run_apart
from benchmarks.harness.records import Record
from benchmarks.methods.table import METHODS
from benchmarks.problems.experiments import experiment_of
from dcembed import Options, __version__

# Beyond twice the time limit and the allowance for preparation: importing packages, building the instance, checking the points.
GRACE_SECONDS = 20.0


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


def run_job(job: Job, preparation_limit: float, grace: float = GRACE_SECONDS, stop: threading.Event | None = None) -> Record:
    """Run a job in its own process; whatever happens becomes a record."""
    report = run_apart(perform, job, 2 * job.time_limit + preparation_limit + grace, stop)
    return to_record(job, report)


def perform(job: Job, done: Callable[[], None]) -> dict[str, Any]:
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
    options = Options(time_limit=job.time_limit, verbose=False, **method.settings(experiment))
    try:
        answer = method.solve(instance.program, instance.embeddings, instance.starts, options)
    except LicenceError as error:
        return {**common, "status": "licence", "note": str(error)}
    finally:
        done()
    outcome = answer if isinstance(answer, Outcome) else outcome_of(answer)
    checked = check(instance, outcome.points)
    optimum = experiment.optimum(job.size) if experiment.optimum is not None else None
    return {**common, **_fields(outcome, checked), "optimum": optimum}


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
