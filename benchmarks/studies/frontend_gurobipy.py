"""What reading a gurobipy model costs beside writing it to a file, in one run.

    python -m benchmarks.studies.frontend_gurobipy

A transport-like model of 20,000 rows and an embedded network is written by Gurobi to MPS and LP files and extracted by dcembed, in turn,
five times each; the fastest of each counts. No licence is needed: nothing is solved.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import gurobipy as gp
import numpy as np
import scipy.sparse as sp

import dcembed
from dcembed.frontends.gurobipy_ import extract
from dcembed.gurobipy import add_predictor_constr

NUM_ROWS, NUM_COLUMNS, PER_ROW, REPEATS = 20_000, 10_000, 5, 5


def build_model(env: gp.Env) -> gp.Model:
    """Rows of five entries, a tenth of the variables integer, a quadratic objective and a network on 50 evaluations of 4 inputs."""
    rng = np.random.default_rng(0)
    model = gp.Model(env=env)
    kinds = np.where(np.arange(NUM_COLUMNS) % 10 == 0, gp.GRB.INTEGER, gp.GRB.CONTINUOUS)
    x = model.addMVar(NUM_COLUMNS, lb=-1.0, ub=1.0, vtype=kinds, name="x")
    columns = rng.integers(0, NUM_COLUMNS, (NUM_ROWS, PER_ROW))
    place = np.repeat(np.arange(NUM_ROWS), PER_ROW), columns.reshape(-1)
    model.addConstr(sp.csr_array((rng.normal(size=NUM_ROWS * PER_ROW), place), shape=(NUM_ROWS, NUM_COLUMNS)) @ x <= 1.0, name="row")
    weights = [rng.normal(size=(16, 4)), rng.normal(size=(1, 16))]
    predictor = add_predictor_constr(model, dcembed.build_mlp(weights, [np.zeros(16), np.zeros(1)]), x[:200].reshape(50, 4))
    model.setObjective(x @ x + predictor.output.sum())
    model.update()
    return model


def measure(model: gp.Model) -> dict[str, float]:
    """Fastest seconds of each way."""
    with tempfile.TemporaryDirectory() as folder:
        ways = {
            "extract": lambda: extract(model),
            "write mps": lambda: model.write(str(Path(folder) / "model.mps")),
            "write lp": lambda: model.write(str(Path(folder) / "model.lp")),
        }
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(REPEATS):
            for name, run in ways.items():
                began = time.perf_counter()
                run()
                seconds[name].append(time.perf_counter() - began)
    return {name: min(values) for name, values in seconds.items()}


def main() -> dict[str, float]:
    with gp.Env(params={"OutputFlag": 0}) as env, build_model(env) as model:
        seconds = measure(model)
    print(f"{NUM_ROWS:,} rows, {NUM_COLUMNS:,} variables")
    for name, value in seconds.items():
        print(f"  {name:10} {value:.4f} s   extraction takes {seconds['extract'] / value:.2f} times that")
    return seconds


if __name__ == "__main__":
    main()
