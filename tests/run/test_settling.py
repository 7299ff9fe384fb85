"""What a point owes to the feasibility tolerance is given back before it counts."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed import Embedding, Program, build_mlp
from dcembed.baselines import BASELINES
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.point import measure_point, move_point
from dcembed.embedded.verify import verify
from dcembed.run.arguments import read_arguments
from dcembed.run.journal import open_journal
from dcembed.run.settling import settle
from problems import EVERY_BASELINE, quiet, random_mlp

# As loose as it may be, so that what is owed to it shows.
TOL = 1e-4
# f_1 = |x - 1/4| + 1/2 and f_2 = 1 - x / 2: the larger of them is least at x = 1/2, with the value 3/4.
NETWORK = build_mlp([[[1.0], [-1.0], [1.0]], [[1.0, 1.0, 0.0], [0.0, 0.0, -0.5]]], [[-0.25, 0.25, 1.0], [0.5, 1.5]])
OPTIMUM = 0.75


def margin(sign: float = 1.0, **more) -> tuple[Program, Embedding]:
    """min t with t >= f_1(x), t >= f_2(x), or the same upside down: max -t."""
    network = (
        NETWORK
        if sign > 0
        else build_mlp([NETWORK.stages[0].weights[0], -NETWORK.output.weights[1]], [NETWORK.stages[0].bias, -NETWORK.output.bias])
    )
    rows = np.array([[0.0, -1.0, 0.0, 1.0], [0.0, 0.0, -1.0, 1.0]])
    sides = {"row_lb": 0.0} if sign > 0 else {"row_ub": 0.0}
    program = Program(cost=[0, 0, 0, 1], rows=rows, **sides, lb=[-1, *[-np.inf] * 3], ub=[1, *[np.inf] * 3], maximize=sign < 0, **more)
    return program, Embedding(network, [0], [1, 2])


def measured(program, embedding, w):
    embedded = eliminate(program, [embedding])
    return embedded, measure_point(embedded, np.asarray(w, dtype=float))


def test_an_epigraph_column_is_lifted_onto_its_rows():
    embedded, point = measured(*margin(), [0.5, OPTIMUM - 0.9 * TOL])
    assert 0 < point.violation < TOL
    settled = settle(embedded, point)
    assert settled.violation <= 1e-15
    assert settled.objective == pytest.approx(OPTIMUM, abs=1e-15)


def test_nothing_is_predicted_again_while_the_inputs_stay(monkeypatch):
    embedded, point = measured(*margin(), [0.5, OPTIMUM - 0.9 * TOL])
    monkeypatch.setattr(type(embedded), "predict", None)
    assert settle(embedded, point).violation <= 1e-15


def test_a_moved_point_is_measured_like_any_other():
    embedded, point = measured(*margin(), [0.3, 0.0])
    w = np.array([0.3, 2.0])
    moved, again = move_point(embedded, point, w), measure_point(embedded, w)
    assert np.array_equal(moved.x, again.x)
    assert (moved.objective, moved.violation) == (again.objective, again.violation)
    assert np.array_equal(moved.excess, again.excess)


def test_a_point_that_owes_nothing_stays():
    embedded, point = measured(*margin(), [0.5, OPTIMUM])
    assert settle(embedded, point) is point


def test_an_input_outside_its_bounds_goes_back_and_the_rest_follows():
    embedded, point = measured(*margin(), [1.0 + 0.5 * TOL, 1.25])
    settled = settle(embedded, point)
    assert settled.w[0] == 1.0
    assert settled.violation <= 1e-15


def test_columns_behind_an_epigraph_column_follow_it():
    # s >= t + 1 is a row of the host; s has the cost.
    network = random_mlp(2, (1, 6, 1))
    program = Program(cost=[0, 0, 0, 1], rows=[[0, -1, 1, 0], [0, 0, -1, 1]], row_lb=[0, 1], lb=[-1, *[-np.inf] * 3], ub=[1, *[np.inf] * 3])
    true = float(network(np.array([0.3]))[0])
    embedded, point = measured(program, Embedding(network, [0], [1]), [0.3, true - 0.5 * TOL, true + 1 - 0.8 * TOL])
    settled = settle(embedded, point)
    assert settled.violation <= 1e-15
    assert settled.objective == pytest.approx(true + 1, abs=1e-14)


def test_a_linked_output_is_put_at_its_prediction():
    network = random_mlp(2, (1, 6, 1))
    program = Program(cost=[0, 1], quadratic=np.diag([0.0, 1.0]), lb=[-1, -10], ub=[1, 10])
    true = float(network(np.array([0.3]))[0])
    embedded, point = measured(program, Embedding(network, [0], [1]), [0.3, true - 0.5 * TOL])
    settled = settle(embedded, point)
    assert settled.w[1] == true
    assert settled.violation <= 1e-15


def test_an_input_of_a_prediction_that_nothing_uses_is_not_moved():
    # t is the input of a second network whose output is in no row.
    program, embedding = margin()
    wider = Program(
        cost=[*program.cost, 0.0],
        rows=np.hstack([program.rows.toarray(), np.zeros((2, 1))]),
        row_lb=0.0,
        lb=[*program.lb, -np.inf],
        ub=[*program.ub, np.inf],
    )
    embedded = eliminate(wider, [embedding, Embedding(random_mlp(1, (1, 4, 1)), [3], [4])])
    point = measure_point(embedded, np.array([0.5, OPTIMUM - 0.9 * TOL]))
    settled = settle(embedded, point)
    assert verify(wider, embedded.embeddings, settled.x).predictions == 0.0


def test_a_prediction_that_feeds_another_network_stays_one():
    # y = f(x) lies a little above its bound and is the input of a second network, whose output t has to stay above.
    first, second = build_mlp([[[1.0]], [[1.0]]], [None, [0.05 * TOL]]), random_mlp(1, (1, 4, 1))
    program = Program(cost=[0, 0, 0, 1], rows=[[0, 0, -1, 1]], row_lb=0.0, lb=[0, -5, *[-np.inf] * 2], ub=[1, 1, *[np.inf] * 2])
    embedded = eliminate(program, [Embedding(first, [0], [1]), Embedding(second, [1], [2])])
    true = float(second(np.array([1.0 + 0.05 * TOL]))[0])
    point = measure_point(embedded, np.array([1.0, 1.0 + 0.05 * TOL, true - 0.9 * TOL]))
    settled = settle(embedded, point)
    assert settled is not point
    assert dcembed.verify(program, embedded.embeddings, settled.x).predictions <= TOL
    assert np.array_equal(settled.neural, measure_point(embedded, settled.w).neural)


def test_integers_are_held_and_a_point_that_cannot_be_settled_is_kept():
    # t is an integer: there is nothing to move, and the point is feasible as it is.
    program, embedding = margin(integer=[False, False, False, True])
    embedded, point = measured(program, embedding, [0.5 + 0.1 * TOL, 1.0])
    assert settle(embedded, point) is point
    low = build_mlp([[[1.0]], [[1.0]]], [[0.0], [0.5 * TOL]])
    program = Program(cost=[0, 0, 1], rows=[[0, -1, 1]], row_lb=0, lb=[0, -np.inf, -5], ub=[1, np.inf, 5], integer=[False, False, True])
    embedded, point = measured(program, Embedding(low, [0], [1]), [0.0, 0.0])
    assert 0 < point.violation <= TOL
    assert settle(embedded, point) is point


def test_the_journal_keeps_a_feasible_point_and_counts_it_settled():
    program, embedding = margin()
    with open_journal(read_arguments(program, embedding, None, quiet(feasibility_tol=TOL))) as journal:
        journal.offer(measure_point(journal.embedded, np.array([0.5, OPTIMUM - 0.9 * TOL])))
        assert journal.incumbent.trace[-1][1] == pytest.approx(OPTIMUM, abs=1e-15)
        # It promises more than it holds: once it is settled, the point before is the better one.
        journal.offer(measure_point(journal.embedded, np.array([0.5 - 0.1 * TOL, OPTIMUM - 0.9 * TOL])))
        assert len(journal.incumbent.trace) == 1


# These take no neural rows, or not in both senses.
OTHERS = ("awasthi", "relax-and-walk", "attack")


@EVERY_BASELINE
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_no_baseline_profits_from_the_tolerance(method, sign):
    if method in OTHERS:
        pytest.skip("it does not take this problem")
    check_profit(BASELINES[method], sign)


@pytest.mark.parametrize("tangents", [True, False])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_engine_does_not_profit_from_the_tolerance(sign, tangents):
    check_profit(dcembed.solve, sign, tangents=tangents)


def check_profit(solve, sign, **more):
    program, embedding = margin(sign)
    result = solve(program, embedding, options=quiet(feasibility_tol=TOL, time_limit=np.inf, max_iterations=30, **more))
    assert result.is_feasible
    for (_, objective), x in zip(result.incumbents, result.incumbent_points, strict=True):
        assert sign * objective >= OPTIMUM - 1e-9
        assert verify(program, [embedding], x).objective == objective
    assert sign * result.objective >= OPTIMUM - 1e-9
    assert result.objective == result.incumbents[-1][1]


@pytest.mark.parametrize("seed", range(4))
def test_margins_of_random_networks_are_those_of_their_inputs(seed):
    network = random_mlp(seed, (2, 8, 6, 3))
    # Columns x1, x2, f_1..f_3, t: the least over x of the largest f_k - f_1.
    rows = np.array([[0, 0, 1, -1, 0, 1], [0, 0, 1, 0, -1, 1]], dtype=float)
    program = Program(cost=[0, 0, 0, 0, 0, 1], rows=rows, row_lb=0.0, lb=[-1, -1, *[-np.inf] * 4], ub=[1, 1, *[np.inf] * 4])
    result = dcembed.solve(program, Embedding(network, [0, 1], [2, 3, 4]), options=quiet(feasibility_tol=TOL, max_starts=2))
    outputs = network(result.x[:2])
    assert result.objective == pytest.approx(max(outputs[1:] - outputs[0]), abs=1e-9)
    assert result.violation <= 1e-9
