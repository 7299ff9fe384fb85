"""Objective and violation of a point, measured from the program and the networks alone."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed import ConeConstraint, Embedding, Indicator, Program, QuadraticConstraint, build_mlp, verify
from dcembed.embedded.verify import predict
from dcembed.errors import InputError

HINGE = build_mlp([[[1.0]], [[1.0]]], [None, None])
DOUBLE = build_mlp([[[2.0]]], [None])

# Columns x, y, binary b and the prediction p = max(x, 0).
PROGRAM = Program(
    cost=[1.0, 2.0, 0.0, -1.0],
    offset=10.0,
    rows=[[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]],
    row_lb=[-1.0, -np.inf],
    row_ub=[3.0, 4.0],
    lb=[-5.0, -5.0, 0.0, -np.inf],
    ub=[5.0, 5.0, 1.0, np.inf],
    integer=[2],
    indicators=[Indicator(2, 1, [0.0, 1.0, 0.0, 0.0], lb=0.0), Indicator(2, 0, [0.0, 1.0, 0.0, 1.0], ub=2.0)],
)
EMBEDDINGS = [Embedding(HINGE, [0], [3])]
GOOD = np.array([1.0, 0.5, 0.0, 1.0])


def measured(**changes):
    w = GOOD.copy()
    for name, value in changes.items():
        w["xybp".index(name)] = value
    return verify(PROGRAM, EMBEDDINGS, w)


def test_a_feasible_point_violates_nothing():
    result = measured()
    assert result.violation == 0.0
    assert result.objective == 10.0 + 1.0 + 1.0 - 1.0


@pytest.mark.parametrize(
    ("changes", "kind", "amount"),
    [
        ({"y": 2.25, "b": 1.0}, "rows", 0.25),
        ({"x": -1.0, "p": 0.0, "y": -0.5}, "rows", 0.5),
        ({"y": -5.5}, "bounds", 0.5),
        ({"b": 1.25}, "bounds", 0.25),
        ({"b": 0.25}, "integrality", 0.25),
        ({"b": 1.0, "y": -0.5}, "indicators", 0.5),
        ({"y": 1.75}, "indicators", 0.75),
        ({"p": 1.5}, "predictions", 0.5),
        ({"p": 0.25}, "predictions", 0.75),
        ({"x": -1.0}, "predictions", 1.0),
    ],
)
def test_each_kind_of_violation_is_measured(changes, kind, amount):
    result = measured(**changes)
    assert getattr(result, kind) == amount
    assert result.violation >= amount


def test_an_indicator_that_is_off_is_not_measured():
    assert measured(y=-0.5).indicators == 0.0
    assert measured(b=1.0, y=1.75).indicators == 0.0


def test_the_violation_is_the_largest_of_all_kinds():
    result = measured(x=-1.0, y=-3.0, b=0.25)
    kinds = (result.rows, result.bounds, result.integrality, result.indicators, result.predictions)
    assert kinds == (3.0, 0.0, 0.25, 0.0, 1.0)
    assert result.violation == 3.0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", "xybp")
def test_what_is_not_a_number_is_infinitely_wrong(name, bad):
    assert measured(**{name: bad}).violation == np.inf


def test_a_nan_in_a_free_column_is_noticed():
    assert verify(Program(cost=[0.0, 0.0]), [], np.array([0.0, np.nan])).violation == np.inf


def test_every_evaluation_of_a_batch_is_measured():
    program = Program(cost=np.zeros(4))
    embedding = Embedding(HINGE, [0, 1], [2, 3])
    assert verify(program, [embedding], np.array([1.0, 2.0, 1.0, 5.0])).predictions == 3.0
    assert verify(program, [embedding], np.array([1.0, 2.0, 1.25, 2.0])).predictions == 0.25


def test_a_quadratic_objective_is_measured():
    program = Program(cost=[1.0, 0.0], quadratic=[[2.0, 0.0], [0.0, 4.0]], offset=1.0)
    assert verify(program, [], np.array([3.0, 1.0])).objective == 1.0 + 3.0 + 9.0 + 2.0


def test_the_point_may_be_a_list():
    assert dcembed.verify(PROGRAM, EMBEDDINGS, GOOD.tolist()).violation == 0.0


@pytest.mark.parametrize("w", [np.zeros(3), np.zeros((1, 4))])
def test_a_point_of_the_wrong_shape_is_refused_word_by_word(w):
    with pytest.raises(InputError) as caught:
        verify(PROGRAM, EMBEDDINGS, w)
    assert str(caught.value) == f"verify: the point has shape {w.shape} but the program has 4 columns: expected (4,)."


def test_without_rows_integers_or_networks_only_bounds_count():
    assert verify(Program(cost=[1.0], ub=2.0), [], np.array([5.0])).violation == 3.0


def test_predict_sets_the_outputs_and_nothing_else():
    w = predict(EMBEDDINGS, np.array([2.0, 7.0, 0.0, 99.0]))
    assert w.tolist() == [2.0, 7.0, 0.0, 2.0]


def test_predict_leaves_its_argument_alone():
    w = np.array([2.0, 7.0, 0.0, 99.0])
    predict(EMBEDDINGS, w)
    assert w[3] == 99.0


def test_predict_follows_networks_that_feed_each_other():
    chain = [Embedding(HINGE, [0], [1]), Embedding(DOUBLE, [1], [2])]
    w = predict(chain, np.array([3.0, 0.0, 0.0]))
    assert w.tolist() == [3.0, 3.0, 6.0]
    assert verify(Program(cost=np.zeros(3)), chain, w).violation == 0.0


NAMED = Program(
    cost=[1.0, 1.0, 0.0],
    rows=[[1.0, 1.0, 0.0]],
    row_ub=1.0,
    lb=0.0,
    ub=[5.0, 1.0, np.inf],
    integer=[1],
    indicators=[Indicator(1, 1, [1.0, 0.0, 0.0], ub=0.0, name="off")],
    quadratic_constraints=[QuadraticConstraint(np.diag([2.0, 0.0, 0.0]), ub=9.0, name="disc")],
    cones=[ConeConstraint([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [6.0, 0.0], names=["ball"])],
    column_names=["load", "switch", "yield"],
    row_names=["capacity"],
)
YIELD = [Embedding(HINGE, [0], [2])]


@pytest.mark.parametrize(
    ("w", "worst"),
    [
        ([0.5, 0.0, 0.5], []),
        ([1.5, 0.0, 1.5], [("row 'capacity'", 0.5)]),
        ([0.5, 0.0, 0.75], [("prediction in column 'yield'", 0.25)]),
        ([0.0, 0.25, 0.0], [("integrality of column 'switch'", 0.25)]),
        ([-0.5, 0.0, 0.0], [("bounds of column 'load'", 0.5)]),
        ([3.5, 0.0, 3.5], [("quadratic constraint 'disc'", 3.25), ("row 'capacity'", 2.5)]),
        # Of four that do not hold the worst three are named.
        ([3.5, 1.0, 3.5], [("indicator 'off'", 3.5), ("row 'capacity'", 3.5), ("quadratic constraint 'disc'", 3.25)]),
        ([7.0, 0.0, 7.0], [("quadratic constraint 'disc'", 40.0), ("row 'capacity'", 6.0), ("bounds of column 'load'", 2.0)]),
    ],
)
def test_the_worst_violations_are_named_worst_first(w, worst):
    found = verify(NAMED, YIELD, np.array(w)).worst
    assert sorted((v.constraint, v.amount) for v in found) == sorted(worst)
    assert [v.amount for v in found] == sorted((v.amount for v in found), reverse=True)


def test_without_names_the_worst_violations_are_numbered():
    program = Program(cost=[0.0, 0.0], rows=[[1.0, 0.0], [0.0, 1.0]], row_ub=1.0, cones=[ConeConstraint([[0.0, 0.0], [1.0, 0.0]])])
    found = verify(program, [], np.array([1.5, 3.0])).worst
    assert [str(v) for v in found] == ["row 1: 2", "cone 0: 1.5", "row 0: 0.5"]
