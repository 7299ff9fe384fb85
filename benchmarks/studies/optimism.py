"""What surrogates promise and what is true: `python -m benchmarks.studies.optimism`.

An optimizer goes where a network is most optimistic. Here the truth is known: networks are trained on noisy data, their optimum is found as it is, within
regions of the data and with ensembles, and every answer is worth what the true formula says. Rows are added to benchmarks/results/optimism.csv, where
what is there is not run again; the table in benchmarks/results/optimism.md and the picture docs/optimism.png are written from them.

    python -m benchmarks.studies.optimism --repetitions 3   # a quick look
    python -m benchmarks.studies.optimism --report          # table and picture from the rows that are there
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.studies.optimism_devices import DEVICES, LONGER, Answer, Device, answer
from benchmarks.studies.optimism_networks import Trained, train
from benchmarks.studies.optimism_problems import PROBLEMS, Data, Problem, draw
from benchmarks.studies.optimism_report import write_report
from benchmarks.studies.optimism_rows import Row, append_row, read_rows

ROOT = Path(__file__).resolve().parent.parent.parent
ROWS = ROOT / "benchmarks" / "results" / "optimism.csv"
TABLE = ROOT / "benchmarks" / "results" / "optimism.md"
PICTURE = ROOT / "docs" / "optimism.png"
NUM_REPETITIONS = 50
# The number of points at which all devices are run, and the others.
POINTS, OTHERS = 600, (200, 2000)


@dataclass(frozen=True)
class Case:
    """A problem, how many points, the devices that are compared there, and the most repetitions that are made."""

    problem: str
    points: int
    devices: tuple[str, ...]
    most: int = NUM_REPETITIONS


# Clusters are for data that have some; they and longer searches take so long that fewer repetitions have to do.
CLUSTERS, NUM_FEW = ("clusters",), 20
KNOWN = DEVICES | {device.name: device for device in LONGER.values()}
ALL, MAIN = tuple(name for name in DEVICES if name not in CLUSTERS), tuple(device.name for device in DEVICES.values() if device.is_main)
CASES = (
    *(Case(name, POINTS, ALL) for name in ("yield", "reactor")),
    Case("designed", POINTS, MAIN),
    *(Case(name, points, MAIN) for points in OTHERS for name in ("yield", "reactor")),
    *(Case(name, POINTS, tuple(device.name for device in LONGER.values()), NUM_FEW) for name in ("yield", "reactor")),
    Case("reactor", POINTS, CLUSTERS, NUM_FEW),
)


def run(case: Case, repetition: int, done: Iterable[tuple]) -> Iterator[Row]:
    """The rows of one repetition that are not there yet; networks are trained again for them, to the same weights."""
    wanted = [name for name in case.devices if (case.problem, case.points, repetition, name) not in done]
    if not wanted:
        return
    problem = PROBLEMS[case.problem]
    data = draw(problem, case.points, repetition)
    trained = train(problem, data, repetition)
    for name in wanted:
        yield measure(problem, data, trained, KNOWN[name], repetition)


def measure(problem: Problem, data: Data, trained: Trained, device: Device, repetition: int) -> Row:
    """What a device answers, and what that is worth."""
    found = answer(problem, data, trained, device)
    is_good = problem.is_allowed(data.x) & (problem.violation(data.truth) == 0.0)
    best = np.where(is_good, problem.objective(data.x, data.truth), -np.inf).max()
    about = problem.name, len(data.x), repetition, device.name
    return Row(*about, **_worth(problem, found), best_data=float(best), fit=float(trained.fit.min()))


def _worth(problem: Problem, found: Answer | None) -> dict:
    if found is None:
        return {"status": "none", **dict.fromkeys(("predicted", "true", "violation", "outside_hull", "near", "seconds"), np.nan)}
    x, y = found.x[None], found.y[None]
    truth = problem.truth(x)
    return {
        "status": found.status,
        "predicted": float(problem.objective(x, y)[0]),
        "true": float(problem.objective(x, truth)[0]),
        "violation": float(problem.violation(truth)[0]),
        "outside_hull": found.outside_hull,
        "near": found.near,
        "seconds": found.seconds,
    }


def run_all(cases: Iterable[Case], num_repetitions: int, path: Path) -> None:
    """All rows that are not there yet, with a line for each as it comes."""
    done = {row.key for row in read_rows(path)}
    for case in cases:
        for repetition in range(min(num_repetitions, case.most)):
            for row in run(case, repetition, done):
                append_row(path, row)
                about = f"{row.problem}, {row.points:,} points, repetition {repetition}, {row.device}"
                print(f"{about:60} predicted {row.predicted:8.3f}  true {row.true:8.3f}  {row.seconds:6.2f} s", flush=True)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=NUM_REPETITIONS, help="of each problem and number of points (50)")
    parser.add_argument("--report", action="store_true", help="write table and picture from the rows that are there, and run nothing")
    parser.add_argument("--rows", type=Path, default=ROWS)
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--picture", type=Path, default=PICTURE)
    chosen = parser.parse_args(arguments)
    if not chosen.report:
        run_all(CASES, chosen.repetitions, chosen.rows)
    write_report(read_rows(chosen.rows), chosen.table, chosen.picture)


if __name__ == "__main__":
    main()
