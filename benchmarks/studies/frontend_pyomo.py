"""What reading a Pyomo model costs, against Pyomo writing it to a file: `python -m benchmarks.studies.frontend_pyomo [ROWS]`.

Both are measured in one run on one model, alternating, the best of five. The target is at most twice the time of the writer.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyomo.environ as pyo

import dcembed
import dcembed.pyomo

REPEATS = 5
TARGET = 2.0


def build_model(num_rows: int, quadratic: bool) -> pyo.ConcreteModel:
    """Rows of six terms over as many columns, some of them integer, and a network on 100 pairs of columns."""
    rng = np.random.default_rng(0)
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(num_rows), bounds=(0, 1))
    m.z = pyo.Var(range(num_rows // 10), domain=pyo.Binary)
    picks = rng.integers(num_rows, size=(num_rows, 5))
    values = rng.normal(size=(num_rows, 5)).tolist()
    m.rows = pyo.Constraint(
        range(num_rows),
        rule=lambda m, i: (
            -10 if i % 3 == 0 else None,
            sum(values[i][j] * m.x[int(picks[i, j])] for j in range(5)) + m.z[i % len(m.z)],
            10,
        ),
    )
    linear = sum(m.x[i] for i in range(num_rows))
    m.cost = pyo.Objective(expr=linear + sum(m.x[i] ** 2 for i in range(num_rows)) if quadratic else linear)
    m.nn = pyo.Block()
    network = dcembed.build_mlp([rng.normal(size=(8, 2)), rng.normal(size=(1, 8))], [None, None])
    dcembed.pyomo.embed(m.nn, network, inputs=[[m.x[2 * i], m.x[2 * i + 1]] for i in range(100)])
    return m


def measure(model: pyo.ConcreteModel, repeats: int = REPEATS) -> tuple[float, float]:
    """Seconds of writing the model and of reading it, each the best of some."""
    writing, reading = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repeats):
            with dcembed.pyomo.without_networks(model):
                writing.append(_seconds(lambda: model.write(str(Path(folder) / "model.lp"))))
            reading.append(_seconds(lambda: dcembed.pyomo.extract(model)))
    return min(writing), min(reading)


def _seconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def main() -> int:
    num_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    worst = 0.0
    for quadratic in (False, True):
        writing, reading = measure(build_model(num_rows, quadratic))
        worst = max(worst, reading / writing)
        kind = "quadratic" if quadratic else "linear"
        print(f"{num_rows:,} rows, {kind} objective: written in {writing:.3f} s, read in {reading:.3f} s, ratio {reading / writing:.2f}")
    print(f"target: at most {TARGET:g}; worst here {worst:.2f}")
    return 0 if worst <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
