"""Small random networks whose optimum a grid knows.

minimize c'x + nu f_1(x)   subject to   f_2(x) <= level,   x in [-2, 2]^n   with n one or two

The networks have two layers of 30 units. Every other problem minimizes the network's first output, the others a linear function; the
level leaves 40 percent of the box.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from benchmarks.problems.instance import Instance
from dcembed import Embedding, Network, Program, build_mlp

NUM_PROBLEMS = 40
SIDE, WIDTHS, SHARE = 2.0, (30, 30), 0.4
# Points on an axis, by the number of inputs.
POINTS = {1: 40_001, 2: 401}


@dataclass(frozen=True, eq=False)
class GridProblem:
    """An instance and what the grid says about it.

    Parameters
    ----------
    instance
        The problem.
    optimum
        The best feasible objective on the grid; the true one is at most this.
    best
        Where it is, all columns.
    lowest, highest
        The range of the objective over all of the grid, feasible or not: what a gap is measured by.
    """

    instance: Instance
    optimum: float
    best: np.ndarray
    lowest: float
    highest: float

    def gap(self, objective: float) -> float:
        """By how much an objective is above the grid's optimum, in ranges; negative for better ones."""
        return (objective - self.optimum) / (self.highest - self.lowest)


def build_grid_problem(number: int) -> GridProblem:
    """One of the 40: the first half in one input, the second in two."""
    if not 0 <= number < NUM_PROBLEMS:
        raise ValueError(f"The problems are numbered from 0 to {NUM_PROBLEMS - 1}; received {number!r}.")
    num_inputs = 1 if number < NUM_PROBLEMS // 2 else 2
    network = random_network(num_inputs, number)
    grid = grid_points(num_inputs)
    values = network(grid)
    level = float(np.quantile(values[:, 1], SHARE))
    cost = np.zeros(num_inputs + 2)
    if number % 2 == 0:
        cost[num_inputs] = 1.0
    else:
        cost[:num_inputs] = np.random.default_rng((number, 1)).normal(size=num_inputs)
    program = Program(
        cost=cost,
        lb=[-SIDE] * num_inputs + [-np.inf, -np.inf],
        ub=[SIDE] * num_inputs + [np.inf, level],
    )
    embedding = Embedding(network, [np.arange(num_inputs)], [num_inputs + np.arange(2)])
    columns = np.hstack([grid, values])
    objective = columns @ cost
    best = int(np.argmin(np.where(values[:, 1] <= level, objective, np.inf)))
    start = np.concatenate([np.zeros(num_inputs), network(np.zeros(num_inputs))])
    instance = Instance(f"grid {number}: {num_inputs} input{'s' * (num_inputs > 1)}", program, (embedding,), [start])
    return GridProblem(instance, float(objective[best]), columns[best], float(objective.min()), float(objective.max()))


def grid_points(num_inputs: int) -> np.ndarray:
    """All points of the grid, shape (points, num_inputs)."""
    axis = np.linspace(-SIDE, SIDE, POINTS[num_inputs])
    return np.stack(np.meshgrid(*[axis] * num_inputs, indexing="ij"), axis=-1).reshape(-1, num_inputs)


def random_network(num_inputs: int, seed: int) -> Network:
    """Two outputs; the biases spread the kinks of the first layer over the box."""
    rng = np.random.default_rng((seed, num_inputs))
    sizes = [num_inputs, *WIDTHS, 2]
    weights = [rng.normal(0.0, np.sqrt(2.0 / a), (b, a)) for a, b in itertools.pairwise(sizes)]
    return build_mlp(weights, [rng.uniform(-SIDE, SIDE, WIDTHS[0]), rng.normal(0.0, 0.5, WIDTHS[1]), np.zeros(2)])
