"""Small networks behind many integers, against proved optima: `python -m benchmarks.studies.integers [CASE ...]`.

Cases are FAMILY-SIZE-SEED. Their optima were proved by the big-M encoding (`dcembed.baselines.big_m`), some in minutes.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

import dcembed
from benchmarks.problems.dispatch import dispatch_instance
from benchmarks.problems.instance import Instance
from benchmarks.problems.lots import lots_instance
from benchmarks.problems.routing import routing_instance

FAMILIES = {"routing": routing_instance, "dispatch": dispatch_instance, "lots": lots_instance}
OPTIMA = {
    "routing-3-2": 3.06320,
    "routing-5-0": 4.38888,
    "routing-5-1": 1.36304,
    "routing-5-2": 3.00505,
    "routing-5-3": 5.97274,
    "routing-5-4": 1.49389,
    "routing-5-5": 1.71701,
    "dispatch-2-1": 2.03077,
    "dispatch-3-0": 1.91457,
    "dispatch-3-1": -0.08111,
    "dispatch-4-0": 2.15374,
    "dispatch-4-1": 0.59863,
    "dispatch-4-2": 1.81245,
    "dispatch-4-3": 4.62876,
    "dispatch-5-0": 2.44426,
    "lots-2-0": 4.20049,
    "lots-3-0": 17.20117,
    "lots-3-1": 10.22848,
    "lots-3-2": 3.17702,
    "lots-4-0": 22.23677,
    "lots-4-1": 15.66684,
    "lots-4-2": 9.78774,
    "lots-4-3": -1.93995,
}
TIME_LIMIT, NEAR = 10.0, 0.01


@dataclass(frozen=True)
class Outcome:
    """One run: where it ended, the gap to the optimum, and when it was within one percent of it (NaN for never)."""

    objective: float
    gap: float
    near_after: float
    processor_seconds: float
    num_subproblems: int


def build_case(name: str) -> Instance:
    """The instance of a case."""
    family, size, seed = name.split("-")
    return FAMILIES[family](int(size), int(seed))


def run_case(name: str, time_limit: float = TIME_LIMIT) -> Outcome:
    """Solve a case by default settings, one thread."""
    instance, optimum = build_case(name), OPTIMA[name]
    scale = max(1.0, abs(optimum))
    began = time.process_time()
    result = dcembed.solve(instance.program, instance.embeddings, options={"verbose": False, "time_limit": time_limit})
    near = (seconds for seconds, value in result.incumbents if value <= optimum + NEAR * scale)
    gap = (result.objective - optimum) / scale
    return Outcome(result.objective, gap, next(near, np.nan), time.process_time() - began, len(result.history))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.integers", description="Small networks behind many integers.")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"out of {', '.join(OPTIMA)}; all by default")
    parser.add_argument("--time-limit", type=float, default=TIME_LIMIT, metavar="SECONDS", help="of each run; %(default)s by default")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.cases if name not in OPTIMA]
    if unknown:
        parser.error(f"unknown case {unknown[0]!r}; accepted: {', '.join(OPTIMA)}")
    table = Table("case", "integers", "units", "optimum", "objective", "gap", "within 1 % after", "processor s", "subproblems")
    console = Console(width=150)
    for name in chosen.cases or OPTIMA:
        instance = build_case(name)
        num_units = sum(e.num_evaluations * e.network.num_hidden for e in instance.embeddings)
        with console.status(f"running {name}"):
            run = run_case(name, chosen.time_limit)
        table.add_row(
            name,
            str(int(instance.program.integer.sum())),
            str(num_units),
            f"{OPTIMA[name]:.5f}",
            f"{run.objective:.5f}",
            f"{100 * run.gap:.2f} %",
            f"{run.near_after:.1f} s",
            f"{run.processor_seconds:.1f}",
            str(run.num_subproblems),
        )
    console.print(table)


if __name__ == "__main__":
    main()
