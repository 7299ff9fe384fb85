"""A run of dcembed on a dense problem, for others to interrupt: `python victim.py FAMILY SIZE BACKEND SEED TIME_LIMIT`.

It says `ready` right before the solve. What it prints after it is one line of JSON; times are of the clock that all processes share.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

import dcembed

# Columns of the host that the network sees.
NUM_INPUTS = 5
# Coefficients of the quadratic constraints, where there are any; at least one constraint is there.
CURVE_ENTRIES = 5_000_000


def build(family: str, size: int, seed: int) -> tuple[dcembed.Program, dcembed.Embedding]:
    """A feasible problem with `size` columns besides the prediction: dense rows, a dense Q (QP), binaries (MI), a dense cone (SOCP), dense
    quadratic constraints (QCP)."""
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=(12, NUM_INPUTS)), rng.normal(size=(12, 12)) / 3.5, rng.normal(size=(1, 12))]
    network = dcembed.build_mlp(weights, [rng.normal(size=12), rng.normal(size=12), None])
    n, num_rows = size + 1, max(size // 10, 5)
    rows = np.hstack([rng.normal(size=(num_rows, size)), np.zeros((num_rows, 1))])
    lb, ub = np.append(np.full(size, -1.0), -np.inf), np.append(np.full(size, 1.0), np.inf)
    integer = np.zeros(n, dtype=bool)
    if family.startswith("MI"):
        integer[NUM_INPUTS:size:2] = True
        lb[integer] = 0.0
    inside = np.where(integer, 0.5, 0.0)
    middle = rows @ inside
    program = dcembed.Program(
        cost=np.append(rng.normal(size=size), 1.0),
        quadratic=_dense(rng, n) if family.endswith("QP") else None,
        rows=rows,
        row_ub=middle + 0.1 * np.sqrt(size),
        lb=lb,
        ub=ub,
        integer=integer,
        cones=[_cone(rng, middle.size, inside)] if family.endswith("SOCP") else [],
        quadratic_constraints=[_curve(rng, inside) for _ in range(max(1, min(10, CURVE_ENTRIES // n**2)))]
        if family.endswith("QCP")
        else [],
    )
    return program, dcembed.Embedding(network, np.arange(NUM_INPUTS), [size])


def _dense(rng: np.random.Generator, n: int) -> np.ndarray:
    """Positive definite, without a zero in it but for the prediction."""
    factor = rng.normal(size=(n, 10))
    factor[-1] = 0.0
    quadratic = factor @ factor.T / n
    quadratic[np.arange(n - 1), np.arange(n - 1)] += 1.0
    return quadratic


def _cone(rng: np.random.Generator, num_entries: int, middle: np.ndarray) -> dcembed.ConeConstraint:
    """||F (w - middle)|| <= a radius that cuts off the corners of the box; the prediction is not in it."""
    factor = rng.normal(size=(num_entries, middle.size)) / np.sqrt(middle.size)
    factor[:, -1] = 0.0
    matrix = np.vstack([np.zeros(middle.size), factor])
    return dcembed.ConeConstraint(matrix, np.append(0.3 * np.sqrt(num_entries), -factor @ middle))


def _curve(rng: np.random.Generator, middle: np.ndarray) -> dcembed.QuadraticConstraint:
    """1/2 (w - middle)' Q (w - middle) <= a level that cuts off the corners of the box."""
    quadratic = _dense(rng, middle.size)
    return dcembed.QuadraticConstraint(quadratic, -quadratic @ middle, 0.1 * middle.size - 0.5 * middle @ quadratic @ middle)


def main(family: str, size: str, backend: str, seed: str, time_limit: str) -> None:
    program, embedding = build(family, int(size), int(seed))
    # It goes on until it is stopped.
    options = {"verbose": False, "solver": backend, "time_limit": float(time_limit), "search": "until-limit"}
    print("ready", flush=True)
    began = time.monotonic()
    result = dcembed.solve(program, embedding, options=options)
    ended = time.monotonic()
    told = {"status": result.status.name, "is_feasible": bool(result.is_feasible), "has_point": result.x is not None}
    told |= {"num_incumbents": len(result.incumbents), "solver": result.solver, "reason": result.reason}
    print(json.dumps(told | {"began": began, "ended": ended}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
