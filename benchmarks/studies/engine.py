"""The engine against the paper's formulation, side by side in one run: `python -m benchmarks.engine [CASE ...]`.

Every row is measured here, one thread, on this machine. `shared` is the paper's method (shared epigraph, global split).
`python -m benchmarks.engine --against PATH` compares this state with another checkout of the repository instead (`against.py`).
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import dcembed
from benchmarks.harness.process import peak_memory
from benchmarks.harness.sampler import Sampler
from benchmarks.problems.data import MissingDataError
from benchmarks.problems.instance import Instance
from benchmarks.problems.pooling import all_designs, load_pooling_network, pooling_instance, surrogate_profit
from benchmarks.problems.qp import load_qp_network, network_path, qp_instance
from benchmarks.problems.water import load_water_network, water_instance, with_score_columns
from benchmarks.studies import against
from benchmarks.studies.apart import check_checkout

LIMIT = 180.0
WATER_TARGETS = {25: 15, 50: 20, 100: 35, 200: 51, 400: 83, 800: 115}
WATER_GREEDY = {25: 12.33, 50: 17.00, 100: 28.00, 200: 41.00, 400: 67.33, 800: 96.67}

Row = tuple[str, str, str]


def solve(instance: Instance, **options) -> dcembed.Result:
    settings = dcembed.Options(**{"verbose": False, "time_limit": LIMIT, **options})
    return dcembed.solve(instance.program, instance.embeddings, start=instance.starts, options=settings)


def time_to(result: dcembed.Result, objective: float) -> float:
    """Seconds until the run had a feasible point at least this good; NaN if never."""
    return next((seconds for seconds, value in result.incumbents if value <= objective + 1e-9), np.nan)


def qp_ratio(width: int, depth: int, target: float) -> list[Row]:
    instance = qp_instance(load_qp_network(width, depth, 0), 0)
    paper = solve(instance, formulation="shared", initial_penalty=100.0)
    ours = solve(instance)
    ended = paper.incumbents[-1][0] if paper.status is dcembed.Status.LOCALLY_SOLVED else paper.seconds
    reached = time_to(ours, paper.objective)
    shown = (
        f"{ended / reached:.0f}x: shared at {paper.objective:.6f} after {ended:.1f} s ({paper.status.name}), default there after "
        f"{reached:.2f} s; default ends at {ours.objective:.6f} after {ours.seconds:.2f} s"
    )
    return [(f"QP ({width},{depth})", f">= {target:g}x, final no worse", shown)]


def qp_share(width: int, depth: int) -> list[Row]:
    case, must = f"QP ({width},{depth})", "converges, >= 90 % in solver and products"
    if not network_path(width, depth, 0).exists():
        return [(case, must, f"no network: python -m benchmarks.problems.train_qp {width}x{depth} --trials 0 --steps 2000 --batch 1000")]
    instance = qp_instance(load_qp_network(width, depth, 0), 0)
    with Sampler() as sampler:
        result = solve(instance)
    shown = f"{result.status.name} at {result.objective:.6f} after {result.seconds:.1f} s; {100 * sampler.share(_is_native):.0f} %"
    return [(case, must, shown)]


# Files of the package that are nothing but array products, and the functions that call a solver.
PRODUCTS = ("reduction.py", "batched_products.py", "bounds.py", "network/network.py", "backpropagation.py", "split.py")
SOLVER_CALLS = ("run_piqp", "_run_once")


def _is_native(file: str, function: str) -> bool:
    return file.endswith(PRODUCTS) or function in SOLVER_CALLS


def pooling_pools() -> list[Row]:
    network = load_pooling_network()
    best = surrogate_profit(network, 17, all_designs()).max()
    rows = []
    for trial in range(3):
        instance = pooling_instance(network, 17, trial)
        ours = solve(instance)
        paper = solve(instance, formulation="shared")
        shown = (
            f"{-ours.objective:.6f} (optimum {best:.6f}) with {len(ours.history)} MIPs, found after {ours.incumbents[-1][0]:.2f} s, "
            f"all starts {ours.seconds:.1f} s; shared {-paper.objective:.6f} after {paper.incumbents[-1][0]:.1f} s, "
            f"stopped at {paper.seconds:.0f} s ({paper.status.name})"
        )
        rows.append((f"pooling m = 17, pool {trial}", "optimum, <= 25 MIPs", shown))
    return rows


def pooling_large() -> list[Row]:
    network, designs = load_pooling_network(), all_designs()
    rows = []
    for m in (17, 46, 100):
        (result, memory) = _apart(_pooling, m)
        best = surrogate_profit(network, m, designs).max()
        objective, found, seconds = result
        shown = f"{-objective:.6f} (best of 495: {best:.6f}) after {found:.1f} s, all starts {seconds:.1f} s, {memory:.2f} GiB"
        rows.append((f"pooling m = {m}, {m**3:,} scenarios", "best design, linear time, < 2 GiB", shown))
    return rows


def _pooling(m: int) -> tuple[float, float, float]:
    result = solve(pooling_instance(load_pooling_network(), m, 0), time_limit=900.0)
    return result.objective, result.incumbents[-1][0], result.seconds


def water(sizes: list[int]) -> list[Row]:
    rows = []
    for size in sizes:
        runs = [_apart(_water, (size, cohort, False)) for cohort in range(3)]
        counts = [count for (count, _), _ in runs]
        shown = f"{np.mean(counts):.1f} ({', '.join(str(c) for c in counts)}), greedy {WATER_GREEDY[size]:.1f}, {max(m for _, m in runs):.2f} GiB"
        if size == 800:
            shown += f"; first 100 after {', '.join(f'{first:.1f}' for (_, first), _ in runs)} s"
        rows.append((f"water N = {size}", f">= {WATER_TARGETS[size]} within 60 s, < 1 GiB", shown))
    return rows


def water_score_columns() -> list[Row]:
    rows = []
    for size in (25, 100):
        (plain, _), _ = _apart(_water, (size, 0, False))
        (wide, _), _ = _apart(_water, (size, 0, True))
        rows.append((f"water N = {size} with score columns", "same counts", f"{wide} with, {plain} without"))
    return rows


def _water(case: tuple[int, int, bool]) -> tuple[int, float]:
    size, cohort, wide = case
    instance = water_instance(load_water_network(), size, cohort)
    result = solve(with_score_columns(instance, size) if wide else instance, time_limit=60.0)
    return round(-result.objective), time_to(result, -100.0)


def _apart(function: Callable, argument) -> tuple:
    """The function's answer from a process of its own, and that process's peak memory in GiB."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_with_memory, (function, argument))


def _with_memory(function: Callable, argument) -> tuple:
    answer = function(argument)
    return answer, peak_memory() / 2**10


CASES: dict[str, Callable[[], list[Row]]] = {
    "qp-64x3": lambda: qp_ratio(64, 3, 10),
    "qp-64x6": lambda: qp_ratio(64, 6, 30),
    "qp-256x3": lambda: qp_ratio(256, 3, 100),
    "qp-64x12": lambda: qp_share(64, 12),
    "qp-512x3": lambda: qp_share(512, 3),
    "qp-1024x3": lambda: qp_share(1024, 3),
    "pooling": pooling_pools,
    "pooling-large": pooling_large,
    "water": lambda: water([25, 50, 100, 200, 400, 800]),
    "water-small": lambda: water([25]),
    "water-columns": water_score_columns,
}


def main(arguments: list[str] | None = None) -> None:
    parser = build_parser()
    chosen = parser.parse_args(arguments)
    if chosen.against is not None:
        try:
            other = check_checkout(chosen.against)
            cases = [against.read_case(name, chosen.time_limit) for name in chosen.cases or against.CASES]
        except (ValueError, MissingDataError) as error:
            parser.error(str(error))
        against.compare_with(other, cases, chosen.repeat, Console(width=200))
        return
    names = chosen.cases or [name for name in CASES if name != "water-small"]
    unknown = [name for name in names if name not in CASES]
    if unknown:
        parser.error(f"unknown case {unknown[0]!r}; accepted: {', '.join(CASES)}")
    measure(names)


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine", description="The engine, case by case, one thread.")
    parser.add_argument(
        "cases",
        nargs="*",
        metavar="CASE",
        help=f"out of {', '.join(CASES)}; all but water-small by default. With --against FAMILY-SIZE or FAMILY-SIZE-TRIAL of any experiment; "
        f"{', '.join(against.CASES)} by default",
    )
    parser.add_argument("--against", type=Path, metavar="PATH", help="compare with another checkout of this repository, run for run")
    parser.add_argument(
        "--repeat", type=int, default=against.REPEATS, metavar="N", help="runs of each state with --against; %(default)s by default"
    )
    parser.add_argument(
        "--time-limit",
        type=float,
        metavar="SECONDS",
        help=f"of each run with --against; {against.TIME_LIMIT:g} by default, {against.WATER_TIME_LIMIT:g} for water",
    )
    return parser


def measure(names: list[str]) -> None:
    """Run cases and print what they must show beside what they do."""
    console = Console(width=200)
    table = Table("case", "must show", "measured", title=f"dcembed {dcembed.__version__}, one thread")
    for name in names:
        with console.status(f"running {name}"):
            rows = CASES[name]()
        for row in rows:
            table.add_row(*row)
            console.print(" | ".join(row))
    console.print(table)


if __name__ == "__main__":
    main()
