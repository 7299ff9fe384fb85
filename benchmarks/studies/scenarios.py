"""Pooling designs in up to a million scenarios: `python -m benchmarks.studies.scenarios [m ...]`.

Each row is a run of all five starts in a process of its own, with one thread; seconds are processor seconds of `dcembed.solve`, and the memory
is the peak of the process, the instance included. m = 17 is run from nine pools of starts, m = 5, 6 and 7 from two plain designs with
the default search.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

import dcembed
from benchmarks import THREAD_VARIABLES
from benchmarks.harness.process import peak_memory
from benchmarks.problems.pooling import load_pooling_network, optimum, pooling_from_two_starts, pooling_instance

POOLS = {17: range(9)}
FROM_TWO_STARTS = (5, 6, 7)
SIZES = (*FROM_TWO_STARTS, 17, 46, 100)


@dataclass(frozen=True)
class Measured:
    """What a run came to: profit, starts, subproblems, processor seconds until its best point and in all, and peak memory in MiB."""

    name: str
    profit: float
    num_starts: int
    num_solves: int
    seconds_to_best: float
    seconds: float
    memory: float


def measure(case: tuple[int, int]) -> Measured:
    """Run the starts of a pool at m values by uncertain quantity."""
    m, pool = case
    instance = pooling_from_two_starts(m) if m in FROM_TWO_STARTS else pooling_instance(load_pooling_network(), m, pool)
    bests: list[tuple[float, float]] = []
    began = time.process_time()
    options = dcembed.Options(
        # The two plain designs lead nowhere by themselves: further starts follow them until nothing better is found.
        search="patient" if m in FROM_TWO_STARTS else "converge",
        verbose=False,
        callback=lambda step: bests.append((time.process_time() - began, step.best)),
    )
    result = dcembed.solve(instance.program, instance.embeddings, start=instance.starts, options=options)
    seconds = time.process_time() - began
    found = next((at for at, best in bests if best == bests[-1][1]), seconds)
    num_starts = max(step.start for step in result.history) + 1
    return Measured(instance.name, -result.objective, num_starts, len(result.history), found, seconds, peak_memory())


def measure_apart(case: tuple[int, int]) -> Measured:
    """The same in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, (case,))


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("m", nargs="*", type=int, help="values by uncertain quantity; m^3 are the scenarios")
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    titles = ("case", "scenarios", "profit", "best of all designs", "starts", "solves", "s to best", "s in all", "peak MiB")
    table = Table(*titles)
    for m in parser.parse_args(arguments).m or SIZES:
        best = -optimum(m)
        for pool in POOLS.get(m, range(1)):
            row = measure_apart((m, pool))
            numbers = f"{row.num_starts}", f"{row.num_solves}", f"{row.seconds_to_best:.3f}", f"{row.seconds:.3f}", f"{row.memory:.0f}"
            table.add_row(row.name, f"{m**3:,}", f"{row.profit:.6f}", f"{best:.6f}", *numbers)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
