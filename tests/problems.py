"""Small embedded problems whose true optimum is known by enumeration."""

from __future__ import annotations

import itertools
from importlib.util import find_spec

import numpy as np
import pytest

from dcembed import Embedding, Indicator, Network, Options, Program, build_mlp
from dcembed.baselines import BASELINES

# One start: what a test looks at is the path from it. The time only bounds what hangs, on a slow machine too.
QUIET = {"verbose": False, "time_limit": 240.0, "max_starts": 1}
FORMULATIONS = ("shared", "two-path", "lazy")
# Packages of baselines that are not installed everywhere.
_NEEDED = {"ipopt": "ipyopt", "ipopt-lbfgs": "ipyopt", "attack": "torch"}
EVERY_BASELINE = pytest.mark.parametrize(
    "method",
    [
        pytest.param(name, marks=pytest.mark.skipif(find_spec(_NEEDED.get(name, "numpy")) is None, reason="its package is not installed"))
        for name in BASELINES
    ],
)


def quiet(**changes) -> Options:
    return Options(**{**QUIET, **changes})


def random_mlp(seed: int, sizes: tuple[int, ...]) -> Network:
    rng = np.random.default_rng(seed)
    pairs = list(itertools.pairwise(sizes))
    return build_mlp([rng.normal(size=(b, a)) / np.sqrt(a) * 1.5 for a, b in pairs], [rng.normal(size=b) * 0.5 for _, b in pairs])


def box_problem(
    network: Network, cost: np.ndarray, neural_cost: float, limit: float = np.inf, size: float = 2.0
) -> tuple[Program, Embedding]:
    """minimize cost'x + neural_cost * f_0(x) with x in a box and f_0(x) <= limit (for one output)."""
    n = network.num_inputs
    program = Program(
        cost=np.concatenate([cost, [neural_cost]]),
        lb=np.concatenate([np.full(n, -size), [-np.inf]]),
        ub=np.concatenate([np.full(n, size), [limit]]),
    )
    return program, Embedding(network, np.arange(n), [n])


def level_problem(seed: int) -> tuple[Program, Embedding]:
    """minimize x_1 + x_2 / 2 where the network is among its lowest 30 percent."""
    network = random_mlp(seed, (2, 8, 6, 1))
    values = network(np.random.default_rng(1).uniform(-2, 2, (500, 2)))[:, 0]
    return box_problem(network, np.array([1.0, 0.5]), 0.0, limit=float(np.quantile(values, 0.3)))


def grid_optimum(network: Network, cost: np.ndarray, neural_cost: float, limit: float, size: float, points_per_axis: int) -> float:
    """The best feasible objective over a dense grid."""
    axis = np.linspace(-size, size, points_per_axis)
    grid = np.stack(np.meshgrid(*[axis] * network.num_inputs, indexing="ij"), axis=-1).reshape(-1, network.num_inputs)
    f = network(grid)[:, 0]
    value = grid @ cost + neural_cost * f
    return float(np.where(f <= limit, value, np.inf).min())


def binary_problem(seed: int, num_binaries: int = 10) -> tuple[Program, Embedding]:
    """Binaries with a knapsack row, a neural objective and a neural row a'z + f_1(z) <= rhs."""
    rng = np.random.default_rng(seed)
    network = random_mlp(seed, (num_binaries, 8, 6, 2))
    n = num_binaries + 2
    weight = rng.uniform(0.5, 1.5, num_binaries)
    rows = np.zeros((2, n))
    rows[0, :num_binaries] = weight
    rows[1, :num_binaries] = rng.normal(size=num_binaries) * 0.2
    rows[1, -1] = 1.0
    program = Program(
        cost=np.concatenate([rng.normal(size=num_binaries), [1.0, 0.0]]),
        rows=rows,
        row_ub=[0.5 * weight.sum(), float(np.median(network(rng.integers(0, 2, (200, num_binaries)).astype(float))[:, 1]))],
        lb=np.concatenate([np.zeros(num_binaries), [-np.inf] * 2]),
        ub=np.concatenate([np.ones(num_binaries), [np.inf] * 2]),
        integer=np.arange(num_binaries),
    )
    return program, Embedding(network, np.arange(num_binaries), [n - 2, n - 1])


def enumerate_binaries(program: Program, embedding: Embedding) -> float:
    """The best feasible objective of `binary_problem` over all its points."""
    designs = np.array(list(itertools.product((0.0, 1.0), repeat=embedding.network.num_inputs)))
    points = np.hstack([designs, embedding.network(designs)])
    feasible = (points @ program.rows.toarray().T <= program.row_ub + 1e-9).all(axis=1)
    return float((points @ program.cost)[feasible].min())


def indicator_problem(seed: int, k: int = 4) -> tuple[Program, Embedding]:
    """Count how many of k points can be moved, at a shared budget, to where the network is at least 0.1 (y_i = 1 => f >= 0.1)."""
    rng = np.random.default_rng(seed)
    network = random_mlp(seed, (2, 8, 1))
    n = 2 * k + k + k
    score, decision = 2 * k + np.arange(k), 3 * k + np.arange(k)
    cost, lb, ub = np.zeros(n), np.full(n, -np.inf), np.full(n, np.inf)
    lb[: 2 * k], ub[: 2 * k] = -1.0, 1.0
    cost[: 2 * k] = rng.normal(size=2 * k) * 0.1
    cost[decision], lb[decision], ub[decision] = -1.0, 0.0, 1.0
    unit = np.eye(n)
    indicators = [Indicator(y, 1, unit[s], lb=0.1) for s, y in zip(score, decision, strict=True)]
    program = Program(cost=cost, rows=[np.eye(n)[: 2 * k].sum(axis=0)], row_ub=0.5, lb=lb, ub=ub, integer=decision, indicators=indicators)
    return program, Embedding(network, np.arange(2 * k).reshape(k, 2), score)
