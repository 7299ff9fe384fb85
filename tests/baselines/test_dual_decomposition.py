"""Dual decomposition: what each block solves, what is left to the networks, and what the host takes over of their decisions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import dcembed
from dcembed import Embedding, Indicator, Program, Status, build_mlp
from dcembed.baselines import dual_decomposition
from dcembed.baselines.decision_repair import Repair
from dcembed.baselines.host_block import HostBlock, squares_class
from dcembed.baselines.network_block import NetworkBlock, Terms
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.point import measure_point
from dcembed.program.tightening import tighten
from dcembed.run.clock import Clock
from dcembed.run.space import Space
from dcembed.solvers import choose_backend
from dcembed.solvers.base import Limits, SessionOptions
from dcembed.solvers.failover import Solver
from problems import box_problem, level_problem, quiet, random_mlp

# What each of five samples lacks: it counts when x_i reaches it.
NEEDS = np.array([0.1, 0.2, 0.3, 0.4, 0.9])
SUM = build_mlp([[[1.0], [-1.0]], [[1.0, -1.0]]], [None, None])


def samples(budget: float = 0.65, in_rows: bool = False) -> tuple[Program, Embedding]:
    """Columns x (5), predictions s = x (5), decisions y (5): y_i = 1 => s_i >= need_i, sum x <= budget, maximize sum y.

    The best is to count the first ones as long as the budget lasts. With `in_rows` a row of the host has the decisions in it.
    """
    n, number = 15, np.arange(5)
    rows = [np.repeat([1.0, 0.0, 0.0], 5)] + ([np.repeat([0.0, 0.0, 1.0], 5)] if in_rows else [])
    program = Program(
        cost=np.repeat([0.0, 0.0, -1.0], 5),
        rows=np.array(rows),
        row_ub=np.array([budget] + ([2.0] if in_rows else [])),
        lb=np.repeat([0.0, -np.inf, 0.0], 5),
        ub=np.repeat([1.0, np.inf, 1.0], 5),
        integer=10 + number,
        indicators=[Indicator(10 + i, 1, np.eye(n)[5 + i], lb=NEEDS[i]) for i in number],
    )
    return program, Embedding(SUM, number[:, None], 5 + number)


def block_of(program: Program, embedding: Embedding, time_limit: float = np.inf) -> NetworkBlock:
    embedded = eliminate(program, [embedding])
    return NetworkBlock(Space(embedded, tighten(embedded.host)), 1e-6, Clock(time_limit))


def solver_of(block: NetworkBlock) -> Solver:
    return Solver(choose_backend(squares_class(block)), SessionOptions())


def test_decisions_are_left_to_the_networks_unless_the_host_has_them_in_rows():
    block = block_of(*samples())
    assert block.private.tolist() == [False] * 5 + [True] * 5
    assert block.shared.tolist() == [True] * 5 + [False] * 5
    tied = block_of(*samples(in_rows=True))
    assert not tied.private.any()
    assert tied.shared.all()


def test_a_network_counts_a_sample_where_that_costs_less_than_it_brings():
    block = block_of(*samples(budget=5.0))
    # A sample is worth 1 and pays a price for x and rho / 2 for its square.
    for price, penalty in ((2.0, 1.0), (0.0, 20.0), (0.5, 4.0)):
        x, prices = np.zeros(10), np.repeat([price, 0.0], 5)
        z = block.solve(x, Terms(x, prices, penalty))
        # Where nothing is counted x stays at zero: prices are positive.
        pays = price * NEEDS + penalty / 2 * NEEDS**2 < 1.0
        np.testing.assert_array_equal(z[5:], pays)
        np.testing.assert_allclose(z[:5], np.where(pays, NEEDS, 0.0), atol=1e-5)


def test_the_projection_is_the_nearest_point_inside_the_bounds():
    # Two columns and a plain row: 3 a + 4 b >= 2.5, nearest to (0, 0) at (0.3, 0.4); with b <= 0.25 at (0.5, 0.25).
    network = build_mlp([[[3.0, 4.0], [-3.0, -4.0]], [[1.0, -1.0]]], [None, None])
    for ub, expected in ((1.0, (0.3, 0.4)), (0.25, (0.5, 0.25))):
        program = Program(cost=[0.0] * 3, lb=[-1.0, ub - 2.0, 2.5], ub=[1.0, ub, np.inf])
        block = block_of(program, Embedding(network, [0, 1], [2]))
        z, fails = block._project(np.zeros(2))
        assert not fails.any()
        np.testing.assert_allclose(z, expected, atol=1e-5)


def test_networks_decide_nothing_when_the_time_is_over():
    block, x = block_of(*samples(), time_limit=0.0), np.zeros(10)
    np.testing.assert_array_equal(block.solve(x, Terms(x, np.zeros(10), 1.0)), 0.0)


def test_the_host_goes_to_the_nearest_point_that_its_rows_allow():
    block = block_of(*samples(budget=0.5))
    host = HostBlock(block, solver_of(block))
    z = np.concatenate([[0.1, 0.2, 0.3, 0.0, 0.0], np.ones(5)])
    x = host.solve(z, Terms(np.zeros(10), np.zeros(10), 10.0), Clock(np.inf))
    # 0.1 too much, spread over the columns that have something.
    np.testing.assert_allclose(x[:5], [0.1 - 0.1 / 3, 0.2 - 0.1 / 3, 0.3 - 0.1 / 3, 0.0, 0.0], atol=1e-6)
    np.testing.assert_array_equal(x[5:], 1.0)
    host.close()


@pytest.mark.parametrize("penalty", [0.5, 50.0])
def test_integers_of_the_host_are_chosen_by_their_prices(penalty):
    block = block_of(*samples(in_rows=True))
    host = HostBlock(block, solver_of(block))
    z, price = np.zeros(10), np.zeros(10)
    # The copies ask for nothing; a high price makes the host count the last two all the same.
    price[8:] = 100.0
    x = host.solve(z, Terms(np.zeros(10), price, penalty), Clock(np.inf))
    np.testing.assert_array_equal(x[5:], [0.0, 0.0, 0.0, 1.0, 1.0])
    host.close()


def test_the_host_takes_over_the_decisions_it_can_afford():
    program, embedding = samples(budget=0.65)
    block = block_of(program, embedding)
    repair = Repair(block, solver_of(block))
    assert repair.applies
    assert repair.num_groups == 5
    start = measure_point(block.embedded, np.zeros(10))
    decided = measure_point(block.embedded, np.concatenate([NEEDS + 1e-9, np.ones(5)]))
    w = repair.solve(start, decided, Limits())
    np.testing.assert_array_equal(w[5:], [1.0, 1.0, 1.0, 0.0, 0.0])
    assert measure_point(block.embedded, w).violation <= 1e-6


def test_decisions_whose_rows_fail_are_not_taken_over():
    block = block_of(*samples(budget=0.65))
    repair = Repair(block, solver_of(block))
    start = measure_point(block.embedded, np.zeros(10))
    short = measure_point(block.embedded, np.concatenate([NEEDS * [0.5, 1.0, 1.0, 1.0, 1.0] + 1e-9, np.ones(5)]))
    w = repair.solve(start, short, Limits())
    assert w[5] == 0.0
    assert w[5:].sum() == 2.0


def test_a_repair_weighs_predictions_in_the_objective():
    # Three evaluations that each lose or gain by what was decided: those that gain are taken.
    program = Program(cost=[0.0] * 3 + [1.0] * 3, rows=sp.csr_array([[1.0] * 3 + [0.0] * 3]), row_ub=1.5, lb=-1.0, ub=1.0)
    block = block_of(program, Embedding(SUM, [[0], [1], [2]], [3, 4, 5]))
    repair = Repair(block, solver_of(block))
    start, decided = (measure_point(block.embedded, np.array(w)) for w in ([0.0] * 3, [-0.5, 0.5, -0.25]))
    np.testing.assert_allclose(repair.solve(start, decided, Limits()), [-0.5, 0.0, -0.25])


@pytest.mark.parametrize(("budget", "count"), [(0.05, 0), (0.35, 2), (0.65, 3), (5.0, 5)])
def test_as_many_samples_are_counted_as_the_budget_allows(budget, count):
    program, embedding = samples(budget)
    result = dual_decomposition.solve(program, embedding, np.zeros(15), quiet(time_limit=np.inf, max_iterations=40))
    assert result.is_feasible
    assert dcembed.verify(program, [embedding], result.x).violation <= result.feasibility_tol
    assert result.objective == -count


def test_decisions_in_rows_of_the_host_are_agreed_upon():
    program, embedding = samples(in_rows=True)
    result = dual_decomposition.solve(program, embedding, np.zeros(15), quiet(time_limit=np.inf, max_iterations=40))
    assert result.is_feasible
    assert -2 <= result.objective <= -1


def test_blocks_agree_at_a_minimum_over_a_box():
    program, embedding = box_problem(random_mlp(0, (2, 8, 6, 1)), np.array([0.3, -0.2]), 1.0)
    result = dual_decomposition.solve(program, embedding, np.array([0.5, 0.5, 0.0]), quiet(time_limit=np.inf, max_iterations=60))
    exact = dcembed.solve(program, embedding, options=quiet())
    assert result.objective >= exact.objective - 1e-6
    assert result.objective < result.incumbents[0][1] - 0.1


def test_neural_rows_are_met():
    program, embedding = level_problem(2)
    result = dual_decomposition.solve(program, embedding, options=quiet(time_limit=np.inf, max_iterations=60))
    assert result.is_feasible
    assert result.status in (Status.LOCALLY_SOLVED, Status.ITERATION_LIMIT)


def test_the_first_penalty_is_that_of_the_options():
    program, embedding = samples()
    result = dual_decomposition.solve(program, embedding, np.zeros(15), quiet(initial_penalty=3.0, max_iterations=1, time_limit=np.inf))
    assert [record.penalty for record in result.history if record.number == 1] == pytest.approx([3.0, 0.3, 30.0, 0.03])
