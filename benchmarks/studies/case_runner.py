"""Solve a case that lies in files, with whatever dcembed is on the path: `python case_runner.py FOLDER ANSWER`.

It runs in processes of other states of the repository, so it knows the public names of dcembed, and of the benchmarks nothing but
methods that only they have. The answer is ANSWER.json with what was measured, ANSWER.npz with the improving points and when they came, by the clock and by the
processor, and, if there is a point, ANSWER.npy with all its columns.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import dcembed
from dcembed import AffineInputs, ConeConstraint, Embedding, Indicator, Options, Program, QuadraticConstraint, load_network


def read_matrix(arrays: dict[str, np.ndarray], name: str) -> sp.csr_array:
    data, indices, indptr, shape = (arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr", "shape"))
    return sp.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))


def read_program(arrays: dict[str, np.ndarray]) -> Program:
    indicators = []
    if "indicator_column" in arrays:
        rows = read_matrix(arrays, "indicator_rows")
        sides = zip(*(arrays[f"indicator_{name}"].tolist() for name in ("column", "value", "lb", "ub")), strict=True)
        indicators = [Indicator(column, value, rows[[i]], lb=lb, ub=ub) for i, (column, value, lb, ub) in enumerate(sides)]
    return Program(
        cost=arrays["cost"],
        offset=float(arrays["offset"]),
        rows=read_matrix(arrays, "rows"),
        indicators=indicators,
        maximize=bool(arrays["maximize"]),
        # Another state of dcembed may not know a part that is not there.
        **{name: read_matrix(arrays, name) for name in ("quadratic", "concave") if f"{name}_data" in arrays},
        **read_curved(arrays),
        **{name: arrays[name] for name in ("row_lb", "row_ub", "lb", "ub", "integer")},
    )


def read_embedding(folder: Path, number: int) -> Embedding:
    arrays = dict(np.load(folder / f"embedding_{number}.npz"))
    inputs = arrays["inputs"] if "inputs" in arrays else AffineInputs(read_matrix(arrays, "matrix"), arrays["offset"])
    return Embedding(load_network(folder / f"network_{number}.npz"), inputs, arrays["outputs"])


def read_curved(arrays: dict[str, np.ndarray]) -> dict[str, list]:
    curved: dict[str, list] = {"quadratic_constraints": [], "cones": []}
    if "constraint_ub" in arrays:
        stacked, rows, ub = read_matrix(arrays, "constraint_quadratic"), read_matrix(arrays, "constraint_rows"), arrays["constraint_ub"]
        n = rows.shape[1]
        curved["quadratic_constraints"] = [
            QuadraticConstraint(stacked[i * n : (i + 1) * n], rows[[i]], float(limit)) for i, limit in enumerate(ub)
        ]
    if "cone_offset" in arrays:
        curved["cones"] = [ConeConstraint(read_matrix(arrays, "cone_rows"), arrays["cone_offset"], arrays["cone_sizes"])]
    return curved


def find_method(name: str) -> Callable[..., dcembed.Result]:
    """`dcembed.solve` under the name "dcembed", a baseline, or else a method of the benchmarks beside it."""
    if name == "dcembed":
        return dcembed.solve
    from dcembed.baselines import BASELINES

    if name in BASELINES:
        return BASELINES[name]
    from benchmarks.studies.own_methods import OWN_METHODS

    return OWN_METHODS[name]


def processor_seconds() -> float:
    """Of this process and of those it started: what has ended, and what still runs where the system says it."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime + running_seconds("self")


def running_seconds(parent: str) -> float:
    """Processor seconds of the running children of a process and of all that they started."""
    seconds = 0.0
    for task in Path("/proc", parent, "task").glob("*/children"):
        try:
            numbers = task.read_text().split()
        except OSError:
            # The thread or the process has just ended.
            continue
        seconds += sum(_own_seconds(number) + running_seconds(number) for number in numbers)
    return seconds


def _own_seconds(number: str) -> float:
    """Of one process, with those of its children that have ended; zero if it has ended itself."""
    try:
        fields = Path("/proc", number, "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    # After the name in brackets: the 14th to 17th field of all are user and system time of the process and of its ended children.
    return sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def peak_memory() -> float | None:
    """Peak resident memory in MiB, where the system says it."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.is_file() else []
    return next((int(line.split()[1]) / 2**10 for line in lines if line.startswith("VmHWM:")), None)


def main(folder: Path, answer: Path) -> None:
    settings = json.loads((folder / "options.json").read_text())
    program = read_program(dict(np.load(folder / "program.npz")))
    embeddings = [read_embedding(folder, number) for number in range(len(list(folder.glob("embedding_*.npz"))))]
    starts = list(np.load(folder / "starts.npz")["starts"])
    solve = find_method(settings["method"])
    ticks = [(0.0, 0.0)]
    began, work = time.perf_counter(), processor_seconds()

    def tick(record: dcembed.Iteration) -> None:
        ticks.append((record.seconds, processor_seconds() - work))

    result = solve(program, embeddings, start=starts or None, options=Options(**settings["options"], callback=tick))
    measured = {"wall_seconds": time.perf_counter() - began, "processor_seconds": processor_seconds() - work}
    ticks.append((measured["wall_seconds"], measured["processor_seconds"]))
    measured |= {"status": result.status.name, "num_subproblems": len(result.history), "package": dcembed.__file__}
    measured |= {
        "num_first": sum(record.start == 0 for record in result.history),
        "memory": peak_memory(),
        "bound": getattr(result, "bound", -np.inf),
    }
    # Of very large problems not all points are kept.
    kept = [(seconds, x) for (seconds, _), x in zip(result.incumbents, result.incumbent_points, strict=True) if x is not None]
    times = np.array([seconds for seconds, _ in kept])
    points = np.array([x for _, x in kept]).reshape(times.size, program.num_columns)
    np.savez(answer.with_suffix(".npz"), wall=times, processor=np.interp(times, *np.array(ticks).T), points=points)
    if result.x is not None:
        np.save(answer.with_suffix(".npy"), result.x)
    answer.with_suffix(".json").write_text(json.dumps(measured))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
