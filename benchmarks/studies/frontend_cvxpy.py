"""What it costs to take a CVXPY problem apart, beside what CVXPY itself needs for its matrices.

python -m benchmarks.studies.frontend_cvxpy [number of rows]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

import dcembed
import dcembed.cvxpy

NUM_COLUMNS, NUM_EVALUATIONS = 2000, 500


def make_problem(num_rows: int = 20_000, with_network: bool = True, seed: int = 0) -> cp.Problem:
    """A sparse linear host with `num_rows` rows and a network on pairs of its columns; without it, plain variables in its place."""
    rng = np.random.default_rng(seed)
    x = cp.Variable(NUM_COLUMNS)
    matrix = sp.random_array((num_rows, NUM_COLUMNS), density=5 / NUM_COLUMNS, rng=rng, format="csr")
    pairs = cp.reshape(x[: 2 * NUM_EVALUATIONS], (NUM_EVALUATIONS, 2), order="C")
    network = dcembed.build_mlp([rng.normal(size=(8, 2)), rng.normal(size=(1, 8))], [np.zeros(8), np.zeros(1)])
    f = dcembed.cvxpy.embed(network, pairs) if with_network else cp.Variable((NUM_EVALUATIONS, 1))
    return cp.Problem(
        cp.Minimize(cp.sum(f) + rng.normal(size=NUM_COLUMNS) @ x), [matrix @ x <= rng.uniform(1, 2, num_rows), cp.abs(x) <= 1]
    )


def seconds(work: Callable[[cp.Problem], object], problem: cp.Problem) -> float:
    """Time of one call."""
    began = time.perf_counter()
    work(problem)
    return time.perf_counter() - began


def measure(num_rows: int = 20_000) -> tuple[float, float]:
    """Seconds of CVXPY for the plain host, and of dcembed for the host with its network; the better of three."""
    # A problem remembers its canonical form, so each call gets a new one.
    own = min(seconds(lambda problem: problem.get_problem_data(cp.SCIPY), make_problem(num_rows, False)) for _ in range(3))
    ours = min(seconds(dcembed.cvxpy.extract, make_problem(num_rows)) for _ in range(3))
    return own, ours


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    own, ours = measure(size)
    print(f"{size:,} rows: CVXPY's own matrices {own:.3f} s, dcembed {ours:.3f} s, ratio {ours / own:.2f}")
