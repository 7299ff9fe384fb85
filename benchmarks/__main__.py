"""The experiments from the command line: `python -m benchmarks run | report | list`."""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.harness.records import REPORTED, RESULTS
from benchmarks.harness.sweep import drop_unavailable, plan, run_sweep, say_what_is_left_out
from benchmarks.methods.table import METHODS
from benchmarks.problems.experiments import EXPERIMENTS, NUM_TRIALS
from benchmarks.problems.sizes import SizeError
from dcembed.signals import endings_as_interrupts

# The exit code of what was interrupted.
ENDED = 130
HORIZON = 180.0
# The second after which an exact encoding that is still at its start is ended, in runs that are longer.
STALL = 30.0
# The short run: everything once, in less than twenty minutes on two cores.
SHORT = {"time_limit": 20.0, "preparation_limit": 20.0, "trials": [0], "stall": 10.0}


def main(arguments: list[str] | None = None) -> int:
    parser = build_parser()
    chosen = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 160)
    if chosen.verb == "list":
        show(console)
        return 0
    if chosen.verb == "report":
        from benchmarks.report.report import write_report

        path = write_report(chosen.records, chosen.to or chosen.records[0].parent, chosen.time_limit)
        console.print(f"wrote {os.path.relpath(path)}")
        return 0
    with _ended_by_signals():
        try:
            return run(chosen, parser, console)
        except KeyboardInterrupt:
            console.print("[yellow]Ended. The runs under way are ended too; what was made is in the records.")
            return ENDED


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end a sweep as Ctrl-C does, with the runs under way; SIGINT too where a shell has it ignored in the background."""
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with endings_as_interrupts():
            yield
    finally:
        signal.signal(signal.SIGINT, before)


def run(chosen: argparse.Namespace, parser: argparse.ArgumentParser, console: Console) -> int:
    """The sweep that was asked for."""
    unknown = [name for name in chosen.experiments if name not in EXPERIMENTS]
    if unknown:
        parser.error(f"unknown experiment {unknown[0]!r}; accepted: {', '.join(EXPERIMENTS)}")
    experiments = [EXPERIMENTS[name] for name in chosen.experiments or EXPERIMENTS]
    if chosen.sizes and len({experiment.family for experiment in experiments}) > 1:
        parser.error("--sizes needs experiments that read the same sizes; name one experiment")
    methods = say_what_is_left_out(experiments, chosen.methods or list(METHODS), console)
    limit = chosen.time_limit or (SHORT["time_limit"] if chosen.short else HORIZON)
    preparation = chosen.preparation_limit or (SHORT["preparation_limit"] if chosen.short else 2 * limit)
    trials = chosen.trials if chosen.trials is not None else (SHORT["trials"] if chosen.short else range(NUM_TRIALS))
    try:
        jobs = drop_unavailable(plan(experiments, methods, chosen.sizes, trials, limit, chosen.short), console)
    except SizeError as error:
        parser.error(str(error))
    with _executor(chosen.dask) as executor:
        stall = chosen.stall if chosen.stall is not None else SHORT["stall"] if chosen.short else STALL
        run_sweep(jobs, chosen.records, _command(chosen), console, chosen.jobs, preparation, chosen.retry_failed, executor, stall or np.inf)
    return 0


@contextmanager
def _executor(address: str | None) -> Iterator[Executor | None]:
    """That of a Dask cluster, None for runs on this machine."""
    if address is None:
        yield None
        return
    from distributed import Client

    with Client(address) as client:
        yield client.get_executor(pure=False)


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="The experiments of the paper, and beyond them.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    sweep = verbs.add_parser("run", help="run experiments; what the same code has in the records is not run again")
    sweep.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help=f"{', '.join(EXPERIMENTS)}; all by default")
    sweep.add_argument("--methods", nargs="+", metavar="METHOD", choices=list(METHODS), help=f"{', '.join(METHODS)}; all by default")
    sweep.add_argument("--sizes", nargs="+", metavar="SIZE", help="64x3 for a QP, 800 for water, 17 for pooling; the paper's by default")
    sweep.add_argument("--trials", nargs="+", type=_trial, metavar="TRIAL", help="0 1 2 by default")
    sweep.add_argument("--time-limit", type=_limit, metavar="SECONDS", help=f"of each run; {HORIZON:g} by default")
    sweep.add_argument(
        "--preparation-limit",
        type=_limit,
        metavar="SECONDS",
        help="for what comes before a method's clock; twice the time limit by default",
    )
    sweep.add_argument(
        "--stall",
        type=_seconds,
        metavar="SECONDS",
        help=f"end an exact encoding that is still at its start then; {STALL:g} by default, {SHORT['stall']:g} in the short run, 0 for never",
    )
    sweep.add_argument("--jobs", type=_jobs, default=1, metavar="NUMBER", help="runs at a time, each on one thread; 1 by default")
    sweep.add_argument(
        "--dask", metavar="ADDRESS", help="hand the runs to a Dask cluster, such as tcp://scheduler:8786; on this machine by default"
    )
    sweep.add_argument("--short", action="store_true", help="few sizes, one trial, a few seconds a run")
    sweep.add_argument("--retry-failed", action="store_true", help="run again what crashed or was killed")
    page = verbs.add_parser("report", help="write the tables and pictures of what has been run")
    page.add_argument("--to", type=Path, metavar="FOLDER", help="where to write; beside the records by default")
    page.add_argument(
        "--time-limit",
        type=_limit,
        metavar="SECONDS",
        help="which runs to compare; the longest that half of all have been made with by default",
    )
    page.add_argument(
        "--records",
        type=Path,
        nargs="+",
        default=list(REPORTED),
        metavar="FILE",
        help="records.csv of benchmarks/results and of horizon and small in it by default, as far as they are there",
    )
    sweep.add_argument(
        "--records", type=Path, default=RESULTS / "records.csv", metavar="FILE", help="benchmarks/results/records.csv by default"
    )
    verbs.add_parser("list", help="show experiments, sizes and methods")
    return parser


def _number(kind: type, accepts: Callable[[float], bool], accepted: str) -> Callable[[str], float]:
    """A type of argparse for the numbers that make sense; without it every run of a sweep would fail on its own."""

    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not accepts(value):
            raise argparse.ArgumentTypeError(f"{accepted} is accepted; received {text!r}")
        return value

    return read


_limit = _number(float, lambda value: 0 < value < math.inf, "a number of seconds above 0")
_seconds = _number(float, lambda value: 0 <= value < math.inf, "a number of seconds, 0 or more,")
_trial = _number(int, lambda value: value >= 0, "a whole number, 0 or more,")
_jobs = _number(int, lambda value: value >= 1, "a whole number, 1 or more,")


def show(console: Console) -> None:
    """Experiments with their sizes, and methods with where they apply."""
    table = Table("experiment", "size is", "the paper's", "beyond", title="Experiments")
    for experiment in EXPERIMENTS.values():
        axis = "points per quantity" if experiment.family == "pooling" else experiment.axis
        table.add_row(experiment.name, axis, " ".join(experiment.sizes), " ".join(experiment.beyond))
    console.print(table)
    table = Table("method", "what it is", "not run on", title="Methods")
    for method in METHODS.values():
        reasons = "; ".join(f"{family}: {reason}" for family, reason in method.why_not.items())
        table.add_row(method.name, method.about, reasons)
    console.print(table)


def _command(chosen: argparse.Namespace) -> str:
    """The command without its paths."""
    parts = ["python -m benchmarks run", *chosen.experiments]
    for name in ("methods", "sizes", "trials", "time_limit", "preparation_limit", "stall"):
        value = getattr(chosen, name)
        if value is not None:
            shown = " ".join(map(str, value)) if isinstance(value, list) else f"{value:g}"
            parts.append(f"--{name.replace('_', '-')} {shown}")
    parts += [f"--jobs {chosen.jobs}"] if chosen.jobs != 1 else []
    parts += ["--short"] if chosen.short else []
    return " ".join(parts)


if __name__ == "__main__":
    sys.exit(main())
