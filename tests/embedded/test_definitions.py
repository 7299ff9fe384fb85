"""Columns that a row defines by predictions are substituted."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed import Embedding, Indicator, Program, build_mlp, verify
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.point import measure_point
from dcembed.embedded.verify import predict

RELU = build_mlp([[[1.0]], [[1.0]]], [None, None])


def defined(**changes) -> Program:
    """Columns x, f, s, z with 2 s - 4 f = 6, so s = 2 f + 3; minimize x + s; z = 1 => s >= 5; s <= 9."""
    fields = {
        "cost": [1.0, 0.0, 1.0, -10.0],
        "rows": [[0.0, -4.0, 2.0, 0.0], [1.0, 0.0, 1.0, 0.0]],
        "row_lb": [6.0, -np.inf],
        "row_ub": [6.0, 20.0],
        "lb": [-3.0, -np.inf, -np.inf, 0.0],
        "ub": [3.0, np.inf, 9.0, 1.0],
        "integer": [3],
        "indicators": [Indicator(3, 1, [0.0, 0.0, 1.0, 0.0], lb=5.0)],
    }
    return Program(**{**fields, **changes})


def test_the_column_and_its_row_disappear_and_its_uses_become_neural():
    embedded = eliminate(defined(), [Embedding(RELU, [0], [1])])
    assert embedded.kept.tolist() == [0, 3]
    assert embedded.host.num_rows == 0
    # x + s <= 20, s <= 9 and z = 1 => s >= 5, with s = 2 f + 3.
    assert sorted(embedded.restrictions.rhs.tolist()) == [-2.0, 6.0, 17.0]
    assert embedded.host.offset == 3.0


@pytest.mark.parametrize("x", [-2.0, 0.5, 3.0])
@pytest.mark.parametrize("z", [0.0, 1.0])
def test_points_measure_as_in_the_users_program(x, z):
    program, embedding = defined(), Embedding(RELU, [0], [1])
    point = measure_point(eliminate(program, [embedding]), np.array([x, z]))
    w = predict([embedding], np.array([x, 0.0, 2 * max(x, 0.0) + 3, z]))
    measured = verify(program, [embedding], w)
    assert np.allclose(point.x, w)
    assert point.objective == pytest.approx(measured.objective)
    assert point.violation == pytest.approx(measured.violation)


@pytest.mark.parametrize(
    "changes",
    [
        {"quadratic": np.diag([0.0, 0.0, 1.0, 0.0])},
        {"integer": [2, 3]},
        {"row_lb": [-np.inf, -np.inf]},
        {"rows": [[1.0, -4.0, 2.0, 0.0], [1.0, 0.0, 1.0, 0.0]]},
    ],
    ids=["in the quadratic", "integer", "no equality", "another column in the row"],
)
def test_a_column_that_cannot_be_substituted_stays(changes):
    embedded = eliminate(defined(**changes), [Embedding(RELU, [0], [1])])
    assert 2 in embedded.kept


def test_an_input_of_a_network_stays():
    chain = Program(cost=[1.0, 0.0, 0.0, 1.0], rows=[[0.0, -1.0, 1.0, 0.0]], row_lb=0.0, row_ub=0.0)
    embedded = eliminate(chain, [Embedding(RELU, [0], [1]), Embedding(RELU, [2], [3])])
    assert 2 in embedded.kept


def test_both_ways_of_writing_a_problem_give_the_same_answer():
    direct = Program(
        cost=[1.0, 2.0, -10.0],
        offset=3.0,
        rows=[[1.0, 2.0, 0.0]],
        row_ub=17.0,
        lb=[-3.0, -np.inf, 0.0],
        ub=[3.0, 3.0, 1.0],
        integer=[2],
        indicators=[Indicator(2, 1, [0.0, 1.0, 0.0], lb=1.0)],
    )
    options = dcembed.Options(verbose=False)
    one = dcembed.solve(direct, Embedding(RELU, [0], [1]), options=options)
    other = dcembed.solve(defined(), Embedding(RELU, [0], [1]), options=options)
    assert one.is_feasible
    assert other.is_feasible
    assert other.objective == pytest.approx(one.objective, abs=1e-6)
    assert other.x[2] == pytest.approx(2 * other.x[1] + 3)
