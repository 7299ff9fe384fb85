"""What is proved about the optimum, and how fast: `python -m benchmarks.studies.certificates [case ...]`.

Every row is one `dcembed.solve` with `prove=True` in a process of its own, with one thread and the time limit of its row; examples are run as
they are. Cases are chosen by the beginnings of their names, such as `pooling qp-64x3`; all but the half-hour ones are run by default. `--out`
writes the table as markdown.
"""

from __future__ import annotations

import argparse
import io
import multiprocessing
import os
import runpy
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest import mock

from rich.console import Console
from rich.table import Table

import dcembed
from benchmarks import THREAD_VARIABLES
from benchmarks.problems.deep_pooling import deep_pooling
from benchmarks.problems.instance import Instance
from benchmarks.problems.pooling import build_pooling
from benchmarks.problems.qp import build_qp
from benchmarks.problems.water import build_water
from benchmarks.studies.integers import build_case
from dcembed.run.journal import Journal

HEAD = "# What is proved, and how fast\n\nOne thread each; `python -m benchmarks.studies.certificates`.\n\n"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SMALL = ("routing-3-2", "routing-5-0", "dispatch-2-1", "dispatch-3-1", "lots-2-0")
TITLES = ("case", "limit", "status", "objective", "bound", "gap", "asked for", "seconds", "processor s", "starts that agree")


@dataclass(frozen=True)
class Case:
    """What gives a result, given the seconds for it, and what is asked for in words."""

    name: str
    solve: Callable[[float], dcembed.Result]
    time_limit: float
    asked: str
    is_long: bool = False


@dataclass(frozen=True)
class Proved:
    """What a run came to."""

    status: str
    objective: float
    bound: float
    gap: float
    seconds: float
    processor_seconds: float
    agreement: str


def solve_instance(build: Callable[[], Instance], time_limit: float) -> dcembed.Result:
    """An instance, solved with a proof."""
    instance = build()
    options = dcembed.Options(time_limit=time_limit, prove=True, verbose=False)
    return dcembed.solve(instance.program, instance.embeddings, start=instance.starts or None, options=options)


def run_example(path: Path, time_limit: float) -> dcembed.Result:
    """An example as it is, which has its own time limit; the result is the last one of its run."""
    results: list[dcembed.Result] = []
    measure = Journal.result

    def keep(journal: Journal, *arguments: object, **keywords: object) -> dcembed.Result:
        results.append(measure(journal, *arguments, **keywords))
        return results[-1]

    with mock.patch.object(Journal, "result", keep), redirect_stdout(io.StringIO()):
        runpy.run_path(str(path), run_name="__main__")
    return results[-1]


def cases() -> Iterator[Case]:
    """All cases."""
    yield from experiments()
    for path in sorted(EXAMPLES.glob("*.py")):
        if "prove=" in path.read_text(encoding="utf-8"):
            yield Case(f"example-{path.stem}", partial(run_example, path), 10.0, "at most 1 % in 10 s")
    for name in SMALL:
        yield solved(f"small-{name}", partial(build_case, name), 60.0, "OPTIMAL")


def solved(name: str, build: Callable[[], Instance], seconds: float, asked: str, is_long: bool = False) -> Case:
    """The case of an instance."""
    return Case(name, partial(solve_instance, build), seconds, asked, is_long)


def experiments() -> Iterator[Case]:
    """Instances of the experiments."""
    for m, seconds in (*((m, 3.0) for m in range(12, 18)), (46, 10.0), (100, 60.0)):
        pools = range(9) if m == 17 else range(1)
        for pool in pools:
            yield solved(f"pooling-{m}-{pool}", partial(build_pooling, str(m), pool), 2 * seconds, f"OPTIMAL in {seconds:g} s")
    for widths in ((32, 32), (64, 64), (32, 32, 32)):
        name = "pooling-" + "x".join(map(str, widths))
        yield solved(name, partial(deep_pooling, widths, 12, 0), 60.0, "at most 5 %")
    for size, seconds, share in (("16x3", 60.0, 0.5), ("64x3", 60.0, 0.5), ("64x6", 180.0, 2.0), ("256x3", 180.0, 2.0)):
        for trial in range(3):
            yield solved(f"qp-{size}-{trial}", partial(build_qp, size, trial), seconds, f"at most {share:g} %")
    for cohort in range(3):
        yield solved(f"water-25-{cohort}", partial(build_water, "25", cohort), 180.0, "at most 15 %")
    yield solved("water-800-0", partial(build_water, "800", 0), 1800.0, "a bound below 150", is_long=True)


def measure(name: str) -> Proved:
    """Run a case."""
    case = next(case for case in cases() if case.name == name)
    busy = time.process_time()
    result = case.solve(case.time_limit)
    return Proved(
        result.status.name,
        result.objective,
        result.bound,
        result.gap,
        result.seconds,
        time.process_time() - busy,
        f"{result.agreement} of {result.num_starts}",
    )


def measure_apart(case: Case) -> tuple[str, ...]:
    """The row of a case, run in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        row = pool.apply(measure, (case.name,))
    numbers = f"{row.objective:.6g}", f"{row.bound:.6g}", f"{100 * row.gap:.3g} %"
    times = f"{row.seconds:.2f}", f"{row.processor_seconds:.2f}"
    return case.name, f"{case.time_limit:g} s", row.status, *numbers, case.asked, *times, row.agreement


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("case", nargs="*", help="beginnings of names; all but the long ones by default")
    parser.add_argument("--out", type=Path, help="a markdown file for the table")
    asked = parser.parse_args(arguments)
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    console, table, rows = Console(width=160), Table(*TITLES), []
    for case in cases():
        if case.name.startswith(tuple(asked.case)) if asked.case else not case.is_long:
            rows.append(measure_apart(case))
            table.add_row(*rows[-1])
            console.print("  ".join(rows[-1]), highlight=False)
    console.print(table)
    if asked.out is not None:
        lines = [TITLES, tuple("---" for _ in TITLES), *rows]
        asked.out.write_text(HEAD + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
