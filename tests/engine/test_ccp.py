"""The penalty convex-concave procedure against brute force, and what must hold along its way."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

import dcembed
from dcembed import Embedding, Indicator, Program, Status, build_mlp
from dcembed.embedded.verify import predict
from problems import FORMULATIONS, binary_problem, box_problem, grid_optimum, indicator_problem, quiet, random_mlp

TOL = 1e-5


def assert_honest(result, program, embedding):
    """What is reported is what is there."""
    measured = dcembed.verify(program, [embedding], result.x)
    assert result.objective == measured.objective
    assert result.violation == measured.violation
    assert result.is_feasible == (measured.violation <= result.feasibility_tol)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("num_inputs", [1, 2])
def test_a_neural_objective_is_never_better_than_the_grid_and_locally_solved(formulation, seed, num_inputs):
    network = random_mlp(seed, (num_inputs, 8, 6, 1))
    cost = np.random.default_rng(seed).normal(size=num_inputs) * 0.3
    program, embedding = box_problem(network, cost, 1.0)
    result = dcembed.solve(program, embedding, options=quiet(formulation=formulation))
    best = grid_optimum(network, cost, 1.0, np.inf, 2.0, 4001 if num_inputs == 1 else 301)
    assert result.status is Status.LOCALLY_SOLVED
    assert result.is_feasible
    # The optimum of a piecewise-linear function may lie between grid points, but not by more than its slope allows.
    assert result.objective >= best - (0.01 if num_inputs == 1 else 0.1)
    assert_honest(result, program, embedding)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("seed", range(6))
def test_the_best_of_several_starts_reaches_the_grid_optimum_in_one_dimension(formulation, seed):
    network = random_mlp(seed, (1, 8, 1))
    program, embedding = box_problem(network, np.zeros(1), 1.0, limit=np.inf)
    starts = [np.array([x, 0.0]) for x in np.linspace(-2, 2, 9)]
    result = dcembed.solve(program, embedding, start=starts, options=quiet(formulation=formulation))
    assert result.objective == pytest.approx(grid_optimum(network, np.zeros(1), 1.0, np.inf, 2.0, 8001), abs=1e-2)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("seed", range(6))
def test_a_neural_inequality_ends_feasible_and_no_better_than_the_grid(formulation, seed):
    network = random_mlp(seed, (2, 8, 6, 1))
    cost = np.random.default_rng(seed).normal(size=2)
    values = network(np.random.default_rng(1).uniform(-2, 2, (500, 2)))[:, 0]
    limit = float(np.quantile(values, 0.3))
    program, embedding = box_problem(network, cost, 0.0, limit)
    result = dcembed.solve(program, embedding, options=quiet(formulation=formulation))
    assert_honest(result, program, embedding)
    if result.is_feasible:
        assert result.objective >= grid_optimum(network, cost, 0.0, limit + TOL, 2.0, 301) - 0.05
    else:
        assert result.status in (Status.LOCALLY_INFEASIBLE, Status.ITERATION_LIMIT)


@cache
def all_designs(seed):
    """The problem, and all points that ten binaries leave, measured: once for all formulations."""
    program, embedding = binary_problem(seed)
    designs = np.array(list(itertools.product((0.0, 1.0), repeat=10)))
    points = [predict([embedding], np.concatenate([z, np.zeros(2)])) for z in designs]
    return program, embedding, points, [dcembed.verify(program, [embedding], w) for w in points]


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("seed", range(4))
def test_ten_binaries_against_enumeration(formulation, seed):
    program, embedding, points, measured = all_designs(seed)
    best = min(m.objective for m in measured if m.violation <= TOL)
    result = dcembed.solve(program, embedding, options=quiet(formulation=formulation))
    assert_honest(result, program, embedding)
    assert result.is_feasible
    assert best - 1e-9 <= result.objective <= max(m.objective for m in measured)
    feasible = [(m.objective, number) for number, m in enumerate(measured) if m.violation <= TOL]
    starts = [points[number] for _, number in feasible[::40]]
    many = dcembed.solve(program, embedding, start=starts, options=quiet(formulation=formulation))
    assert best - 1e-9 <= many.objective <= min(value for value, _ in feasible[::40])
    from_best = dcembed.solve(program, embedding, start=points[min(feasible)[1]], options=quiet(formulation=formulation))
    assert from_best.objective == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_neural_equality_is_met(formulation):
    network = random_mlp(3, (2, 8, 1))
    level = float(np.median(network(np.random.default_rng(0).uniform(-2, 2, (500, 2)))[:, 0]))
    program = Program(cost=[1.0, 0.3, 0.0], rows=[[0.0, 0.0, 1.0]], row_lb=level, row_ub=level, lb=[-2, -2, -np.inf], ub=[2, 2, np.inf])
    embedding = Embedding(network, [0, 1], [2])
    result = dcembed.solve(program, embedding, options=quiet(formulation=formulation))
    assert result.is_feasible
    assert network(result.x[:2])[0] == pytest.approx(level, abs=TOL)
    assert_honest(result, program, embedding)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("seed", range(3))
def test_decisions_behind_neural_indicators_against_enumeration(formulation, seed):
    program, embedding = indicator_problem(seed)
    result = dcembed.solve(program, embedding, options=quiet(formulation=formulation))
    assert result.is_feasible
    assert_honest(result, program, embedding)
    counted = result.x[-4:] == 1
    assert np.all(embedding.network(result.x[:8].reshape(4, 2))[counted, 0] >= 0.1 - TOL)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("penalty", [0.05, 1.0, 50.0])
def test_at_a_fixed_penalty_the_merit_never_increases(formulation, penalty):
    for seed in range(4):
        network = random_mlp(seed, (3, 10, 8, 1))
        program, embedding = box_problem(network, np.random.default_rng(seed).normal(size=3), 0.3, limit=0.0)
        options = quiet(formulation=formulation, initial_penalty=penalty, max_penalty=penalty, tangents=False, max_starts=1)
        start = np.random.default_rng(seed + 9).uniform(-2, 2, 4)
        result = dcembed.solve(program, embedding, start=start, options=options)
        first = dcembed.verify(program, [embedding], predict([embedding], start))
        merits = [r.point_merit for r in result.history if r.penalty == penalty]
        assert merits[0] == pytest.approx(first.objective + penalty * first.bounds)
        assert all(b <= a + 1e-6 * max(1, abs(a)) for a, b in itertools.pairwise(merits))
        merits = [r.point_merit for r in result.history if r.penalty == np.inf]
        assert all(b <= a + 1e-6 * max(1, abs(a)) for a, b in itertools.pairwise(merits))
        if formulation != "lazy":
            # The paper's subproblem majorizes the merit, so its own candidates never increase it either.
            assert all(r.merit <= r.point_merit + 1e-6 * max(1, abs(r.point_merit)) for r in result.history)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_penalty_too_small_still_ends_at_a_local_solution_among_the_feasible_points_met(formulation):
    network = random_mlp(1, (3, 10, 8, 1))
    program, embedding = box_problem(network, np.random.default_rng(1).normal(size=3), 0.3, limit=0.0)
    start = np.random.default_rng(10).uniform(-2, 2, 4)
    result = dcembed.solve(program, embedding, start=start, options=quiet(formulation=formulation, initial_penalty=0.05, max_penalty=0.05))
    assert result.status is Status.LOCALLY_SOLVED
    assert result.is_feasible
    assert result.history[-1].penalty == np.inf
    assert result.objective < result.incumbents[0][1]


def test_the_penalty_grows_by_its_factor_until_the_candidates_are_feasible():
    network = random_mlp(1, (2, 8, 1))
    program, embedding = box_problem(network, np.array([1.0, 1.0]), 0.0, limit=float(network(np.zeros(2))[0]) - 0.3)
    result = dcembed.solve(program, embedding, options=quiet(initial_penalty=1e-3, penalty_growth=7.0, max_penalty=1e5, tangents=False))
    for before, after in itertools.pairwise(result.history):
        factor = 7.0 if before.violation > TOL else 1.0
        assert after.penalty == pytest.approx(min(before.penalty * factor, 1e5))
    assert result.is_feasible


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_an_impossible_neural_row_is_locally_infeasible_and_the_least_violated_point_is_returned(formulation):
    network = build_mlp([[[1.0]], [[1.0]]], [None, [1.0]])  # relu(x) + 1 is never below 1
    program, embedding = box_problem(network, np.array([1.0]), 0.0, limit=0.5)
    result = dcembed.solve(program, embedding, options=quiet(formulation=formulation))
    assert result.status is Status.LOCALLY_INFEASIBLE
    assert not result.is_feasible
    assert result.violation == pytest.approx(0.5, abs=1e-6)


def test_a_linear_network_is_solved_at_once():
    network = build_mlp([[[2.0, -1.0]]], [[0.5]])
    program, embedding = box_problem(network, np.array([0.0, 0.0]), 1.0)
    result = dcembed.solve(program, embedding, options=quiet())
    assert result.objective == pytest.approx(-5.5)


def test_a_program_without_embeddings_is_just_solved():
    result = dcembed.solve(Program(cost=[1.0, 1.0], rows=[[1.0, 2.0]], row_lb=2.0, lb=0.0), [], options=quiet())
    assert result.status is Status.LOCALLY_SOLVED
    assert result.objective == pytest.approx(1.0)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_an_output_in_the_quadratic_objective_stays_and_is_tied(formulation):
    # minimize (y - 0.3)^2 + small cost on x with y = f(x): the prediction is driven to 0.3.
    network = random_mlp(5, (2, 8, 1))
    quadratic = np.diag([0.0, 0.0, 2.0])
    program = Program(cost=[1e-3, 1e-3, -0.6], quadratic=quadratic, offset=0.09, lb=[-2, -2, -np.inf], ub=[2, 2, np.inf])
    embedding = Embedding(network, [0, 1], [2])
    result = dcembed.solve(program, embedding, options=quiet(formulation=formulation))
    assert result.is_feasible
    assert result.x[2] == pytest.approx(network(result.x[:2])[0], abs=TOL)
    assert_honest(result, program, embedding)


def test_networks_in_a_chain_are_tied_through_their_common_column():
    one, two = random_mlp(1, (1, 6, 1)), random_mlp(2, (1, 6, 1))
    program = Program(cost=[0.1, 0.0, 1.0], lb=[-1, -np.inf, -np.inf], ub=[1, np.inf, np.inf])
    embeddings = [Embedding(one, [0], [1]), Embedding(two, [1], [2])]
    result = dcembed.solve(program, embeddings, options=quiet())
    grid = np.linspace(-1, 1, 2001)[:, None]
    assert result.is_feasible
    assert result.x[2] == pytest.approx(two(one(result.x[:1])[None])[0, 0], abs=1e-4)
    assert result.objective >= (0.1 * grid + two(one(grid))).min() - 1e-2


def test_an_integer_output_takes_an_integer_value_of_the_network():
    # f(x) = relu(x) on [0, 3.5], y = f(x) integer, minimize -y: the answer is 3.
    network = build_mlp([[[1.0]], [[1.0]]], [None, None])
    program = Program(cost=[0.0, -1.0], lb=[0.0, 0.0], ub=[3.5, 10.0], integer=[1])
    result = dcembed.solve(program, Embedding(network, [0], [1]), options=quiet())
    assert result.is_feasible
    assert result.objective == pytest.approx(-3.0)


def test_an_indicator_of_the_host_without_networks_is_kept():
    network = random_mlp(0, (1, 4, 1))
    on = Indicator(1, 1, [1.0, 0.0, 0.0], ub=-0.5)
    program = Program(cost=[0.0, -2.0, 1.0], lb=[-1, 0, -np.inf], ub=[1, 1, np.inf], integer=[1], indicators=[on])
    result = dcembed.solve(program, Embedding(network, [0], [2]), options=quiet())
    assert result.is_feasible
    assert result.x[1] == 1.0
    assert result.x[0] <= -0.5 + TOL


def test_the_same_seed_gives_the_same_trace():
    program, embedding = binary_problem(2)
    runs = [dcembed.solve(program, embedding, options=quiet(seed=3)) for _ in range(2)]
    traces = [[(r.objective, r.violation, r.penalty, r.step, r.solver_status) for r in run.history] for run in runs]
    assert traces[0] == traces[1]
    assert np.array_equal(runs[0].x, runs[1].x)
