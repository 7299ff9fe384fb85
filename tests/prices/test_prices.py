"""Prices are what one more unit of a limit brings, measured by solving again with a little more of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dcembed
from dcembed import ConeConstraint, Embedding, Indicator, Options, Program, QuadraticConstraint
from dcembed.errors import NoSolutionError

LOCAL = Options(search="local", objective_tol=1e-10, verbose=False)
STEP = 1e-3
NUM_INPUTS = 4
COLUMNS = ["a", "b", "c", "d", "f", "g"]
HAT = dcembed.build_mlp([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -1.0], None])


def random_problem(seed):
    """Two budgets and a limit on one prediction, and another prediction in the objective; a function of the limits."""
    rng = np.random.default_rng(seed)
    network = dcembed.build_mlp(
        [rng.normal(size=(8, NUM_INPUTS)), rng.normal(size=(2, 8))],
        [rng.normal(size=8), None],
        activation=["relu", "tanh", "softplus"][seed % 3],
    )
    rows = np.zeros((3, 6))
    rows[:2, :NUM_INPUTS] = rng.uniform(size=(2, NUM_INPUTS))
    rows[2, NUM_INPUTS] = 1.0
    cost = np.concatenate([rng.normal(size=NUM_INPUTS) * 0.5, [0.0, 1.0]])

    def build(limits, ub=2.0):
        lb, upper = np.full(6, -np.inf), np.full(6, np.inf)
        lb[:NUM_INPUTS], upper[:NUM_INPUTS] = -2.0, ub
        names = {"column_names": COLUMNS, "row_names": ["first", "second", "prediction"]}
        return Program(cost=cost, rows=rows, row_ub=limits, lb=lb, ub=upper, maximize=bool(seed % 2), **names)

    return build, Embedding(network, inputs=[0, 1, 2, 3], outputs=[4, 5])


def rates(build, embedding, result, change):
    """How the objective changes with a limit that is a little larger, and a little smaller."""
    found = []
    for step in (STEP, -STEP):
        again = dcembed.solve(build(change(step)), embedding, start=result.x, options=LOCAL)
        found.append((again.objective - result.objective) / step)
    return sorted(found)


@pytest.mark.parametrize("seed", range(12))
def test_a_price_is_what_one_more_unit_adds(seed):
    build, embedding = random_problem(seed)
    limits = np.array([2.0, 1.5, 0.3])
    result = dcembed.solve(build(limits), embedding, options=LOCAL)
    prices = result.prices
    assert prices.unexplained < 0.01
    for number, price in enumerate(prices.rows):
        low, high = rates(build, embedding, result, lambda step, number=number: limits + step * np.eye(3)[number])
        assert low - 0.01 <= price <= high + 0.01


def test_some_of_these_prices_are_not_zero_and_one_is_at_a_kink():
    found = []
    for seed in range(12):
        build, embedding = random_problem(seed)
        result = dcembed.solve(build([2.0, 1.5, 0.3]), embedding, options=LOCAL)
        units = embedding.network.stages[0].weights[0] @ result.x[:NUM_INPUTS] + embedding.network.stages[0].bias
        found.append((np.count_nonzero(result.prices.rows), embedding.network.is_piecewise_linear and np.abs(units).min() < 1e-7))
    assert sum(number for number, _ in found) >= 10
    assert any(is_kink for _, is_kink in found)


def hat_program(**changes):
    fields = {"cost": [-0.25, 1.0], "lb": [0.0, -9.0], "ub": [3.0, 9.0], "maximize": True, "column_names": ["x", "y"]}
    return Program(**{**fields, **changes})


def price_of(program, name, embedding=None):
    result = dcembed.solve(program, embedding or Embedding(HAT, [0], [1]), options=Options(search="converge", verbose=False))
    assert result.is_feasible
    return result.prices.by_name[name]


def test_every_kind_of_constraint_has_its_price():
    # x = 0.6 is held from 1, where the hat is highest: a little more x brings 1 - 0.25 for each unit.
    assert price_of(hat_program(rows=[[1.0, 0.0]], row_ub=0.6, row_names=["budget"]), "budget") == pytest.approx(0.75)
    assert price_of(hat_program(ub=[0.6, 9.0]), "bounds of x") == pytest.approx(0.75)
    quadratic = QuadraticConstraint([[2.0, 0.0], [0.0, 0.0]], ub=0.36, name="disc")
    assert price_of(hat_program(quadratic_constraints=[quadratic]), "disc") == pytest.approx(0.75 / 1.2, rel=1e-3)
    cone = ConeConstraint([[0.0, 0.0], [1.0, 0.0]], [0.6, 0.0], names=["ball"])
    assert price_of(hat_program(cones=[cone]), "ball") == pytest.approx(0.75, rel=1e-3)
    # The prediction itself is limited: with x + 0.4 in place of x nothing changes but the shift.
    assert price_of(hat_program(ub=[3.0, 0.5]), "bounds of y") == pytest.approx(0.75)


def test_indicators_count_while_they_are_on():
    def build(is_on):
        limit = Indicator(2, 1, [1.0, 0.0, 0.0], ub=0.6, name="limit")
        fields = {"cost": [-0.25, 1.0, 0.0], "lb": [0.0, -9.0, is_on], "ub": [3.0, 9.0, is_on], "integer": [2]}
        return Program(**fields, indicators=[limit], maximize=True)

    assert price_of(build(1.0), "limit") == pytest.approx(0.75)
    assert price_of(build(0.0), "limit") == 0.0


def test_a_minimization_pays_for_what_it_must_deliver():
    # minimize 2 x with hat(x) >= 0.5, which x = 0.5 does.
    program = Program(cost=[2.0, 0.0], lb=[0.0, 0.5], ub=[3.0, 9.0], column_names=["x", "y"])
    assert price_of(program, "bounds of y") == pytest.approx(2.0)
    assert price_of(program, "prediction y") == pytest.approx(-2.0)


def test_integers_are_held():
    # With b at 1 the budget is 0.6; another b would be another price, which is not told.
    program = Program(
        cost=[-0.25, 1.0, -0.1],
        rows=[[1.0, 0.0, -0.5]],
        row_ub=0.1,
        row_names=["budget"],
        lb=[0.0, -9.0, 0.0],
        ub=[3.0, 9.0, 1.0],
        integer=[2],
        maximize=True,
        column_names=["x", "y", "b"],
    )
    result = dcembed.solve(program, Embedding(HAT, [0], [1]), options=Options(search="converge", verbose=False))
    assert result.x[2] == 1.0
    assert result.prices.by_name["budget"] == pytest.approx(0.75)
    assert result.prices.by_name["bounds of b"] == 0.0


def test_a_point_that_is_no_solution_is_told_from_one():
    program = hat_program(rows=[[1.0, 0.0]], row_ub=0.6, row_names=["budget"])
    embedding = Embedding(HAT, [0], [1])
    result = dcembed.solve(program, embedding, options=Options(search="converge", verbose=False))
    assert result.prices.unexplained == pytest.approx(0.0, abs=1e-6)
    halfway = replace(result, x=np.array([0.3, 0.3]))
    assert halfway.prices.unexplained == pytest.approx(1.0)
    assert halfway.prices.by_name["budget"] == 0.0


def test_chained_networks_and_scenarios():
    # y = hat(x), z = hat(y); maximize z with x <= 0.6: both slopes are 1.
    program = Program(cost=[0.0, 0.0, 1.0], lb=[0.0, -9.0, -9.0], ub=[0.6, 9.0, 9.0], maximize=True, column_names=["x", "y", "z"])
    assert price_of(program, "bounds of x", [Embedding(HAT, [0], [1]), Embedding(HAT, [1], [2])]) == pytest.approx(1.0)
    # The mean of the hat over shifts of x: the slope is 1 in three of four scenarios and -1 in the last.
    shifts = np.array([[0.0], [0.1], [0.2], [0.9]])
    inputs = dcembed.AffineInputs(np.eye(1, 5), shifts)
    mean = Program(cost=[0.0, *[0.25] * 4], lb=[0.0, *[-9.0] * 4], ub=[0.5, *[9.0] * 4], maximize=True)
    assert price_of(mean, "bounds of x0", Embedding(HAT, inputs, [[1], [2], [3], [4]])) == pytest.approx(0.5)


def test_prices_as_a_frame_and_as_text():
    result = dcembed.solve(
        hat_program(rows=[[1.0, 0.0]], row_ub=0.6, row_names=["budget"]), Embedding(HAT, [0], [1]), options={"verbose": False}
    )
    frame = result.prices.to_frame()
    assert frame.loc["budget"].tolist() == [pytest.approx(0.75), "row"]
    assert (frame["price"] != 0.0).all()
    assert frame["price"].abs().is_monotonic_decreasing
    lines = str(result.prices).splitlines()
    assert lines[-1] == "0.00% of the slope of the objective is not explained by these."
    assert any(line.split() == ["budget", "0.75"] for line in lines)
    # Computed once.
    assert result.prices is result.prices


def test_without_a_feasible_point_there_are_no_prices():
    result = dcembed.solve(hat_program(lb=[0.0, 5.0]), Embedding(HAT, [0], [1]), options={"verbose": False, "max_starts": 1})
    with pytest.raises(NoSolutionError, match="prices: they are those of a feasible point, and the run has found none"):
        _ = result.prices


def test_prices_survive_saving(tmp_path):
    program = hat_program(rows=[[1.0, 0.0]], row_ub=0.6, row_names=["budget"])
    result = dcembed.solve(program, Embedding(HAT, [0], [1]), options={"verbose": False})
    result.save(tmp_path / "run.npz")
    assert dcembed.load_result(tmp_path / "run.npz").prices.by_name == pytest.approx(result.prices.by_name)
