"""Nonconvex quadratic objectives: found as good as a fine grid knows, with every formulation, integers held or not."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed import Embedding, Program, Status, split_quadratic, verify
from dcembed.solvers import choose_backend
from dcembed.solvers.base import SessionOptions
from dcembed.solvers.failover import LastingSession, Solver
from problems import FORMULATIONS, quiet, random_mlp

PRICES = np.linspace(-2.0, 2.0, 20001)


def sale(seed: int, scale: float = 1.0) -> tuple[Program, Embedding]:
    """maximize price * demand - demand / 2 with demand = f(price), of which one unit is `scale` of the network's."""
    network = random_mlp(seed, (1, 8, 6, 1))
    quadratic, concave = split_quadratic([[0.0, scale], [scale, 0.0]], maximize=True)
    program = Program([0.0, -0.5 * scale], quadratic, concave=concave, lb=[-2.0, -np.inf], ub=[2.0, np.inf], maximize=True)
    return program, Embedding(network, [0], [1])


def best(embedding: Embedding) -> float:
    demand = embedding.network(PRICES[:, None])[:, 0]
    return float((PRICES * demand - 0.5 * demand).max())


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_price_times_demand_with_each_formulation(formulation):
    program, embedding = sale(4)
    result = dcembed.solve(program, embedding, options=quiet(formulation=formulation, max_starts=6))
    assert result.is_feasible
    assert result.objective == pytest.approx(best(embedding), abs=1e-4)
    assert verify(program, embedding, result.x).objective == result.objective


@pytest.mark.parametrize("seed", range(3))
def test_the_units_of_demand_do_not_matter(seed):
    ends = []
    for scale in (1.0, 1e4):
        program, embedding = sale(seed, scale)
        ends.append(dcembed.solve(program, embedding, options=quiet(max_starts=4)).objective / scale)
    assert ends == pytest.approx([best(embedding)] * 2, abs=1e-4)


def test_a_concave_host_with_integers_and_no_network_in_its_objective():
    # minimize -(x - 0.3)^2 - k x + y with y >= f(x): the corners are the only local solutions.
    network = random_mlp(0, (1, 6, 1))
    matrix = np.array([[-2.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    quadratic, concave = split_quadratic(matrix)
    program = Program([0.6, 0.0, 1.0], quadratic, concave=concave, lb=[-1.0, -2.0, -np.inf], ub=[1.0, 2.0, np.inf], integer=[1])
    embedding = Embedding(network, [0], [2])
    x = np.linspace(-1.0, 1.0, 2001)
    values = -(x**2) + 0.6 * x + network(x[:, None])[:, 0]
    expected = min((values - k * x).min() for k in range(-2, 3))
    result = dcembed.solve(program, embedding, options=quiet(max_starts=4))
    assert result.objective == pytest.approx(expected, abs=1e-4)


def test_without_networks_a_nonconvex_host_is_solved_all_the_same():
    quadratic, concave = split_quadratic([[0.0, 1.0], [1.0, 0.0]])
    program = Program([0.1, -0.2], quadratic, concave=concave, lb=-1.0, ub=2.0)
    assert dcembed.solve(program, [], options=quiet(max_starts=4)).objective == pytest.approx(-2.0 - 0.1 - 0.4)


def test_an_objective_that_falls_without_end_is_unbounded():
    program = Program([-9.0, 1.0], concave=[[1.0, 0.0], [0.0, 0.0]], lb=[0.0, -np.inf])
    embedding = Embedding(random_mlp(0, (1, 4, 1)), [0], [1])
    assert dcembed.solve(program, embedding, options=quiet()).status is Status.UNBOUNDED


def test_linked_predictions_are_completed():
    """A start off the predictions: completion puts them right although the product has them in it."""
    program, embedding = sale(1)
    result = dcembed.solve(program, embedding, start=np.array([0.5, 100.0]), options=quiet(max_iterations=1))
    assert result.is_feasible
    assert result.violation <= 1e-9


def test_no_solver_is_handed_a_concave_part():
    with pytest.raises(ValueError, match="convex problems only"):
        LastingSession(sale(0)[0], Solver(choose_backend("QP"), SessionOptions()))
