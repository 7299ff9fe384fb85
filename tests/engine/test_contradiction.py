"""A host that has no point: its rows are named, and what the networks rule out is not blamed on it."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed import AffineInputs, Embedding, Indicator, Program, Status
from problems import quiet

HAT = dcembed.build_mlp([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -1.0], None])
# 2 at no load, 1 at a load of 1, and more from there on.
COST = dcembed.build_mlp([[[1.0], [-1.0]], [[1.0, 1.0]]], [[-1.0, 1.0], [1.0]])


def test_rows_that_contradict_one_another_are_named():
    program = Program(
        cost=[0.0, 1.0],
        rows=[[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]],
        row_lb=[2.0, -np.inf, -np.inf],
        row_ub=[np.inf, 1.0, 3.0],
        row_names=["demand", "capacity", "harmless"],
        lb=[0.0, -9.0],
        ub=[3.0, 9.0],
    )
    result = dcembed.solve(program, Embedding(HAT, [0], [1]), options=quiet())
    assert result.status is Status.HOST_INFEASIBLE
    assert result.worst_violations[0].constraint in ("row 'demand'", "row 'capacity'")
    assert result.violation == pytest.approx(1.0, abs=1e-6)
    assert "Violated    row '" in result.summary()
    assert result.help.endswith("The point that is nearest to feasible is in result.x.")


def capped(cap):
    """A unit that has to run, by its cost while it does so, which is at least 1."""
    return Program(
        cost=[0.0, 0.0, 1.0, 0.0],
        rows=[[1.0, -4.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]],
        row_lb=[-np.inf, 1.0, -np.inf],
        row_ub=[0.0, np.inf, cap],
        lb=[0.0, 0.0, 0.0, -np.inf],
        ub=[4.0, 1.0, np.inf, np.inf],
        integer=[1],
        indicators=[Indicator(1, 1, [0.0, 0.0, 1.0, -1.0], lb=0.0, name="pays")],
        row_names=["on", "demand", "cap"],
    )


def test_what_the_networks_rule_out_is_not_blamed_on_the_host():
    embedding = Embedding(COST, [0], [3])
    assert dcembed.solve(capped(1.5), embedding, options=quiet()).is_feasible
    result = dcembed.solve(capped(0.5), embedding, options=quiet())
    assert result.status is Status.LOCALLY_INFEASIBLE
    assert result.reason.endswith("without the networks it has one")
    assert result.worst_violations[0].constraint == "indicator 'pays'"
    assert dcembed.solve(capped(0.5), embedding, options=quiet(prove="auto")).status is Status.INFEASIBLE


def test_scenarios_that_share_their_decisions_have_a_nearest_point_too():
    inputs = AffineInputs(np.eye(1, 5), np.array([[0.0], [0.1], [0.2], [0.9]]))
    program = Program(
        cost=[0.0, *[0.25] * 4],
        rows=[[1.0, 0, 0, 0, 0], [1.0, 0, 0, 0, 0]],
        row_lb=[2.0, -np.inf],
        row_ub=[np.inf, 1.0],
        lb=[0.0, *[-9.0] * 4],
        ub=[3.0, *[9.0] * 4],
    )
    result = dcembed.solve(program, Embedding(HAT, inputs, [[1], [2], [3], [4]]), options=quiet())
    assert result.status is Status.HOST_INFEASIBLE
    assert result.worst_violations[0].constraint in ("row 0", "row 1")


def test_indicators_whose_columns_only_rows_bound_leave_the_status_as_it_is():
    program = Program(
        cost=[0.0, 1.0, 0.0, 0.0],
        rows=[[1.0, 0, 0, 0], [1.0, 0, 0, 0], [0, 0, 1.0, 0]],
        row_lb=[2.0, -np.inf, -5.0],
        row_ub=[np.inf, 1.0, 5.0],
        lb=[0.0, -9.0, -np.inf, 0.0],
        ub=[3.0, 9.0, np.inf, 1.0],
        integer=[3],
        indicators=[Indicator(3, 1, [0.0, 0.0, 1.0, 0.0], ub=1.0)],
    )
    result = dcembed.solve(program, Embedding(HAT, [0], [1]), options=quiet(solver="highs"))
    assert result.status is Status.HOST_INFEASIBLE
