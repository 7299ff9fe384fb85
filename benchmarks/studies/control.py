"""Two hundred solves in a row: `python -m benchmarks.studies.control`.

Four tanks are controlled in closed loop (`problems/tanks.py`): every period the plant is measured, twenty steps are optimized and the first of
them is made. The same problems go to `dcembed.compile(...).solve` and to Ipopt on the same oracle of the networks, one after the other
in one process, each warm started by its own last answer, a step later. Ipopt is used as someone would who knows it: the problem is built once,
multipliers of the last answer are given back, first and second derivatives are exact, and nothing is measured on the way. What both answer
is verified in the same way. The plant follows the answers of the first method, so that all get the same problems. `--out` writes the tables
as markdown.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import dcembed
from benchmarks.harness.machine import describe_machine, describe_versions
from benchmarks.problems.tank_system import advance, steady
from benchmarks.problems.tanks import ACTIVATIONS, HORIZON, Control, build_control, load_dynamics
from dcembed.baselines.nonlinear import NonlinearProgram
from dcembed.embedded.elimination import eliminate
from dcembed.program.derive import revalue

NUM_SOLVES, NOISE, SEED = 200, 0.02, 0
# Pumps at whose steady levels the plant is to be, one after the other, and for how many periods each.
SETPOINTS, PERIODS = ((3.0, 3.0), (2.6, 3.4), (3.4, 3.2), (2.2, 2.4)), 50
FIRST_PUMPS = np.array([2.5, 2.5])
# Of both methods: how far rows may be off, and how near to optimal a point must be.
FEASIBILITY_TOL, OBJECTIVE_TOL = 1e-5, 1e-6
OPTIONS = {"search": "local", "feasibility_tol": FEASIBILITY_TOL, "objective_tol": OBJECTIVE_TOL, "verbose": False}

# Ipopt, cold and as it is told to begin near by: the usual settings for that.
IPOPT = {"print_level": 0, "sb": "yes", "tol": FEASIBILITY_TOL, "constr_viol_tol": FEASIBILITY_TOL}
NEARBY = {"warm_start_init_point": "yes", "mu_init": 1e-4} | {
    f"warm_start_{name}": 1e-6 for name in ("bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac", "mult_bound_push")
}

# What dcembed is compared with.
OTHERS = "Ipopt", "Ipopt, near"

# A solve: numbers that change, and a start of all columns, to a point of all columns.
Solve = Callable[[dict, np.ndarray], np.ndarray]


@dataclass
class Record:
    """What one method has done: processor and wall seconds, objectives, violations of every solve."""

    processor: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    objectives: list[float] = field(default_factory=list)
    violations: list[float] = field(default_factory=list)

    def add(self, solve: Solve, control: Control, numbers: dict, start: np.ndarray) -> np.ndarray:
        """Time a solve and verify its answer against the changed problem."""
        processor, wall = time.process_time(), time.perf_counter()
        x = solve(numbers, start)
        self.processor.append(time.process_time() - processor)
        self.wall.append(time.perf_counter() - wall)
        measured = dcembed.verify(revalue(control.program, **numbers), control.embeddings, x)
        self.objectives.append(measured.objective)
        self.violations.append(measured.violation)
        return x


def compiled(problem: dcembed.CompiledProblem) -> Solve:
    return lambda numbers, start: problem.solve(**numbers, start=start).x


def with_ipopt(control: Control, is_near: bool) -> Solve:
    """Ipopt on the problem, which is eliminated and prepared once."""
    import ipyopt

    embedded = eliminate(control.program, control.embeddings)
    program = NonlinearProgram(embedded)
    multipliers: list[np.ndarray] = []

    def fill(function: Callable[..., np.ndarray]) -> Callable[..., None]:
        def call(*arguments) -> None:
            arguments[-1][:] = function(*arguments[:-1])

        return call

    def solve(numbers: dict, start: np.ndarray) -> np.ndarray:
        lb, ub = numbers["lb"][embedded.kept], numbers["ub"][embedded.kept]
        program.change_objective(numbers["cost"][embedded.kept], numbers["offset"])
        functions = program.objective, *map(fill, (program.gradient, program.rows, program.jacobian))
        curvature = fill(lambda w, of_rows, of_objective: program.hessian(w, of_objective, of_rows))
        sizes = lb.size, lb, ub, program.num_rows, program.lower, program.upper
        settings = IPOPT | (NEARBY if is_near and multipliers else {})
        problem = ipyopt.Problem(*sizes, program.jacobian_places, program.hessian_places, *functions, curvature, ipopt_options=settings)
        known = [each.copy() for each in multipliers] or [np.zeros(program.num_rows), np.zeros(lb.size), np.zeros(lb.size)]
        w, _, _ = problem.solve(np.clip(start[embedded.kept], lb, ub), mult_g=known[0], mult_x_L=known[1], mult_x_U=known[2])
        multipliers[:] = known
        return embedded.lift(w)

    return solve


def wanted_at(period: int) -> np.ndarray:
    """The levels of the lower tanks that are wanted then."""
    return steady(np.array(SETPOINTS[(period // PERIODS) % len(SETPOINTS)]))[:2]


def run_loop(activation: str, num_solves: int) -> dict[str, Record]:
    """The closed loop, with all methods side by side."""
    network = load_dynamics(activation)
    control = build_control(network)
    rng = np.random.default_rng(SEED)
    levels, pumps = steady(FIRST_PUMPS), FIRST_PUMPS
    with dcembed.compile(control.program, control.embeddings, OPTIONS) as problem:
        solves = {"dcembed": compiled(problem), "Ipopt": with_ipopt(control, False), "Ipopt, near": with_ipopt(control, True)}
        records, starts = (
            {name: Record() for name in solves},
            dict.fromkeys(solves, control.simulated(levels, np.tile(pumps, (HORIZON + 1, 1)))),
        )
        for period in range(num_solves):
            numbers = control.bounds(levels, pumps) | control.objective(wanted_at(period))
            answers = {name: records[name].add(solve, control, numbers, starts[name]) for name, solve in solves.items()}
            pumps = answers["dcembed"][control.pumps[1]]
            levels = advance(levels[None], pumps[None])[0] + rng.normal(0.0, NOISE, levels.size)
            starts = {name: control.shifted(answer, levels) for name, answer in answers.items()}
    return records


TITLES = "method", "median ms", "worst ms", "total s", "median wall ms", "worst wall ms", "verified", "worse than the best"


def rows_of(records: dict[str, Record]) -> list[tuple[str, ...]]:
    """A row for each method."""
    best, rows = np.min([record.objectives for record in records.values()], axis=0), []
    for name, record in records.items():
        processor, wall = 1e3 * np.array(record.processor), 1e3 * np.array(record.wall)
        verified = int((np.array(record.violations) <= FEASIBILITY_TOL).sum())
        loss = (np.array(record.objectives) - best) / np.maximum(1.0, np.abs(best))
        times = np.median(processor), processor.max(), processor.sum() / 1e3, np.median(wall), wall.max()
        shown = (f"{each:.1f}" for each in times)
        rows.append((name, *shown, f"{verified} of {wall.size}", f"{loss.mean():.1e}, at most {loss.max():.1e}"))
    return rows


def title_of(activation: str, records: dict[str, Record]) -> str:
    return f"{len(records['dcembed'].wall)} solves in a row, {activation} network"


def show(activation: str, records: dict[str, Record]) -> Table:
    table = Table(*TITLES, title=title_of(activation, records))
    for row in rows_of(records):
        table.add_row(*row)
    return table


HEAD = """# The same problem again and again

Twenty steps of four tanks with a network of their dynamics, solved in closed loop by a compiled problem and by Ipopt on the same oracle, one after the
other in one process, one thread, on {machine}; {versions}. Made by `python -m benchmarks.studies.control --out FILE`, which explains what each is
given. Milliseconds are of one solve, and of the processor unless they are of the wall; the load of the machine over the last quarter of an hour, other work
included, was {load} at the end, so that ratios within the run tell, and seconds do not. "Ipopt" begins at the last answer, a step later;
"Ipopt, near" has its multipliers, too, and is told to begin near by.
"""


def write_tables(all_records: dict[str, dict[str, Record]], path: Path) -> None:
    """The tables of all networks, and the ratios below each."""
    load = f"{os.getloadavg()[2]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    text = HEAD.format(machine=describe_machine(), versions=describe_versions(), load=load)
    for activation, records in all_records.items():
        lines = (TITLES, ["---"] * len(TITLES), *rows_of(records))
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        below = "\n".join(f"- {ratios(records, other)}" for other in OTHERS)
        text += f"\n## {title_of(activation, records)}\n\n{table}\n\n{below}\n"
    path.write_text(text, encoding="utf-8")


def ratios(records: dict[str, Record], other: str) -> str:
    """Of the times of dcembed to those of the other method."""
    pairs = [(np.array(records[name].processor), np.array(records[name].wall)) for name in ("dcembed", other)]
    (own, own_wall), (their, their_wall) = pairs
    return (
        f"dcembed / {other}: processor median {np.median(own) / np.median(their):.2f}, worst {own.max() / their.max():.2f}, "
        f"sum {own.sum() / their.sum():.2f}; wall median {np.median(own_wall) / np.median(their_wall):.2f}, "
        f"worst {own_wall.max() / their_wall.max():.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("activations", nargs="*", help=f"networks: {', '.join(ACTIVATIONS)} (default: all)")
    parser.add_argument("--solves", type=int, default=NUM_SOLVES)
    parser.add_argument("--out", type=Path, help="a markdown file for the tables")
    arguments = parser.parse_args()
    console, all_records = Console(width=140), {}
    for activation in arguments.activations or ACTIVATIONS:
        records = all_records[activation] = run_loop(activation, arguments.solves)
        console.print(show(activation, records))
        for other in OTHERS:
            console.print(ratios(records, other))
    if arguments.out is not None:
        write_tables(all_records, arguments.out)


if __name__ == "__main__":
    main()
