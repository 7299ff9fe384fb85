"""Random small problems of every host class whose optimum is known: with the units and integers of a region held, a problem is convex.

Regions are found by sampling, so the best point over them is a true point, and no worse than the optimum wherever the optimum's region was met.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

import dcembed
from dcembed import Embedding, Indicator, Program, build_mlp
from dcembed.embedded.verify import predict
from dcembed.network.network import preactivations
from dcembed.program.derive import add_rows, derive, minimized
from dcembed.solvers import choose_backend
from dcembed.solvers.base import Limits, SessionOptions

KINDS = ("LP", "QP", "MILP", "MIQP")
NUM_SAMPLES, MAX_REGIONS = 3000, 400
STRICT = {"highs": {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}}


@dataclass(frozen=True, eq=False)
class Small:
    """A problem, the weights and biases of its networks, and a feasible point."""

    program: Program
    embeddings: list[Embedding]
    layers: list[tuple[list[np.ndarray], list[np.ndarray]]]
    witness: np.ndarray


def draw(kind: str, seed: int) -> Small:
    """One to three inputs, a few other columns, one or two evaluations of 2 to 12 units, rows and indicators around a point."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    num_inputs, num_others = int(rng.integers(1, 4)), int(rng.integers(2, 4))
    first = num_inputs + num_others
    networks, layers, inputs, outputs = [], [], [], []
    n = first
    for number in range(int(rng.integers(1, 3))):
        is_chained = number > 0 and rng.random() < 0.3
        places = outputs[-1] if is_chained else rng.choice(num_inputs, int(rng.integers(1, num_inputs + 1)), replace=False)
        weights, biases = _layers(rng, places.size)
        layers.append((weights, biases))
        networks.append(build_mlp(weights, biases))
        inputs.append(places)
        outputs.append(n + np.arange(weights[-1].shape[0]))
        n += weights[-1].shape[0]
    size = rng.choice([0.5, 1.0, 3.0])
    lb, ub = np.full(n, -size), np.full(n, size)
    lb[first:], ub[first:] = -np.inf, np.inf
    integer = np.zeros(n, dtype=bool)
    if kind.startswith("MI"):
        integer[num_inputs], lb[num_inputs], ub[num_inputs] = True, 0.0, 1.0
        held = np.flatnonzero(rng.random(num_inputs) < 0.4)
        integer[held], lb[held], ub[held] = True, -2.0, 2.0
    embeddings = [Embedding(*parts) for parts in zip(networks, inputs, outputs, strict=True)]
    witness = _drawn(rng, lb, ub, integer, embeddings, 1)[0]
    rows, row_lb, row_ub = _rows(rng, witness, first)
    # An upper bound of a prediction is a row as well.
    limited = np.flatnonzero((np.arange(n) >= first) & (rng.random(n) < 0.2))
    ub[limited] = witness[limited] + rng.uniform(0, 0.5, limited.size)
    quadratic = _quadratic(rng, n) if "Q" in kind else None
    indicators = _indicators(rng, witness, num_inputs, first) if kind.startswith("MI") else ()
    sense = 1.0 if rng.random() < 0.5 else -1.0
    program = Program(
        sense * rng.normal(size=n) * (rng.random(n) < 0.8),
        None if quadratic is None else sense * quadratic,
        rows=rows,
        row_lb=row_lb,
        row_ub=row_ub,
        lb=lb,
        ub=ub,
        integer=np.flatnonzero(integer),
        indicators=indicators,
        offset=float(rng.normal()),
        maximize=sense < 0,
    )
    return Small(program, embeddings, layers, witness)


def _layers(rng: np.random.Generator, num_inputs: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    widths = [int(rng.integers(2, 7)) for _ in range(int(rng.integers(1, 3)))]
    sizes = [num_inputs, *widths, int(rng.integers(1, 3))]
    # Small and large weights: what a binary leaks depends on the ranges of the units.
    scale = 10.0 ** rng.uniform(-0.5, 1.0)
    weights = [rng.normal(size=(b, a)) * scale / np.sqrt(a) for a, b in pairwise(sizes)]
    return weights, [rng.normal(size=b) * 0.5 * scale for b in sizes[1:]]


def _drawn(rng, lb, ub, integer, embeddings, number: int) -> np.ndarray:
    """Points inside the bounds with their predictions."""
    low, high = np.where(np.isfinite(lb), lb, 0.0), np.where(np.isfinite(ub), ub, 0.0)
    points = rng.uniform(np.minimum(low, high), high, (number, lb.size))
    points[:, integer] = np.round(points[:, integer])
    for embedding in embeddings:
        points[:, embedding.outputs[0]] = embedding.network(points[:, embedding.inputs[0]])
    return points


def _rows(rng, witness, first):
    """Inequalities with predictions in them, and now and then an equality that ties one to a column of the host."""
    n, rows, row_lb, row_ub = witness.size, [], [], []
    for _ in range(int(rng.integers(1, 4))):
        row = rng.normal(size=n) * (rng.random(n) < 0.6)
        value = row @ witness
        rows.append(row)
        row_lb.append(-np.inf if rng.random() < 0.6 else value - rng.uniform(0, 2))
        row_ub.append(value + rng.uniform(0, 1))
    if rng.random() < 0.4:
        row = np.zeros(n)
        row[rng.integers(first, n)], row[first - 1] = 1.0, rng.normal() + 2.0
        rows.append(row)
        row_lb.append(row @ witness)
        row_ub.append(row @ witness)
    return np.array(rows), np.array(row_lb), np.array(row_ub)


def _quadratic(rng: np.random.Generator, n: int) -> np.ndarray:
    factor = rng.normal(size=(int(rng.integers(1, n + 1)), n)) * (rng.random(n) < 0.7)
    return factor.T @ factor * 0.3


def _indicators(rng, witness, binary: int, first: int) -> tuple[Indicator, ...]:
    if rng.random() < 0.3:
        return ()
    row = np.zeros(witness.size)
    row[rng.integers(first, witness.size)] = 1.0
    return (Indicator(binary, int(rng.integers(0, 2)), row, ub=float(row @ witness + rng.uniform(0, 0.3))),)


def best_point(small: Small, seed: int = 0) -> tuple[float, np.ndarray]:
    """The best objective (minimized) over the regions that samples fall into, and the point, measured by the problem alone."""
    rng = np.random.default_rng(seed)
    program = minimized(small.program)
    best, found = program.objective(small.witness), small.witness
    for signs, held in _regions(rng, small):
        x = _solve_region(program, small, signs, held)
        if x is None:
            continue
        measured = dcembed.verify(program, small.embeddings, predict(small.embeddings, x))
        if measured.violation <= 1e-8 and measured.objective < best:
            best, found = measured.objective, predict(small.embeddings, x)
    return float(best), found


def _regions(rng, small: Small):
    """Signs of all units and values of all integers, the most frequent first."""
    program = small.program
    points = np.vstack([small.witness, _drawn(rng, program.lb, program.ub, program.integer, small.embeddings, NUM_SAMPLES)])
    signs = np.hstack([np.hstack(preactivations(e.network, points[:, e.inputs[0]])) > 0 for e in small.embeddings])
    keys = np.hstack([signs, points[:, program.integer]])
    distinct, counts = np.unique(keys, axis=0, return_counts=True)
    for key in distinct[np.argsort(-counts, kind="stable")][:MAX_REGIONS]:
        yield key[: signs.shape[1]] > 0, key[signs.shape[1] :]


def _solve_region(program: Program, small: Small, signs: np.ndarray, held: np.ndarray) -> np.ndarray | None:
    """The best point with these signs and integers."""
    lb, ub = program.lb.copy(), program.ub.copy()
    lb[program.integer] = ub[program.integer] = held
    matrix, low, high = _affine_rows(small, signs)
    active = [i for i in program.indicators if lb[i.column] == i.value]
    matrix = np.vstack([matrix, *(i.coefficients.toarray() for i in active)])
    low, high = np.concatenate([low, [i.lb for i in active]]), np.concatenate([high, [i.ub for i in active]])
    free = derive(program, lb=lb, ub=ub, integer=np.zeros(lb.size, dtype=bool), indicators=())
    region = add_rows(free, sp.csr_array(matrix), low, high)
    backend = choose_backend(region.problem_class)
    with closing(backend.open(region, SessionOptions(solver_options=STRICT.get(backend.name, {}), accuracy=1e-10))) as session:
        return session.solve(Limits(10.0)).x


def _affine_rows(small: Small, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows low <= matrix @ w <= high that say that the units have these signs, and what the predictions are then."""
    n, first, parts = small.program.num_columns, 0, []
    for embedding, (weights, biases) in zip(small.embeddings, small.layers, strict=True):
        slope, constant = np.eye(n)[embedding.inputs[0]], np.zeros(embedding.inputs.shape[1])
        for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
            slope, constant = weight @ slope, weight @ constant + bias
            on = signs[first : first + bias.size]
            first += bias.size
            parts.append((slope, np.where(on, -constant, -np.inf), np.where(on, np.inf, -constant)))
            slope, constant = on[:, None] * slope, on * constant
        slope, constant = weights[-1] @ slope, weights[-1] @ constant + biases[-1]
        parts.append((np.eye(n)[embedding.outputs[0]] - slope, constant, constant))
    return tuple(np.concatenate(some) for some in zip(*parts, strict=True))
