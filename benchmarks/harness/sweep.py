"""Runs a list of jobs, as many at a time as asked for, with a progress bar; every record is written as soon as it is there."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import astuple, replace
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from benchmarks.harness.job import Job, fingerprinted, run_job
from benchmarks.harness.machine import describe_machine, describe_versions
from benchmarks.harness.records import Record, append_record, missing, read_records
from benchmarks.methods.method import why_not
from benchmarks.methods.table import METHODS
from benchmarks.problems.data import MissingDataError
from benchmarks.problems.experiments import Experiment, of_family

Sizes = Sequence[str]


def plan(
    experiments: Iterable[Experiment], methods: Iterable[str], sizes: Sizes | None, trials: Iterable[int], limit: float, short: bool = False
) -> list[Job]:
    """All jobs in the order they are run; instances that two sweeps share come once, methods that do not apply do not come."""
    trials, methods = list(trials), list(methods)
    jobs = [
        Job(experiment.family, size, trial, method, float(limit))
        for experiment in experiments
        for size in (sizes or (experiment.short if short else experiment.sizes))
        for trial in trials
        for method in methods
        if why_not(METHODS[method], experiment) is None
    ]
    return list(dict.fromkeys(jobs))


def say_what_is_left_out(experiments: Iterable[Experiment], methods: Iterable[str], console: Console) -> list[str]:
    """Name the methods that do not apply or are not installed; returns those that can be run."""
    usable = []
    for name in methods:
        package = METHODS[name].missing_package()
        if package is not None:
            console.print(f"[yellow]{name} is left out: {package} is not installed. {METHODS[name].install}")
            continue
        usable.append(name)
        for experiment in experiments:
            reason = why_not(METHODS[name], experiment)
            if reason is not None:
                console.print(f"[dim]{name} is not run on {experiment.name}: {reason}.")
    return usable


def drop_unavailable(jobs: list[Job], console: Console) -> list[Job]:
    """Leave out instances whose data is missing, and say what to do about each; the others still run."""
    available: dict[tuple[str, str, int], bool] = {}
    for job in jobs:
        key = (job.experiment, job.size, job.trial)
        if key not in available:
            available[key] = _is_available(*key, console)
    return [job for job in jobs if available[job.experiment, job.size, job.trial]]


def run_sweep(
    jobs: list[Job],
    path: Path,
    command: str,
    console: Console,
    at_once: int = 1,
    preparation_limit: float = 300.0,
    retry_failed: bool = False,
    executor: Executor | None = None,
    stall: float = np.inf,
) -> int:
    """Run what this code has no records of yet; returns how many runs were made.

    `executor` hands the runs to other machines, as many at a time as it has workers; by default they are run here. One that is lost there is
    named and left out, and made when the sweep is run again. Runs that are still at their start after `stall` seconds are ended, where their
    methods allow it.
    """
    keys = missing([astuple(fingerprinted(job)) for job in jobs], read_records(path), retry_failed, stall)
    left = [Job(*key) for key in keys]
    if len(left) < len(jobs):
        console.print(f"{len(jobs) - len(left)} of {len(jobs)} runs of this code are in the records already.")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    stop, lost = threading.Event(), 0
    with Progress(*columns, console=console) as progress, ThreadPoolExecutor(at_once) as pool:
        bars = {e: progress.add_task(e, total=sum(job.experiment == e for job in left)) for e in dict.fromkeys(j.experiment for j in left)}
        run_here = partial(run_stamped, stop=stop)
        submit = partial(pool.submit, run_here) if executor is None else partial(executor.submit, run_stamped)
        futures: dict[Future[Record], Job] = {submit(job, preparation_limit, stall=stall): job for job in left}
        try:
            while futures:
                for future in wait(futures, return_when=FIRST_COMPLETED).done:
                    job = futures.pop(future)
                    if executor is not None and (error := future.exception()) is not None:
                        lost += 1
                        progress.console.print(f"[yellow]{_name(job)} was lost: {escape(f'{type(error).__name__}: {error}')}")
                        continue
                    record = replace(future.result(), command=command)
                    append_record(path, record)
                    progress.console.print(_line(record), highlight=False)
                    progress.advance(bars[job.experiment])
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for future in futures:
                future.cancel()
            raise
    if lost:
        console.print(f"[yellow]{lost} of {len(left)} runs were lost on the cluster. The same command makes them again.")
    return len(left) - lost


def run_stamped(job: Job, preparation_limit: float, stop: threading.Event | None = None, stall: float = np.inf) -> Record:
    """Run a job where this is called, and say which machine that is."""
    return replace(run_job(job, preparation_limit, stop=stop, stall=stall), machine=describe_machine(), versions=describe_versions())


def _is_available(family: str, size: str, trial: int, console: Console) -> bool:
    try:
        of_family(family).files(size, trial)
    except MissingDataError as error:
        console.print(f"[yellow]{family} {size} trial {trial} is left out. {error}")
        return False
    return True


def _name(run: Job | Record) -> str:
    return f"{run.experiment} {run.size} trial {run.trial} {run.method}"


def _line(record: Record) -> str:
    found = "no feasible point" if record.objective is None else f"{record.objective:.6g}"
    return f"{_name(record)}: {record.status}, {found}, {record.seconds or 0:.1f} s, {record.memory or 0:.0f} MiB {record.note}"
