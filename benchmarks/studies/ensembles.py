"""What ensembles cost, and as what they are solved best: `python -m benchmarks.studies.ensembles`, which writes results/ensembles.md.

Two tables. Evaluations: twenty networks as one ensemble beside the same twenty one by one, in turns, at 1, 100 and 10,000 points; processor
seconds, the least of many turns. They are measured twice, each time in a process of its own. By default the C library gives the memory of large arrays
back as soon as they are freed and asks for it again, page by page; at 10,000 points that is most of what networks one by one take, and an ensemble, which
holds the predictions of its members meanwhile, happens to be spared. Where memory is kept, arithmetic is compared with arithmetic. Solves: the same problem with the ensemble as units of a network and as rows over the predictions of its
members, one after the other in one process, each with the same time limit; small problems with members that are trained on samples of the
same data.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from sklearn.ensemble import BaggingRegressor
from sklearn.neural_network import MLPRegressor

import dcembed
from dcembed.embedded.lift import unlifted
from dcembed.ensembles.rows import lift_ensembles
from dcembed.network.ensemble import Ensemble
from dcembed.network.network import Network

RESULTS = Path(__file__).parents[1] / "results" / "ensembles.md"
NUM_MEMBERS = 20
SHAPES = ((5, 20, 20, 1), (8, 100, 1), (10, 50, 50, 3), (20, 100, 100, 100, 1))
POINTS = (1, 100, 10_000)
OUTPUTS: dict[str, dict[str, object]] = {
    "mean": {},
    "max": {},
    "mean_deviation": {"k": 1.0},
    "agreement": {"agree": 18},
    "members": {},
}
# What the C library does with memory that is freed, by its environment; other libraries than that of GNU do not look at it.
MEMORY: dict[str, dict[str, str]] = {
    "given back": {},
    "kept": {"MALLOC_TRIM_THRESHOLD_": str(2**32), "MALLOC_MMAP_THRESHOLD_": str(2**32), "MALLOC_TOP_PAD_": str(2**26)},
}
# What is promised of an evaluation.
MOST = 1.3


def random_network(rng: np.random.Generator, sizes: Sequence[int]) -> Network:
    """A ReLU network with random weights."""
    weights = [rng.standard_normal((below, above)) / np.sqrt(above) for above, below in pairwise(sizes)]
    return dcembed.build_mlp(weights, [0.3 * rng.standard_normal(weight.shape[0]) for weight in weights])


def seconds_in_turns(calls: Sequence[Callable[[], object]], budget: float) -> list[float]:
    """The least processor seconds of each call, made in turns until the budget is used up, at least three times."""
    least, spent, turns = [np.inf] * len(calls), 0.0, 0
    while spent < budget or turns < 3:
        for place, call in enumerate(calls):
            begin = time.process_time()
            call()
            seconds = time.process_time() - begin
            least[place], spent = min(least[place], seconds), spent + seconds
        turns += 1
    return least


def measure_in_processes(budget: float) -> list[list[str]]:
    """Evaluations with each way to treat memory, in a process that is begun with it."""
    table = []
    for name, variables in MEMORY.items():
        os.environ.update(variables)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            table += [[name, *row] for row in pool.apply(measure_evaluations, (budget,))]
        for variable in variables:
            del os.environ[variable]
    return table


def measure_evaluations(budget: float) -> list[list[str]]:
    """Ratios of an ensemble to its members one by one."""
    rng = np.random.default_rng(0)
    table = []
    for sizes in SHAPES:
        members = [random_network(rng, sizes) for _ in range(NUM_MEMBERS)]
        ensembles = [dcembed.ensemble(members, output, **settings) for output, settings in OUTPUTS.items()]  # type: ignore[arg-type]  # by name
        for count in POINTS:
            points = rng.standard_normal((count, sizes[0]))
            calls = [_one_by_one(members, points), *(_together(ensemble, points) for ensemble in ensembles)]
            alone, *together = seconds_in_turns(calls, budget)
            ratios = [seconds / alone for seconds in together]
            table.append([" - ".join(map(str, sizes)), f"{count:,}", f"{1e3 * alone:.2f}", *(f"{ratio:.2f}" for ratio in ratios)])
            print(" | ".join(table[-1]), flush=True)
    return table


def _one_by_one(members: Sequence[Network], points: np.ndarray) -> Callable[[], object]:
    return lambda: [member(points) for member in members]


def _together(ensemble: Ensemble, points: np.ndarray) -> Callable[[], object]:
    return lambda: ensemble(points)


@dataclass(frozen=True)
class Kind:
    """A way in which hosts use an ensemble: its output, and whether it is in the objective or has a limit."""

    name: str
    output: str
    settings: dict[str, object]
    maximize: bool = False
    is_limited: bool = False


def kinds(num_members: int) -> list[Kind]:
    """Those that are written as rows; nine of ten members agree."""
    agree = {"agree": round(0.9 * num_members)}
    return [
        Kind("minimize the max", "max", {}),
        Kind("max within a limit", "max", {}, is_limited=True),
        Kind("maximize the min", "min", {}, maximize=True),
        Kind("9 of 10 within a limit", "agreement", agree, is_limited=True),
    ]


def trained_members(num_members: int, num_inputs: int, widths: tuple[int, ...], seed: int) -> BaggingRegressor:
    """Networks of scikit-learn, each fitted to a sample of the same data."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, (150, num_inputs))
    values = np.sin(3 * points[:, 0]) + points[:, 1] ** 2 - points[:, 0] * points[:, -1] + 0.2 * rng.standard_normal(150)
    model = MLPRegressor(hidden_layer_sizes=widths, max_iter=300, tol=1e-3, random_state=seed)
    with warnings.catch_warnings():
        # Whether a fit is at its end is of no matter here.
        warnings.simplefilter("ignore")
        return BaggingRegressor(model, n_estimators=num_members, random_state=seed).fit(points, values)


def build_problem(kind: Kind, model: BaggingRegressor, seed: int) -> tuple[dcembed.Program, dcembed.Embedding]:
    """Inputs in a box with costs of their own; the output in the objective, or at most what 15 % of the box keep."""
    ensemble = dcembed.ensemble(model, kind.output, **kind.settings)  # type: ignore[arg-type]  # by name
    n, rng = ensemble.num_inputs, np.random.default_rng(seed)
    prices, sample = rng.standard_normal(n), ensemble(rng.uniform(-1, 1, (2000, n)))
    cost = np.append(prices, 0.0) if kind.is_limited else np.append(0.1 * prices, 1.0)
    limit = float(np.quantile(sample, 0.15)) if kind.is_limited else np.inf
    program = dcembed.Program(cost, lb=[-1.0] * n + [-np.inf], ub=[1.0] * n + [limit], maximize=kind.maximize)
    return program, dcembed.Embedding(ensemble, np.arange(n), [n])


def as_units(embedding: dcembed.Embedding) -> dcembed.Embedding:
    """The same embedding with the ensemble as a network that nothing is known of."""
    e = embedding.network
    return dcembed.Embedding(Network(e.num_inputs, e.stages, e.output, e.input_names, e.activations), embedding.inputs, embedding.outputs)


@dataclass(frozen=True)
class Run:
    """The verified objective at the end, processor seconds, and (seconds, objective) of better and better points."""

    objective: float
    seconds: float
    incumbents: list[tuple[float, float]]


def run_both(program: dcembed.Program, embedding: dcembed.Embedding, time_limit: float) -> dict[str, Run]:
    """The problem as units and as rows."""
    lift = lift_ensembles(unlifted(program, [embedding]))
    problems = {"units": (program, [as_units(embedding)]), "rows": (lift.program, list(lift.embeddings))}
    runs = {}
    for name, (host, embeddings) in problems.items():
        begin = time.process_time()
        result = dcembed.solve(host, embeddings, options={"verbose": False, "time_limit": time_limit})
        seconds = time.process_time() - begin
        objective = np.nan
        if result.x is not None:
            point = lift.cut(lift.complete(lift.cut(result.x)))
            checked = dcembed.verify(program, [embedding], point)
            objective = checked.objective if checked.violation < 1e-5 else np.nan
        runs[name] = Run(objective, seconds, result.incumbents)
    return runs


def seconds_to(run: Run, target: float, sense: float) -> float:
    """When a run has come to a target, up to 1e-4 of it; inf where it has not."""
    slack = 1e-4 * (1.0 + abs(target))
    return next((seconds for seconds, objective in run.incumbents if sense * (objective - target) <= slack), np.inf)


def measure_solves(time_limit: float, seeds: Sequence[int]) -> list[list[str]]:
    """Ends of both forms and times to the better end of the two, over sizes and seeds."""
    table = []
    for num_members, num_inputs, widths in ((5, 2, (10,)), (10, 3, (12,)), (20, 4, (10, 10))):
        for kind in kinds(num_members):
            ends, times, totals = [], [], []
            for seed in seeds:
                program, embedding = build_problem(kind, trained_members(num_members, num_inputs, widths, seed), seed)
                runs = run_both(program, embedding, time_limit)
                sense = program.sense
                best = sense * np.nanmin([sense * run.objective for run in runs.values()])
                ends.append([sense * (runs[name].objective - best) / (1.0 + abs(best)) for name in ("units", "rows")])
                times.append([seconds_to(runs[name], best, sense) for name in ("units", "rows")])
                totals.append([runs[name].seconds for name in ("units", "rows")])
            middle, total = np.median(times, axis=0), np.mean(totals, axis=0)
            worst = [np.max(column) if np.isfinite(column).all() else np.inf for column in np.array(ends).T]
            size = f"{num_members} of {num_inputs} - {' - '.join(map(str, widths))} - 1"
            table.append([size, kind.name, *map(_show, worst), *(f"{value:.2f}" for value in (*middle, *total))])
            print(" | ".join(table[-1]), flush=True)
    return table


def _show(behind: float) -> str:
    return "0" if behind < 1e-6 else f"{behind:.0e}"


def write(evaluations: list[list[str]], solves: list[list[str]], time_limit: float, num_seeds: int, path: Path) -> None:
    """Both tables as markdown."""
    largest = max((float(cell) for row in evaluations for cell in row[4:]), default=np.nan)
    text = [
        "# Ensembles",
        "",
        f"Made by `python -m benchmarks.studies.ensembles`, which explains what is measured; dcembed {dcembed.__version__}, one thread.",
        "",
        f"## {NUM_MEMBERS} networks as one",
        "",
        f"Processor milliseconds of {NUM_MEMBERS} evaluations one by one, and the ratio of the ensemble to them, measured in turns. The largest ratio is",
        f"{largest:.2f}; at most {MOST} is promised. Where freed memory is given back, low ratios at 10,000 points are no merit of ensembles: networks one by",
        "one ask for their memory again and again there. Where it is kept, arithmetic is compared with arithmetic.",
        "",
        *_table(["freed memory", "network", "points", "ms one by one", *OUTPUTS], evaluations),
        "",
        "## As units and as rows",
        "",
        f"Each problem over {num_seeds} seeds, at most {time_limit:g} s a run: how far the worst end is behind the better of the two (relative), the median of the",
        "seconds to the better end, and the mean of the processor seconds until the run was over. Why other combinations stay units",
        "is said in `dcembed/ensembles/rows.py`.",
        "",
        *_table(
            [
                "members",
                "use",
                "units behind",
                "rows behind",
                "units, s to the end",
                "rows, s to the end",
                "units, s in all",
                "rows, s in all",
            ],
            solves,
        ),
    ]
    path.write_text("\n".join(text) + "\n", encoding="utf-8")


def _table(titles: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in [titles, ["---"] * len(titles), *rows]]


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--budget", type=float, default=3.0, help="processor seconds for each row of evaluations (default %(default)s)")
    parser.add_argument("--time-limit", type=float, default=5.0, help="seconds of a solve (default %(default)s)")
    parser.add_argument("--seeds", type=int, default=3, help="problems of each kind; 0 for evaluations alone (default %(default)s)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the tables go")
    asked = parser.parse_args(arguments)
    evaluations = measure_in_processes(asked.budget)
    solves = measure_solves(asked.time_limit, range(asked.seeds)) if asked.seeds else []
    write(evaluations, solves, asked.time_limit, asked.seeds, asked.out)


if __name__ == "__main__":
    main()
