"""Problems whose truth is known, with data as a plant has them: what is measured around the way it is run, with noise.

All of them are maximized. A network is trained on inputs (N, d) and noisy outputs (N, o); the host has a column for each of both, and a row or two
over the inputs. What an answer is worth in truth is the same objective with the outputs that the formula gives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy.optimize import minimize

import dcembed

GAS_CONSTANT = 8.314
# Points of the box among which the true optimum is looked for, and the best of them that are improved from.
NUM_POINTS, NUM_STARTS = 200_000, 30


@dataclass(frozen=True, eq=False)
class Problem:
    """Maximize cost . (inputs, outputs) + offset over a box of inputs with rows, where some outputs have lower limits.

    Parameters
    ----------
    name, what
        What it is called, and in a sentence.
    inputs, outputs
        Names of columns.
    truth
        Inputs (k, d) to outputs (k, o), without noise.
    sample
        So many inputs of the data (N, d).
    noise
        Standard deviation of what is measured, shape (o,).
    cost, offset
        Of inputs and outputs, shape (d + o,).
    lb, ub
        Of the inputs, shape (d,) each.
    rows, row_ub
        rows . inputs <= row_ub, shape (m, d) and (m,).
    least
        Lower limits of outputs, shape (o,); -inf where there is none.
    clusters
        Of how many the region "clusters" is made.
    """

    name: str
    what: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    truth: Callable[[np.ndarray], np.ndarray]
    sample: Callable[[int, np.random.Generator], np.ndarray]
    noise: np.ndarray
    cost: np.ndarray
    offset: float
    lb: np.ndarray
    ub: np.ndarray
    rows: np.ndarray
    row_ub: np.ndarray
    least: np.ndarray
    clusters: int = 3

    @cached_property
    def program(self) -> dcembed.Program:
        """The host: inputs first, then outputs."""
        free = np.full(len(self.outputs), np.inf)
        return dcembed.Program(
            cost=self.cost,
            offset=self.offset,
            maximize=True,
            rows=np.hstack([self.rows, np.zeros((len(self.rows), len(self.outputs)))]),
            row_ub=self.row_ub,
            lb=np.concatenate([self.lb, self.least]),
            ub=np.concatenate([self.ub, free]),
            column_names=[*self.inputs, *self.outputs],
        )

    def objective(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Of inputs (k, d) and outputs (k, o), shape (k,)."""
        return np.hstack([x, y]) @ self.cost + self.offset

    def violation(self, y: np.ndarray) -> np.ndarray:
        """By how much outputs (k, o) miss their limits, shape (k,)."""
        return np.maximum(self.least - y, 0.0).max(axis=1)

    def is_allowed(self, x: np.ndarray) -> np.ndarray:
        """Which inputs (k, d) the rows of the host allow, shape (k,)."""
        return (x @ self.rows.T <= self.row_ub).all(axis=1)


@dataclass(frozen=True, eq=False)
class Data:
    """Inputs (N, d), what was measured there, and the truth, (N, o) each."""

    x: np.ndarray
    y: np.ndarray
    truth: np.ndarray


def draw(problem: Problem, num_points: int, seed: int) -> Data:
    """Data of one repetition."""
    rng = np.random.default_rng([seed, num_points])
    x = problem.sample(num_points, rng)
    truth = problem.truth(x)
    return Data(x, truth + rng.normal(size=truth.shape) * problem.noise, truth)


@cache
def true_optimum(problem: Problem) -> tuple[float, np.ndarray]:
    """The best objective that the true outputs allow, and its inputs: many points of the box, and the best of them improved by SLSQP."""
    x = np.random.default_rng(0).uniform(problem.lb, problem.ub, size=(NUM_POINTS, problem.lb.size))
    y = problem.truth(x)
    value = np.where(problem.is_allowed(x) & (problem.violation(y) == 0.0), problem.objective(x, y), -np.inf)
    best = max((_improved(problem, x[place]) for place in np.argsort(-value)[:NUM_STARTS]), key=lambda found: found[0])
    return max(best, (float(value.max()), x[value.argmax()]), key=lambda found: found[0])


def _improved(problem: Problem, start: np.ndarray) -> tuple[float, np.ndarray]:
    width = problem.ub - problem.lb

    def inputs(u: np.ndarray) -> np.ndarray:
        return (problem.lb + u * width)[None]

    def room(u: np.ndarray) -> np.ndarray:
        limited = np.isfinite(problem.least)
        return np.concatenate([problem.row_ub - problem.rows @ inputs(u)[0], (problem.truth(inputs(u))[0] - problem.least)[limited]])

    found = minimize(
        lambda u: -float(problem.objective(inputs(u), problem.truth(inputs(u)))[0]),
        (start - problem.lb) / width,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * width.size,
        constraints={"type": "ineq", "fun": room},
        options={"maxiter": 300, "ftol": 1e-10},
    )
    x = inputs(np.clip(found.x, 0.0, 1.0))
    is_feasible = room(found.x).min() >= -1e-6
    return (float(problem.objective(x, problem.truth(x))[0]) if is_feasible else -np.inf), x[0]


# A synthesis: an exothermic reaction that an equilibrium limits, with a side reaction that heat favours.


def product(x: np.ndarray) -> np.ndarray:
    """Product (t/h) from temperature (C), pressure (bar), feed (t/h), ratio of the reactants and catalyst (t), shape (k, 1)."""
    temperature, pressure, feed, ratio, catalyst = x.T
    kelvin = temperature + 273.15
    rate = 9.0 * catalyst * (pressure / 25.0) ** 0.6 * np.exp(-60e3 / GAS_CONSTANT * (1 / kelvin - 1 / 463.15))
    equilibrium = 1.0 / (1.0 + (25.0 / pressure) * np.exp((temperature - 215.0) / 14.0)) * ratio / (ratio + 0.25)
    conversion = equilibrium * (1.0 - np.exp(-rate / (feed * (1.0 + ratio) / 2.5)))
    selectivity = 1.0 / (1.0 + 0.06 * np.exp((temperature - 195.0) / 16.0) * (1.0 + 0.5 * np.abs(pressure - 22.0) / 10.0))
    return (feed * conversion * selectivity)[:, None]


def operated(number: int, rng: np.random.Generator) -> np.ndarray:
    """How operators run it: two things vary, the load and how hard the plant is driven, and all settings follow them with little freedom."""
    load, severity = rng.normal(size=(2, number, 1))
    middle = np.array([188.0, 22.0, 6.5, 1.5, 1.3])
    by_load, by_severity = np.array([2.0, 1.5, 1.0, 0.05, 0.2]), np.array([7.0, 2.5, 0.0, -0.12, -0.1])
    wobble = np.array([2.0, 1.0, 0.25, 0.06, 0.08])
    return np.clip(middle + load * by_load + severity * by_severity + rng.normal(size=(number, 5)) * wobble, YIELD_LOW, YIELD_HIGH)


YIELD_LOW, YIELD_HIGH = np.array([160.0, 10.0, 3.0, 1.0, 0.5]), np.array([225.0, 40.0, 10.0, 2.5, 2.5])
YIELD = Problem(
    name="yield",
    what="Product of a synthesis from five settings, which two habits of the operators tie together: the data are a thin cloud in a wide box.",
    inputs=("temperature", "pressure", "feed", "ratio", "catalyst"),
    outputs=("product",),
    truth=product,
    sample=operated,
    noise=np.array([0.2]),
    # Per hour, in hundreds: product, and what heat, compression, feed, the other reactant and the wear of the catalyst cost.
    cost=np.array([-0.02, -0.06, -2.2, -1.0, -4.0, 6.0]),
    offset=10.0,
    lb=YIELD_LOW,
    ub=YIELD_HIGH,
    # The compressor: much feed cannot be brought to a high pressure.
    rows=np.array([[0.0, 1.0, 2.0, 0.0, 0.0]]),
    row_ub=np.array([50.0]),
    least=np.array([-np.inf]),
)


# The reactor of examples/train_reactor.py: A -> B -> C, where B is the product. Its charges of catalyst may be fractions here.


def reactor(x: np.ndarray) -> np.ndarray:
    """Gross margin (per hour and litre) and purity (percent of the products), shape (k, 2): the plant of the example, with purity for impurity."""
    temperature, minutes, feed, charges = x.T
    catalyst = 1.0 + 0.35 * charges
    k1 = 0.08 * catalyst * np.exp(-55e3 / GAS_CONSTANT * (1 / temperature - 1 / 350.0))
    k2 = 0.012 * np.sqrt(catalyst) * np.exp(-90e3 / GAS_CONSTANT * (1 / temperature - 1 / 350.0))
    b = feed * k1 / (k2 - k1) * (np.exp(-k1 * minutes) - np.exp(-k2 * minutes))
    c = feed * (1 - np.exp(-k1 * minutes)) - b
    return np.column_stack([60.0 / minutes * (b - 0.4 * feed), 100.0 - 100.0 * c / (b + c)])


def by_recipes(number: int, rng: np.random.Generator) -> np.ndarray:
    """Three recipes, a third of the data each: whoever runs it hotter takes it out sooner, and all else varies a little."""
    recipes = np.array([[342.0, 9.0, 1.0, 1.0], [351.0, 7.0, 1.3, 2.0], [360.0, 5.0, 1.1, 3.0]])
    chosen = recipes[rng.integers(3, size=number)]
    heat = rng.normal(size=(number, 1))
    x = chosen + heat * [3.0, -0.6, 0.0, 0.0] + rng.normal(size=(number, 4)) * [1.0, 0.4, 0.12, 0.3]
    return np.clip(x, REACTOR_LOW, REACTOR_HIGH)


def designed(number: int, rng: np.random.Generator) -> np.ndarray:
    """An experiment that fills the box: every input uniform by itself."""
    return rng.uniform(REACTOR_LOW, REACTOR_HIGH, size=(number, 4))


REACTOR_LOW, REACTOR_HIGH = np.array([330.0, 2.0, 0.5, 0.0]), np.array([375.0, 14.0, 2.0, 4.0])
_REACTOR = {
    "inputs": ("temperature", "time", "feed", "catalyst"),
    "outputs": ("margin", "purity"),
    "truth": reactor,
    "noise": np.array([0.4, 0.5]),
    "cost": np.array([-0.01, 0.0, -0.2, -0.95, 1.0, 0.0]),
    "offset": 3.3,
    "lb": REACTOR_LOW,
    "ub": REACTOR_HIGH,
    "rows": np.array([[1.0, 0.0, 12.0, 0.0]]),
    "row_ub": np.array([378.0]),
    "least": np.array([-np.inf, 92.0]),
}
REACTOR = Problem(
    name="reactor",
    what="Margin of the example's reactor with a purity of at least 92 %, from batches of three recipes: the data are three clouds.",
    sample=by_recipes,
    **_REACTOR,
)
DESIGNED = Problem(name="designed", what="The same reactor, from an experiment that fills the box.", sample=designed, **_REACTOR)

PROBLEMS = {problem.name: problem for problem in (YIELD, REACTOR, DESIGNED)}
