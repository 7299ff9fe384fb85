"""Methods side by side on the same problems: `python -m benchmarks.race [CASE ...]`.

Every run is a process of its own with one thread; contestants take turns, so that a machine that slows down favours nobody. What a method
says about its points is not believed: they are measured here. Seconds are those of the processor, with those of the clock beside them.
`--against PATH` lets the dcembed of another checkout take part as "before".
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
from rich.console import Console

from benchmarks.harness.outcome import check
from benchmarks.problems.data import MissingDataError
from benchmarks.problems.instance import Instance
from benchmarks.studies.apart import HERE, RunError, check_checkout, run_checkout
from benchmarks.studies.case_files import write_case, write_options
from benchmarks.studies.own_methods import OWN_METHODS
from benchmarks.studies.race_case import Case
from benchmarks.studies.race_cases import FAMILIES, find_cases
from benchmarks.studies.race_table import BEFORE, OURS, Contest, Lap, build_table, write_markdown
from dcembed.baselines import BASELINES
from dcembed.embedded.elimination import eliminate
from dcembed.solvers import choose_backend
from dcembed.solvers.base import Limits, SessionOptions
from dcembed.solvers.failover import LastingSession, Solver

# Solves of the host alone whose median is taken.
HOST_SOLVES = 5


def hold(case: Case, methods: Sequence[str], before: Path | None, repeats: int, time_limit: float | None) -> Contest:
    """Run all contestants on a case."""
    instance, limit = case.build(), time_limit or case.time_limit
    contestants = {method: (method, HERE) for method in methods}
    if before is not None:
        contestants[BEFORE] = (OURS, before)
    laps: dict[str, list[Lap]] = {name: [] for name in contestants}
    with tempfile.TemporaryDirectory() as folder:
        write_case(instance, {}, Path(folder))
        for number in range(repeats):
            names = list(contestants)
            for name in names if number % 2 == 0 else reversed(names):
                laps[name].append(run_lap(instance, *contestants[name], limit, Path(folder)))
    start = _measure(instance, instance.starts)
    initial = _measure(instance, [instance.initial]) if instance.initial is not None else start
    known = [lap.objective for own in laps.values() for lap in own] + [v for v in (start, case.best_known()) if v is not None]
    return Contest(replace(case, time_limit=limit), laps, initial, start, min(known), time_host(instance))


def _measure(instance: Instance, points: Sequence[np.ndarray]) -> float | None:
    """The best objective of points; None if none is feasible."""
    trace = check(instance, [(0.0, point) for point in points]).trace
    return trace[-1][1] if trace else None


def run_lap(instance: Instance, method: str, checkout: Path, time_limit: float, folder: Path) -> Lap:
    """One method in one process."""
    write_options(folder, {"time_limit": time_limit, "verbose": False, "threads": 1}, method)
    answer = folder / "answer"
    try:
        measured = run_checkout(checkout, folder, answer, time_limit)
    except RunError as error:
        return Lap(status=str(error))
    with np.load(answer.with_suffix(".npz")) as arrays:
        wall, processor, points = arrays["wall"], arrays["processor"], arrays["points"]
    # Points are measured in the order of the clock, so each entry of the trace is the point of its second.
    checked = check(instance, list(zip(wall, points, strict=True))).trace
    trace = tuple((float(np.interp(seconds, wall, processor)), seconds, objective) for seconds, objective in checked)
    return Lap(
        trace=trace,
        processor_seconds=measured["processor_seconds"],
        wall_seconds=measured["wall_seconds"],
        num_steps=measured["num_subproblems"],
        num_first=measured["num_first"],
        memory=measured["memory"] or np.nan,
        status=measured["status"].lower(),
        bound=measured["bound"],
    )


def time_host(instance: Instance) -> float:
    """Processor seconds of one solve of the host without its networks, by its default solver: the median of a few."""
    host = eliminate(instance.program, instance.embeddings).host
    seconds = []
    with closing(LastingSession(host, Solver(choose_backend(host.problem_class), SessionOptions()))) as session:
        session.open()
        for number in range(HOST_SOLVES):
            # Another objective each time: a solver that is asked the same again has nothing to do.
            session.set_cost(host.cost * (1.0 + 1e-3 * number), host.offset)
            began = time.process_time()
            session.solve(Limits())
            seconds.append(time.process_time() - began)
    return median(seconds)


def main(arguments: list[str] | None = None) -> None:
    parser = build_parser()
    chosen = parser.parse_args(arguments)
    console = Console(width=240)
    try:
        before = check_checkout(chosen.against) if chosen.against is not None else None
        cases = find_cases(chosen.cases)
    except ValueError as error:
        parser.error(str(error))
    contests = []
    for case in cases:
        try:
            with console.status(f"running {case.name}"):
                contests.append(hold(case, chosen.methods or case.methods, before, chosen.repeat, chosen.time_limit))
        except MissingDataError as error:
            console.print(f"[yellow]{case.name} is left out. {error}")
            continue
        console.print(build_table(contests[-1:]))
        if chosen.save is not None:
            write_markdown(contests, chosen.save)
    if len(contests) > 1:
        console.print(build_table(contests))


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.race", description="Methods side by side, one thread each.")
    parser.add_argument(
        "cases",
        nargs="*",
        metavar="CASE",
        help=f"a case such as qp-64x3-0, or how cases begin: qp-64x3, {', '.join(FAMILIES)}; all by default",
    )
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=[OURS, *BASELINES, *OWN_METHODS],
        metavar="METHOD",
        help=f"{OURS}, {', '.join([*BASELINES, *OWN_METHODS])}; those of the case by default",
    )
    parser.add_argument(
        "--against", type=Path, metavar="PATH", help=f'another checkout of this repository, whose dcembed runs as "{BEFORE}"'
    )
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="runs of each method, of which medians are shown; %(default)s by default"
    )
    parser.add_argument("--save", type=Path, metavar="FILE", help="a Markdown file for the table, written anew after each case")
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="of each run; that of the case by default")
    return parser


if __name__ == "__main__":
    main()
