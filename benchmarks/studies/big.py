"""Big problems on one machine: `python -m benchmarks.studies.big [case ...] [--tiny]` writes `benchmarks/results/big.md`.

Each case is a run of `dcembed.solve` in a process of its own, with one thread. Build is the time from the call to the first start: checks,
elimination, bounds, blocks. Peak memory is that of the process as the system reports it, and beside it the most that was seen of it together
with the solvers that it started; what the instance takes alone, before the call, is what the user holds anyway. All points are
verified: what is reported was measured again, from the program and the networks, by the run and once more here.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

import numpy as np
from rich.console import Console

import dcembed
import dcembed.engine.solve as engine
from benchmarks.harness.machine import describe_machine, describe_versions
from benchmarks.harness.process import Line, peak_memory, run_apart
from benchmarks.problems import big
from benchmarks.problems.instance import Instance
from benchmarks.problems.many_inputs import ball_instance
from benchmarks.studies.case_runner import processor_seconds
from dcembed.errors import DcembedError

TABLE = Path(__file__).parents[1] / "results" / "big.md"
# How much longer than its limit a run may take before its process is ended, instance and all.
GRACE_SECONDS = 240.0


@dataclass(frozen=True)
class Case:
    """One run: what it is called, how it is made in full and in miniature, its limit in seconds, and options beside that."""

    name: str
    build: Callable[[], Instance]
    tiny: Callable[[], Instance]
    time_limit: float
    options: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True)
class Job:
    """What a process gets: the name of a case, whether it is the miniature, and its limit."""

    name: str
    is_tiny: bool
    time_limit: float


@dataclass(frozen=True)
class Measured:
    """What a run came to.

    Parameters
    ----------
    sizes
        Columns, rows, evaluations and hidden units of all evaluations.
    instance_memory, memory
        MiB before the call, and at its peak.
    build, first
        Seconds until the first start began, and until the first feasible point; NaN where there is none.
    first_objective, objective, bound, violation
        Of the first and of the best feasible point, what is proved, and the violation measured here.
    seconds, processor_seconds
        Of the whole call, by the clock and by the processor, solvers in processes of their own included.
    words
        How it ended, or why it was refused.
    """

    sizes: tuple[int, int, int, int]
    instance_memory: float
    memory: float
    build: float
    first: float
    first_objective: float
    objective: float
    bound: float
    violation: float
    seconds: float
    processor_seconds: float
    words: str


def _samples(number: int) -> Callable[[], Instance]:
    return lambda: big.samples_instance(number)


def _tiny_samples() -> Instance:
    return big.samples_instance(12, width=4)


def _of(make: Callable[..., Instance], network: Callable[[], dcembed.Network], *rest: object) -> Callable[[], Instance]:
    return lambda: make(network(), *rest)


def _perceptron(*sizes: int) -> Callable[[], dcembed.Network]:
    return lambda: big.random_perceptron(sizes, 0)


def _convolutions(num_channels: int, side: int = big.SIDE) -> Callable[[], dcembed.Network]:
    return lambda: big.convolutional_network(num_channels, side)


def _ball(network: dcembed.Network) -> Instance:
    return ball_instance(network, 0, "inf")


PICTURE, SMALL_PICTURE = _perceptron(784, 256, 256, 10), _perceptron(16, 6, 6, 10)
WIDE, NARROW = _perceptron(8, 50_000, 1), _perceptron(3, 20, 1)
DEEP, SHALLOW = _perceptron(10, *[500] * 100, 1), _perceptron(3, *[8] * 3, 1)
CONVOLUTIONS, SMALL_CONVOLUTIONS = _convolutions(32), _convolutions(2, 4)
REFUSED = (("formulation", "shared"),)

CASES = (
    Case("samples-1k", _samples(1_000), _tiny_samples, 60.0),
    Case("samples-10k", _samples(10_000), _tiny_samples, 60.0),
    Case("samples-100k", _samples(100_000), _tiny_samples, 180.0),
    Case("samples-100k-prove", _samples(100_000), _tiny_samples, 120.0, (("prove", "auto"),)),
    Case("samples-100k-shared", _samples(100_000), _tiny_samples, 60.0, REFUSED),
    Case("host-200k-rows", lambda: big.sites_instance(50, 2_000), lambda: big.sites_instance(2, 8, width=4), 180.0),
    Case("784-objective", _of(_ball, PICTURE), _of(_ball, SMALL_PICTURE), 60.0),
    Case("784-objective-prove", _of(_ball, PICTURE), _of(_ball, SMALL_PICTURE), 60.0, (("prove", "auto"),)),
    Case("784-constraint", _of(big.nearest_instance, PICTURE, "784"), _of(big.nearest_instance, SMALL_PICTURE, "16"), 60.0),
    Case("wide-50k-objective", _of(big.smallest_instance, WIDE, "wide"), _of(big.smallest_instance, NARROW, "narrow"), 60.0),
    Case("wide-50k-constraint", _of(big.level_instance, WIDE, "wide"), _of(big.level_instance, NARROW, "narrow"), 60.0),
    Case("wide-50k-prove", _of(big.level_instance, WIDE, "wide"), _of(big.level_instance, NARROW, "narrow"), 60.0, (("prove", "auto"),)),
    Case("deep-50k-objective", _of(big.smallest_instance, DEEP, "deep"), _of(big.smallest_instance, SHALLOW, "shallow"), 60.0),
    Case("deep-50k-constraint", _of(big.level_instance, DEEP, "deep"), _of(big.level_instance, SHALLOW, "shallow"), 60.0),
    Case("conv-50k-objective", _of(_ball, CONVOLUTIONS), _of(_ball, SMALL_CONVOLUTIONS), 60.0),
    Case(
        "conv-50k-constraint", _of(big.nearest_instance, CONVOLUTIONS, "conv"), _of(big.nearest_instance, SMALL_CONVOLUTIONS, "conv"), 60.0
    ),
    Case("conv-50k-prove", _of(_ball, CONVOLUTIONS), _of(_ball, SMALL_CONVOLUTIONS), 60.0, (("prove", "auto"),)),
)
NAMES = tuple(case.name for case in CASES)


def find_case(name: str) -> Case:
    """The case of a name."""
    return next(case for case in CASES if case.name == name)


def measure(job: Job, done: Callable[[], None] = lambda: None) -> Measured:
    """Make the instance and run it, here."""
    case = find_case(job.name)
    instance = case.tiny() if job.is_tiny else case.build()
    before, began, work = peak_memory(), time.perf_counter(), processor_seconds()
    built: list[float] = []

    def announce(*arguments: object) -> None:
        built.append(time.perf_counter() - began)
        announced(*arguments)

    announced = engine.announce
    options = dcembed.Options(time_limit=job.time_limit, verbose=False, **dict(case.options))
    try:
        with mock.patch.object(engine, "announce", announce):
            result = dcembed.solve(instance.program, instance.embeddings, start=instance.starts or None, options=options)
    except DcembedError as error:
        return _refused(instance, before, time.perf_counter() - began, processor_seconds() - work, str(error))
    seconds, worked = time.perf_counter() - began, processor_seconds() - work
    done()
    return replace(_reached(instance, result), instance_memory=before, build=built[0], seconds=seconds, processor_seconds=worked)


def _refused(instance: Instance, before: float, seconds: float, worked: float, words: str) -> Measured:
    nothing = (np.nan,) * 6
    return Measured(_sizes(instance), before, peak_memory(), *nothing, seconds, worked, f"refused: {words}")


def _reached(instance: Instance, result: dcembed.Result) -> Measured:
    incumbents = result.incumbents or [(np.nan, np.nan)]
    words = "; ".join([result.status.name, *result.notes])
    return Measured(
        sizes=_sizes(instance),
        instance_memory=np.nan,
        memory=peak_memory(),
        build=np.nan,
        first=incumbents[0][0],
        first_objective=incumbents[0][1],
        objective=result.objective,
        bound=result.bound,
        violation=result.verify().violation if result.x is not None else np.inf,
        seconds=np.nan,
        processor_seconds=np.nan,
        words=words,
    )


def _sizes(instance: Instance) -> tuple[int, int, int, int]:
    evaluations = sum(embedding.num_evaluations for embedding in instance.embeddings)
    units = sum(embedding.num_evaluations * embedding.network.num_hidden for embedding in instance.embeddings)
    return instance.program.num_columns, instance.program.num_rows, evaluations, units


TITLES = (
    "case",
    "columns",
    "rows",
    "evaluations",
    "hidden units",
    "limit s",
    "build s",
    "first feasible s",
    "its objective",
    "objective",
    "bound",
    "violation",
    "seconds",
    "processor s",
    "overrun s",
    "MiB before",
    "peak MiB",
    "with solvers",
    "kB an evaluation",
    "end",
)


def row_of(job: Job, measured: Measured, with_solvers: float) -> tuple[str, ...]:
    """A run as a row of the table; `with_solvers` is the most memory that was seen of all its processes."""
    added = 2**10 * (measured.memory - measured.instance_memory) / measured.sizes[2]
    return (
        job.name,
        *(f"{size:,}" for size in measured.sizes),
        f"{job.time_limit:g}",
        _show(measured.build, ".2f"),
        _show(measured.first, ".2f"),
        _show(measured.first_objective, ".6g"),
        _show(measured.objective, ".6g"),
        _show(measured.bound, ".6g"),
        _show(measured.violation, ".1g"),
        f"{measured.seconds:.1f}",
        f"{measured.processor_seconds:.1f}",
        f"{max(0.0, measured.seconds - job.time_limit):.2f}",
        f"{measured.instance_memory:,.0f}",
        f"{measured.memory:,.0f}",
        f"{with_solvers:,.0f}",
        f"{added:,.1f}" if measured.sizes[2] >= 1000 else "",
        measured.words,
    )


def _show(number: float, form: str) -> str:
    return format(number, form) if np.isfinite(number) else ""


def run_case(job: Job) -> tuple[str, ...]:
    """The row of a case that is run in a process of its own."""
    report = run_apart(_measure_apart, job, job.time_limit + GRACE_SECONDS)
    if report.answer is None:
        return (job.name, *[""] * (len(TITLES) - 4), f"{report.memory:,.0f}", "", f"{report.failure}: {report.note}")
    return row_of(job, report.answer, report.memory)


def _measure_apart(job: Job, line: Line) -> Measured:
    return measure(job, line.done)


def write_table(rows: list[tuple[str, ...]], path: Path) -> None:
    """Write the table with the machine it was made on; rows of cases that were not run again stay."""
    kept = _read_rows(path)
    known = {**kept, **{row[0]: row for row in rows}}
    lines = [" | ".join(row) for row in (TITLES, ["---"] * len(TITLES), *(known[name] for name in NAMES if name in known))]
    table = "\n".join(f"| {line} |" for line in lines)
    load = f"{os.getloadavg()[2]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    path.write_text(HEAD.format(machine=describe_machine(), versions=describe_versions(), load=load) + table + "\n", encoding="utf-8")


HEAD = """# Big problems on one machine

One process and one thread for each row, on {machine}; {versions}. Made by `python -m benchmarks.studies.big`, which explains the columns;
the problems are those of `benchmarks/problems/big.py`. The load of the machine over the last quarter of an hour, other work included, was {load}
at the end: where that is more than its cores, seconds are longer by as much, and processor seconds tell. Objectives are minimized. MiB before is what the instance takes, peak MiB what the whole
process takes with it, and kB an evaluation the difference by evaluations, which stays or falls as they get more.

"""


def _read_rows(path: Path) -> dict[str, tuple[str, ...]]:
    if not path.is_file():
        return {}
    lines = (tuple(cell.strip() for cell in line.strip("|").split("|")) for line in path.read_text(encoding="utf-8").splitlines())
    return {line[0]: line for line in lines if len(line) == len(TITLES) and line[0] in NAMES}


def main(arguments: list[str] | None = None) -> None:
    """Run cases and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(NAMES)}; all by default")
    parser.add_argument("--tiny", action="store_true", help="miniatures of all cases, two seconds each, to see that they run")
    parser.add_argument("--table", type=Path, default=TABLE, help="where to write")
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.cases) - set(NAMES):
        parser.error(f"there is no case {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    console = Console(width=200)
    rows = []
    for name in chosen.cases or NAMES:
        job = Job(name, chosen.tiny, 2.0 if chosen.tiny else find_case(name).time_limit)
        rows.append(run_case(job))
        console.print("  ".join(f"{title}: {cell}" for title, cell in zip(TITLES, rows[-1], strict=True) if cell), highlight=False)
        write_table(rows, chosen.table)


if __name__ == "__main__":
    main()
