"""The exact encoding: it is exact, and its sizes are those of the bounds."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed import Embedding, Program, Status
from dcembed.baselines import anderson, big_m, obbt
from dcembed.embedded.big_m import default_bounds
from dcembed.embedded.verify import predict
from dcembed.errors import MissingBoundError
from dcembed.network.network import preactivations
from problems import binary_problem, box_problem, enumerate_binaries, grid_optimum, indicator_problem, quiet, random_mlp

EXACT = [big_m.solve, obbt.solve, anderson.solve]
COST = np.array([0.3, -0.2])


@pytest.mark.parametrize("solve", EXACT)
@pytest.mark.parametrize("seed", range(3))
def test_the_enumerated_optimum_of_binary_problems(solve, seed):
    program, embedding = binary_problem(seed, num_binaries=8)
    result = solve(program, embedding, options=quiet())
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(enumerate_binaries(program, embedding), abs=1e-5)


@pytest.mark.parametrize("solve", EXACT)
@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_over_a_box(solve, seed):
    network = random_mlp(seed, (2, 8, 6, 1))
    limit = float(np.median(network(np.random.default_rng(0).uniform(-2, 2, (200, 2)))))
    program, embedding = box_problem(network, COST, 1.0, limit)
    result = solve(program, embedding, options=quiet())
    assert result.status is Status.OPTIMAL
    # A grid point is feasible, so the optimum is at least as good, and not better than a fine grid by much.
    assert -0.05 <= result.objective - grid_optimum(network, COST, 1.0, limit, 2.0, 401) <= 1e-5


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_indicators_are_kept_by_both_solvers(solver):
    program, embedding = indicator_problem(1, k=2)
    result = big_m.solve(program, embedding, options=quiet(solver=solver))
    assert result.status is Status.OPTIMAL
    assert result.is_feasible
    best = min(dcembed.solve(program, embedding, options=quiet()).objective, program.objective(predict([embedding], np.zeros(8))))
    assert result.objective <= best + 1e-5


def test_a_quadratic_host_goes_to_scip():
    network = random_mlp(2, (2, 6, 1))
    program = Program([0.0, 0.0, 1.0], np.diag([1.0, 1.0, 0.0]), lb=[-1.0, -1.0, -np.inf], ub=[1.0, 1.0, np.inf])
    result = big_m.solve(program, Embedding(network, [0, 1], [2]), options=quiet())
    axis = np.linspace(-1, 1, 401)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    assert result.solver == "scip"
    assert result.status is Status.OPTIMAL
    assert -1e-3 <= result.objective - (0.5 * (grid**2).sum(axis=1) + network(grid)[:, 0]).min() <= 1e-5


def test_networks_in_a_row_are_bounded_through_their_predictions():
    one, other = random_mlp(0, (2, 5, 1)), random_mlp(1, (1, 5, 1))
    program = Program([0.0, 0.0, 0.0, 1.0], lb=[-1.0, -1.0, -np.inf, -np.inf], ub=[1.0, 1.0, np.inf, np.inf])
    embeddings = [Embedding(one, [0, 1], [2]), Embedding(other, [2], [3])]
    result = big_m.solve(program, embeddings, options=quiet())
    grid = np.random.default_rng(0).uniform(-1, 1, (20000, 2))
    assert result.status is Status.OPTIMAL
    assert -0.05 <= result.objective - other(one(grid))[:, 0].min() <= 1e-5


def test_the_problem_may_be_infeasible():
    network = random_mlp(0, (2, 6, 1))
    program, embedding = box_problem(network, COST, 0.0, limit=-100.0)
    result = big_m.solve(program, embedding, options=quiet())
    assert result.status is Status.INFEASIBLE
    assert not result.is_feasible


def test_an_input_without_bounds_is_named():
    program = Program([0.0, 1.0, 0.0], lb=[-1.0, -np.inf, -np.inf], ub=[1.0, 4.0, np.inf])
    with pytest.raises(MissingBoundError, match=r"Column 1 .* lower bound"):
        big_m.solve(program, Embedding(random_mlp(0, (2, 4, 1)), [0, 1], [2]), options=quiet())


def test_sizes_are_those_of_the_bounds():
    network = random_mlp(4, (2, 8, 6, 1))
    program, embedding = box_problem(network, COST, 1.0, size=0.5)
    bounds = default_bounds(program, [embedding])
    lb, ub = np.concatenate([low[0] for low, _ in bounds[0]]), np.concatenate([high[0] for _, high in bounds[0]])
    num_open, num_positive = int(((lb < 0) & (ub > 0)).sum()), int((lb >= 0).sum())
    assert 0 < num_open < network.num_hidden
    result = big_m.solve(program, embedding, options=quiet())
    # Columns z, s and d of open units, z of positive ones; their equalities, two rows of an open unit, and the prediction's row.
    assert result.sizes.added_binaries == num_open
    assert result.sizes.added_columns == 3 * num_open + num_positive
    assert result.sizes.added_rows == 3 * num_open + num_positive + 1


def test_bounds_that_are_given_are_used():
    program, embedding = box_problem(random_mlp(3, (2, 8, 1)), COST, 1.0)
    points = np.stack(np.meshgrid(*[np.linspace(-2, 2, 5)] * 2), axis=-1).reshape(-1, 2)
    a = preactivations(embedding.network, points)[0]
    # Over a box the extremes of affine functions are at its corners.
    bounds = [[(a.min(axis=0)[None], a.max(axis=0)[None])]]
    one = big_m.solve(program, embedding, options=quiet(), bounds=bounds)
    other = big_m.solve(program, embedding, options=quiet())
    assert one.objective == pytest.approx(other.objective, abs=1e-6)
    fixed = [[(np.maximum(a.min(axis=0), 0.0)[None], a.max(axis=0)[None])]]
    assert big_m.solve(program, embedding, options=quiet(), bounds=fixed).sizes.added_binaries == 0


@pytest.mark.parametrize("solve", EXACT)
@pytest.mark.parametrize("maximize", [False, True])
def test_the_bound_is_the_solvers_in_the_sense_of_the_program(solve, maximize):
    network = random_mlp(1, (2, 8, 6, 1))
    program, embedding = box_problem(network, COST, 1.0)
    sense = -1.0 if maximize else 1.0
    program = Program(cost=sense * program.cost, lb=program.lb, ub=program.ub, offset=sense * 5.0, maximize=maximize)
    result = solve(program, embedding, options=quiet())
    assert result.status is Status.OPTIMAL
    assert result.gap <= 1e-5
    assert sense * result.bound <= sense * result.objective + 1e-6
    assert result.bound == pytest.approx(result.objective, abs=1e-4)


@pytest.mark.parametrize("solve", EXACT)
def test_a_run_out_of_time_has_a_bound(solve):
    network = random_mlp(0, (4, 24, 24, 1))
    program, embedding = box_problem(network, np.array([0.3, -0.2, 0.1, 0.5]), 1.0)
    best = dcembed.solve(program, embedding, options=quiet(max_starts=5))
    # Nodes are the same on every machine.
    result = solve(program, embedding, best.x, options=quiet(solver="highs", solver_options={"mip_max_nodes": 1}))
    assert result.status is Status.TIME_LIMIT
    assert -np.inf < result.bound < best.objective
    assert 0.0 < result.gap < np.inf


def test_an_infeasible_encoding_is_a_bound_like_any_other():
    program, embedding = box_problem(random_mlp(0, (2, 4, 1)), COST, 1.0, limit=-1e3)
    result = big_m.solve(program, embedding, options=quiet())
    assert result.status is Status.INFEASIBLE
    assert result.bound == np.inf
