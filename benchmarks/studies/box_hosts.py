"""Verifiers as optimizers: `python -m benchmarks.studies.box_hosts [number ...] --out benchmarks/results/bounds/box_hosts.md`.

The extremes of one score over a box, from the problems of avoidance: hosts without rows, which is all that a verifier takes. Input splitting
with the bounds of auto_LiRPA beside `dcembed.solve(prove=True)` and big-M, on the same boxes in one run, each in a process of its own with
one thread and the same processor seconds. Everything is minimized: a largest score is minus the number. auto_LiRPA is no dependency; where it
is not installed, its rows are missing, and the head says so. Its release on the package index is made for older packages, and is put into a
folder of its own without them: `pip install --no-deps --target FOLDER auto_LiRPA==0.3 appdirs`, and FOLDER into PYTHONPATH.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

import dcembed
from benchmarks import THREAD_VARIABLES
from benchmarks.peers import auto_lirpa_
from benchmarks.problems.avoidance import KINDS, NUM_INPUTS, NUM_PROBLEMS, build_avoidance
from benchmarks.problems.instance import Instance
from benchmarks.studies.input_splits import BATCH, Bounder, minimize_by_splits
from dcembed import Network
from dcembed.baselines import big_m
from dcembed.gap import relative_gap, show_gap
from dcembed.network.affine import Affine
from dcembed.network.planes import lower_planes, lowest

EXTREMES = range(KINDS.index("extreme"), NUM_PROBLEMS, len(KINDS))
# Steps of the optimized bounds, as verifiers take them while they split.
ITERATIONS = 10
# What auto_LiRPA calls its bounds.
PEER = {"split, IBP": "IBP", "split, CROWN": "CROWN", "split, alpha-CROWN": "CROWN-Optimized"}
OWN = {"split, our planes": 0, "split, our planes, 3 steps": 3}
# Seconds until the gap is at most this are columns.
GAPS = (0.1, 0.01, 1e-4)
TITLES = ("problem", "method", "ended", "objective", "bound", "gap", *(f"s to {100 * gap:g} %" for gap in GAPS), "processor s", "boxes")


@dataclass(frozen=True)
class Row:
    """One run; `trace` has (processor seconds, best value, bound), all minimized."""

    problem: str
    method: str
    ended: str
    objective: float
    bound: float
    seconds: float
    num_boxes: int | None
    trace: tuple[tuple[float, float, float], ...]


@dataclass(eq=False)
class ProcessorLimit:
    """Stops a run after so many processor seconds, and remembers how those went with the seconds of the clock, which a run is told in."""

    seconds: float
    _began: tuple[float, float] = field(default_factory=lambda: (time.monotonic(), time.process_time()))
    _looks: list[tuple[float, float]] = field(default_factory=list)

    def is_set(self) -> bool:
        """Whether they are over."""
        looked = time.monotonic() - self._began[0], time.process_time() - self._began[1]
        self._looks.append(looked)
        return looked[1] > self.seconds

    def spent_at(self, seconds: float) -> float:
        """Processor seconds when the clock said so."""
        self.is_set()
        clock, processor = np.array([(0.0, 0.0), *self._looks]).T
        return float(np.interp(seconds, clock, processor))


def methods() -> list[str]:
    """Those that can be run here."""
    return ["dcembed", "big-M", *OWN, *(PEER if auto_lirpa_.is_installed() else ())]


def scalar_problem(instance: Instance) -> tuple[Network, np.ndarray, np.ndarray]:
    """The score that is minimized as a network of one output, and the box of its inputs."""
    program, network = instance.program, instance.embeddings[0].network
    weights = program.sense * program.cost[NUM_INPUTS:]
    output = Affine(
        {source: weights[None] @ block for source, block in network.output.weights.items()}, weights[None] @ network.output.bias
    )
    return replace(network, output=output), program.lb[:NUM_INPUTS], program.ub[:NUM_INPUTS]


def run(number: int, method: str, seconds: float) -> Row:
    """One method on one problem, in this process."""
    instance = build_avoidance(number)
    if method in ("dcembed", "big-M"):
        return _run_solver(instance, method, seconds)
    network, lb, ub = scalar_problem(instance)
    bounder = _bounder(network, method)
    # Built and compiled before the clock starts.
    bounder(lb[None], ub[None])
    found = minimize_by_splits(network, lb, ub, bounder, seconds)
    trace = tuple((progress.seconds, progress.best, progress.bound) for progress in found.trace)
    ended = "optimal" if found.is_optimal else "time_limit"
    return Row(instance.name, method, ended, found.objective, found.bound, trace[-1][0], found.trace[-1].num_boxes, trace)


def _bounder(network: Network, method: str) -> Bounder:
    if method in PEER:
        return auto_lirpa_.build_bounder(network, BATCH, PEER[method], ITERATIONS)
    return lambda lb, ub: lowest(lower_planes(network, np.ones((len(lb), 1)), lb, ub, steps=OWN[method]), lb, ub)[:, 0]


def _run_solver(instance: Instance, method: str, seconds: float) -> Row:
    limit, sense = ProcessorLimit(seconds), instance.program.sense
    options = dcembed.Options(time_limit=np.inf, stop=limit, prove=method == "dcembed", verbose=False)
    solve = dcembed.solve if method == "dcembed" else big_m.solve
    result = solve(instance.program, instance.embeddings, start=instance.starts, options=options)
    events = [(at, sense * value, None) for at, value in result.incumbents] + [(at, None, sense * value) for at, value in result.bounds]
    best, bound, trace = np.inf, -np.inf, []
    for at, value, proved in sorted(events, key=lambda event: event[0]):
        best, bound = best if value is None else min(best, value), bound if proved is None else max(bound, proved)
        trace.append((limit.spent_at(at), best, bound))
    ended = "time_limit" if result.status is dcembed.Status.INTERRUPTED else result.status.name.lower()
    objective, proved = sense * result.objective, sense * result.bound
    return Row(instance.name, method, ended, objective, proved, limit.spent_at(result.seconds), None, tuple(trace))


def time_to_gap(row: Row, gap: float) -> float | None:
    """Processor seconds until the gap was at most this; None if it never was."""
    return next((at for at, best, bound in row.trace if relative_gap(best, bound) <= gap), None)


def cells(row: Row) -> tuple[str, ...]:
    """A row of the table."""
    times = [time_to_gap(row, gap) for gap in GAPS]
    return (
        row.problem,
        row.method,
        row.ended.replace("_", " "),
        f"{row.objective:.6g}",
        f"{row.bound:.6g}" if np.isfinite(row.bound) else "-",
        show_gap(relative_gap(row.objective, row.bound)),
        *("-" if at is None else f"{at:.2f}" for at in times),
        f"{row.seconds:.2f}",
        "" if row.num_boxes is None else f"{row.num_boxes:,}",
    )


def heading(seconds: float) -> str:
    """What the rows of the table are."""
    return "\n".join(
        [
            "# Verifiers as optimizers",
            "",
            f"Extremes of one score of a 6x50 network over a box of five inputs, minimized; {seconds:g} processor seconds and one thread each.",
            "",
            "- dcembed: `solve(prove=True)`; big-M: the exact encoding on HiGHS, its bound is its solver's own; both from the middle of the box",
            f"- split: inputs split in halves, the lowest of {BATCH // 2} boxes first, points from sign descent and from every box; with bounds of",
            f"  auto_LiRPA 0.3 (IBP, CROWN, alpha-CROWN with {ITERATIONS} steps; in double precision, not safe against rounding) or of our planes",
            "- seconds to a gap of 10, 1 and 0.01 %; - where it was not reached",
            *([] if auto_lirpa_.is_installed() else ["- auto_LiRPA is not installed here: its rows are missing"]),
            "",
            "",
        ]
    )


def write_table(rows: Iterable[Sequence[str]], seconds: float, path: Path) -> None:
    """The table as markdown."""
    lines = [TITLES, ["---"] * 3 + ["---:"] * (len(TITLES) - 3), *rows]
    path.write_text(heading(seconds) + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    """Run, print, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("number", nargs="*", type=int, help=f"problems of avoidance, of {', '.join(map(str, EXTREMES))} (default: all)")
    parser.add_argument("--seconds", type=float, default=20.0, help="processor seconds of a run (default %(default)s)")
    parser.add_argument("--out", type=Path, help="a markdown file for the table")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.number) - set(EXTREMES):
        parser.error(f"{min(unknown)} is not the number of an extreme; accepted: {', '.join(map(str, EXTREMES))}")
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    rows = []
    for number in asked.number or EXTREMES:
        for method in methods():
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                rows.append(cells(pool.apply(run, (number, method, asked.seconds))))
            print(" | ".join(rows[-1]), flush=True)
            if asked.out is not None:
                write_table(rows, asked.seconds, asked.out)


if __name__ == "__main__":
    main()
