"""Projected gradient descent: gradient, projection, line search, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from dcembed import Embedding, Program, Status
from dcembed.baselines import pgd
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.point import measure_point
from dcembed.errors import InputError
from problems import binary_problem, quiet, random_mlp


def bowl_problem(seed: int = 0, limit: float = np.inf):
    """minimize 1/2 |x - 1|^2 + a prediction, with a row x_1 + x_2 <= 1 and f <= limit."""
    network = random_mlp(seed, (2, 6, 1))
    program = Program(
        cost=[-1.0, -1.0, 0.0],
        quadratic=np.diag([1.0, 1.0, 0.0]),
        rows=[[1.0, 1.0, 0.0]],
        row_ub=1.0,
        lb=[-2.0, -2.0, -np.inf],
        ub=[2.0, 2.0, limit],
    )
    return program, Embedding(network, [0, 1], [2])


def test_integer_hosts_are_refused():
    program, embedding = binary_problem(0)
    with pytest.raises(InputError, match="continuous hosts only, but this one has 10 integer columns"):
        pgd.solve(program, embedding, options=quiet())


def test_the_gradient_is_that_of_the_penalized_objective():
    program, embedding = bowl_problem(limit=-0.6)
    embedded = eliminate(program, [embedding])
    function = pgd._Penalized(embedded, 100.0)

    def value(x):
        f = embedding.network(x)[0]
        return program.objective(np.append(x, f)) + 50.0 * max(f + 0.6, 0.0) ** 2

    x = np.array([0.37, -0.61])
    step = 1e-6
    numeric = [(value(x + step * e) - value(x - step * e)) / (2 * step) for e in np.eye(2)]
    assert embedding.network(x)[0] > -0.6
    np.testing.assert_allclose(function.gradient(measure_point(embedded, x)), numeric, rtol=1e-5)


def test_it_reaches_the_minimum_of_a_convex_problem():
    program, embedding = bowl_problem()
    result = pgd.solve(program, embedding, np.zeros(3), quiet(time_limit=np.inf, max_iterations=200))
    assert result.status in (Status.ITERATION_LIMIT, Status.LOCALLY_SOLVED)
    np.testing.assert_allclose(result.x[:2], 0.5, atol=1e-5)


def test_the_segment_to_an_infeasible_iterate_is_searched():
    # The first step goes from 0 to (0.1, 0.1); the limit is passed at (0.07, 0.07).
    rising = [seed for seed in range(10) if np.diff(random_mlp(seed, (2, 6, 1))(np.array([[0.0, 0.0], [0.1, 0.1]]))[:, 0])[0] > 0.01]
    _, embedding = bowl_problem(rising[0])
    limit = float(embedding.network(np.array([0.07, 0.07]))[0])
    program, embedding = bowl_problem(rising[0], limit)
    result = pgd.solve(program, embedding, np.zeros(3), quiet(time_limit=np.inf, max_iterations=1))
    assert result.history[0].violation > result.feasibility_tol
    assert len(result.incumbents) > 2
    assert result.is_feasible
    assert result.x[0] == pytest.approx(0.07, abs=1e-3)


def test_the_penalty_can_be_set():
    program, embedding = bowl_problem(limit=-0.3)
    one, other = (
        pgd.solve(program, embedding, np.zeros(3), quiet(max_iterations=3, time_limit=np.inf, initial_penalty=p)) for p in (1.0, 50.0)
    )
    assert [h.penalty for h in one.history] == [1.0] * 3
    assert one.history[-1].objective != other.history[-1].objective


def test_over_a_box_no_solver_is_needed():
    program, embedding = bowl_problem()
    box = Program(cost=program.cost, lb=program.lb, ub=program.ub)
    result = pgd.solve(box, embedding, np.zeros(3), quiet(max_iterations=5, time_limit=np.inf, solver="highs"))
    assert result.solver == "clipping"
    assert result.is_feasible
