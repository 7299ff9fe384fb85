"""The three problems that every front end writes in its own tool, as plain numbers, and their matrix form.

Small enough that the best point is known by other means, and with one good local solution, so that the order of columns and rows,
which differs from tool to tool, does not matter.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np

import dcembed
from dcembed import Embedding, Indicator, Network, Program, Result


def make_network(num_inputs: int, sizes: tuple[int, ...], seed: int, convex: bool = False) -> Network:
    """A network with random weights of moderate size; `convex` makes all but the first layer's nonnegative."""
    rng = np.random.default_rng(seed)
    widths = [num_inputs, *sizes, 1]
    weights = [rng.normal(0, 1 / np.sqrt(a), (b, a)) for a, b in itertools.pairwise(widths)]
    if convex:
        weights[1:] = [np.abs(weight) for weight in weights[1:]]
    biases = [rng.normal(0, 0.3, b) for b in widths[1:]]
    return dcembed.build_mlp(weights, biases)


class ConvexQP:
    """minimize 1/2 |x - target|^2   s.t.  sum(x) = total,  x in [-1, 1]^4,  f(x0, x1) <= limit,  f(x2, x3) <= limit."""

    network = make_network(2, (8, 8), 2, convex=True)
    target = np.array([0.9, -0.8, 0.7, 0.6])
    total = 1.0
    limit = 0.8

    @classmethod
    def matrices(cls) -> tuple[Program, Embedding]:
        n = 6
        quadratic = np.zeros((n, n))
        quadratic[:4, :4] = np.eye(4)
        program = Program(
            cost=np.concatenate([-cls.target, [0.0, 0.0]]),
            quadratic=quadratic,
            offset=0.5 * float(cls.target @ cls.target),
            rows=[[1, 1, 1, 1, 0, 0]],
            row_lb=cls.total,
            row_ub=cls.total,
            lb=np.array([-1, -1, -1, -1, -np.inf, -np.inf]),
            ub=np.array([1, 1, 1, 1, cls.limit, cls.limit]),
        )
        return program, Embedding(cls.network, [[0, 1], [2, 3]], [4, 5])


class NeuralMILP:
    """maximize f(x) + reward b - cost'z   s.t.  x0 <= z0,  x1 <= z1,  z0 + z1 <= 1 + b,  b = 1 => f(x) >= level;  z, b binary,  x in [0, 1]^2."""

    network = make_network(2, (6,), 4)
    cost = np.array([0.2, 0.1])
    reward = 0.5
    level = 0.2

    @classmethod
    def matrices(cls) -> tuple[Program, Embedding]:
        # Columns x0, x1, z0, z1, b, y.
        program = Program(
            cost=np.array([0, 0, *cls.cost, -cls.reward, -1.0]),
            rows=[[1, 0, -1, 0, 0, 0], [0, 1, 0, -1, 0, 0], [0, 0, 1, 1, -1, 0]],
            row_ub=[0, 0, 1],
            lb=[0, 0, 0, 0, 0, -np.inf],
            ub=[1, 1, 1, 1, 1, np.inf],
            integer=[2, 3, 4],
            indicators=[Indicator(4, 1, [0, 0, 0, 0, 0, 1], lb=cls.level)],
        )
        return program, Embedding(cls.network, [[0, 1]], [5])


class NeuralMIQP:
    """minimize (x - center)'(x - center) + 1/10 k   s.t.  f(x) = slope k + intercept,  k in 0..3 integer,  x in [-1, 1]^2."""

    network = make_network(2, (5, 5), 3)
    center = np.array([0.4, -0.3])
    slope = 0.41
    intercept = -1.64

    @classmethod
    def matrices(cls) -> tuple[Program, Embedding]:
        # Columns x0, x1, k, y.
        program = Program(
            cost=np.array([*(-2 * cls.center), 0.1, 0.0]),
            quadratic=np.diag([2.0, 2.0, 0.0, 0.0]),
            offset=float(cls.center @ cls.center),
            rows=[[0, 0, -cls.slope, 1]],
            row_lb=cls.intercept,
            row_ub=cls.intercept,
            lb=[-1, -1, 0, -np.inf],
            ub=[1, 1, 3, np.inf],
            integer=[2],
        )
        return program, Embedding(cls.network, [[0, 1]], [3])


PROBLEMS = (ConvexQP, NeuralMILP, NeuralMIQP)


@cache
def solved(problem: type) -> Result:
    """The answer to the matrix form of one of these, which many tests compare with; its first start ends at the best point that is known."""
    return dcembed.solve(*problem.matrices(), options={"verbose": False, "max_starts": 1})


def _falling_demand() -> Network:
    """Two demands of two prices and a campaign: each falls with its own price, less where that is high, and rises with the campaign."""
    hidden = np.array([[-2.0, 0.3, 0.4], [-1.0, 0.2, 0.9], [0.3, -2.0, 0.4], [0.2, -1.2, 0.7], [-0.5, -0.5, 0.2]])
    bias = np.array([1.5, 1.8, 1.2, 2.0, 1.0])
    return dcembed.build_mlp([hidden, [[1.0, 0.8, 0.0, -0.1, 0.2], [0.1, 0.0, 1.1, 0.7, 0.2]]], [bias, [0.1, 0.1]])


class PriceTimesDemand:
    """maximize price'demand - unit_cost sum(demand) - campaign_cost k, demand = f(price, k) with sum(demand) <= capacity, k integer."""

    network = _falling_demand()
    highest, unit_cost, campaign_cost, capacity = 2.0, 0.3, 0.4, 4.0

    @classmethod
    def profit(cls, price, campaign):
        """Of points (n, 2) and (n,): the objective, -inf where demand exceeds the capacity."""
        demand = cls.network(np.column_stack([price, campaign]))
        profit = ((price - cls.unit_cost) * demand).sum(axis=1) - cls.campaign_cost * campaign
        return np.where(demand.sum(axis=1) <= cls.capacity, profit, -np.inf)

    @classmethod
    def best_on_grid(cls, points=201):
        axis = np.linspace(0.0, cls.highest, points)
        price = np.array(np.meshgrid(axis, axis)).reshape(2, -1).T
        return max(cls.profit(price, np.full(len(price), float(k))).max() for k in range(3))
