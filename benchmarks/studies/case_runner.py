"""Solve a case that lies in files, with whatever dcembed is on the path: `python case_runner.py FOLDER ANSWER`.

It runs in processes of other states of the repository, so it knows the public names of dcembed and nothing of the benchmarks. The
answer is ANSWER.json with what was measured and, if there is a point, ANSWER.npy with all columns.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import dcembed
from dcembed import AffineInputs, Embedding, Indicator, Options, Program, load_network


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
        quadratic=read_matrix(arrays, "quadratic") if "quadratic_data" in arrays else None,
        offset=float(arrays["offset"]),
        rows=read_matrix(arrays, "rows"),
        indicators=indicators,
        **{name: arrays[name] for name in ("row_lb", "row_ub", "lb", "ub", "integer")},
    )


def read_embedding(folder: Path, number: int) -> Embedding:
    arrays = dict(np.load(folder / f"embedding_{number}.npz"))
    inputs = arrays["inputs"] if "inputs" in arrays else AffineInputs(read_matrix(arrays, "matrix"), arrays["offset"])
    return Embedding(load_network(folder / f"network_{number}.npz"), inputs, arrays["outputs"])


def main(folder: Path, answer: Path) -> None:
    settings = json.loads((folder / "options.json").read_text())
    program = read_program(dict(np.load(folder / "program.npz")))
    embeddings = [read_embedding(folder, number) for number in range(settings["num_embeddings"])]
    starts = list(np.load(folder / "starts.npz")["starts"])
    options = Options(**settings["options"])
    began, work = time.perf_counter(), sum(os.times()[:4])
    result = dcembed.solve(program, embeddings, start=starts, options=options)
    measured = {"wall_seconds": time.perf_counter() - began, "processor_seconds": sum(os.times()[:4]) - work}
    measured |= {"status": result.status.name, "num_subproblems": len(result.history), "package": dcembed.__file__}
    if result.x is not None:
        np.save(answer.with_suffix(".npy"), result.x)
    answer.with_suffix(".json").write_text(json.dumps(measured))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
