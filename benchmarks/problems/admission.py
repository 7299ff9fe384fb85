"""Scholarships: a network predicts how probable it is that an applicant enrols; one budget is spread over all applicants.

    maximize  sum_i f(grades_i, test_i, x_i)   subject to   sum_i x_i <= 0.2 n,   0 <= x_i <= 2.5 (thousand)

The example of gurobi-ml's documentation and of SurrogateLIB, with applicants and a network of our own. Without the budget every applicant is a
problem of one column, so that the Lagrangian bound is computed exactly.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.problems.instance import Instance
from benchmarks.problems.trained import load_trained, network_file
from dcembed import AffineInputs, Embedding, Network, Program
from dcembed.network.network import evaluate, preactivations

NUM_INPUTS, WIDTH, DEPTH = 3, 16, 2
MOST, BUDGET = 2.5, 0.2
# Grades and test scores: mean and standard deviation, range, and how much of the test score follows from the grades.
GRADES, GRADES_RANGE = (3.2, 0.45), (2.0, 4.0)
TEST, TEST_RANGE = (1200.0, 150.0), (800.0, 1600.0)
SHARED = 0.7
FILE = "admission.npz"
# Halvings of the interval of the price, and what rounding may take from each applicant's minimum.
NUM_HALVINGS, ROUNDING = 60, 1e-9


def draw_applicants(number: int, rng: np.random.Generator) -> np.ndarray:
    """Grades and test scores, shape (number, 2)."""
    first, second = rng.normal(size=(2, number))
    grades = np.clip(GRADES[0] + GRADES[1] * first, *GRADES_RANGE)
    test = np.clip(TEST[0] + TEST[1] * (SHARED * first + np.sqrt(1 - SHARED**2) * second), *TEST_RANGE)
    return np.stack([grades, test], axis=1)


def enrolment(x: np.ndarray) -> np.ndarray:
    """The probability the network is trained on, at points (k, 3): strong applicants have other offers and need more to stay."""
    strength = (x[:, 0] - GRADES[0]) / GRADES[1] + 0.5 * (x[:, 1] - TEST[0]) / TEST[1]
    effect = 3.5 / (1.0 + np.exp(-3.0 * (x[:, 2] - 0.8 - 0.3 * strength)))
    return 1.0 / (1.0 + np.exp(1.5 + 0.9 * strength - effect))


def admission_path() -> Path:
    """Where the network is."""
    return network_file(FILE)


def load_admission_network() -> Network:
    """The trained network; the error has the command that trains it."""
    return load_trained(admission_path(), "train_admission", architecture="relu")


def build_admission(num_applicants: int, seed: int = 0) -> Instance:
    """Columns x (n), predictions (n); minimizes minus the sum of the predictions, from nothing spent."""
    return admission_instance(load_admission_network(), draw_applicants(num_applicants, np.random.default_rng(seed)), f"seed {seed}")


def admission_instance(network: Network, applicants: np.ndarray, name: str) -> Instance:
    """The instance of these applicants (n, 2)."""
    number = applicants.shape[0]
    x, prediction = np.arange(number), number + np.arange(number)
    free = np.full(number, np.inf)
    program = Program(
        cost=np.repeat([0.0, -1.0], number),
        rows=sp.csr_array((np.ones(number), (np.zeros(number, dtype=int), x)), shape=(1, 2 * number)),
        row_ub=BUDGET * number,
        lb=np.concatenate([np.zeros(number), -free]),
        ub=np.concatenate([np.full(number, MOST), free]),
    )
    matrix = sp.csr_array((np.ones(number), (NUM_INPUTS * x + 2, x)), shape=(NUM_INPUTS * number, 2 * number))
    embedding = Embedding(network, AffineInputs(matrix, np.hstack([applicants, np.zeros((number, 1))])), prediction)
    return Instance(f"admission n={number} {name}", program, (embedding,), [np.zeros(2 * number)])


def lagrangian_bound(instance: Instance) -> float:
    """A lower bound of the minimized objective: the largest of  -price B + sum_i min_x (price x - f_i(x))  over prices.

    A prediction is linear between the breakpoints of its network in x, so the minima are exact. Every price gives a bound, and what
    rounding may do to it is taken off: how well the best price is found costs sharpness only.
    """
    (embedding,), budget = instance.embeddings, float(instance.program.row_ub[0])
    points = breakpoints(embedding.network, embedding.inputs.offset)
    values = _along(embedding.network, embedding.inputs.offset, points)
    low, high, best = 0.0, _steepest(points, values), -np.inf
    for price in (low, high):
        best = max(best, _dual(points, values, price, budget)[0])
    for _ in range(NUM_HALVINGS):
        price = (low + high) / 2
        bound, use = _dual(points, values, price, budget)
        best = max(best, bound)
        low, high = (price, high) if use > budget else (low, price)
    return best - ROUNDING * points.shape[0]


def breakpoints(network: Network, offset: np.ndarray) -> np.ndarray:
    """Places in [0, 2.5], ends included, between which all units are linear in x: shape (n, m), increasing in each row."""
    points = np.tile([0.0, MOST], (offset.shape[0], 1))
    for number in range(len(network.stages)):
        units = _along(network, offset, points, number)
        left, right = units[:, :-1], units[:, 1:]
        # Where a unit changes its sign between two points; it is linear there because all earlier ones are.
        share = np.where(left * right < 0, left / np.where(left == right, 1.0, left - right), 0.0)
        inside = points[:, :-1, None] + share * np.diff(points, axis=1)[:, :, None]
        points = np.sort(np.concatenate([points, inside.reshape(points.shape[0], -1)], axis=1), axis=1)
    return points


def _along(network: Network, offset: np.ndarray, points: np.ndarray, stage: int | None = None) -> np.ndarray:
    """Predictions at x = points (n, m), or the pre-activations (n, m, width) of a stage."""
    inputs = np.repeat(offset, points.shape[1], axis=0)
    inputs[:, 2] += points.reshape(-1)
    if stage is None:
        return evaluate(network, inputs).reshape(points.shape)
    return preactivations(network, inputs)[stage].reshape(*points.shape, -1)


def _steepest(points: np.ndarray, values: np.ndarray) -> float:
    """A price at which nobody gets anything: no prediction rises faster from zero."""
    return float(np.max((values - values[:, :1]) / np.maximum(points, 1e-6), initial=0.0))


def _dual(points: np.ndarray, values: np.ndarray, price: float, budget: float) -> tuple[float, float]:
    """The dual function at a price, and how much is spent at it."""
    reduced = price * points - values
    chosen = reduced.argmin(axis=1)
    rows = np.arange(points.shape[0])
    return float(reduced[rows, chosen].sum() - price * budget), float(points[rows, chosen].sum())
