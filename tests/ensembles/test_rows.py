"""Ensembles as rows and binaries: the same optimum, points that complete to exact ones, names that speak of the user's columns."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dcembed
from dcembed.embedded.lift import unlifted
from dcembed.ensembles.rows import lift_ensembles
from dcembed.network.ensemble import Ensemble
from random_networks import random_members, random_network

INF = np.inf
GRID = np.linspace(-1, 1, 401)
RUN = {"verbose": False, "max_starts": 6, "time_limit": 20.0}


def piecewise(seed: int, count: int, num_inputs: int = 1, num_outputs: int = 1) -> list[dcembed.Network]:
    rng = np.random.default_rng(seed)
    return [random_network(rng, num_inputs, [5], num_outputs) for _ in range(count)]


def host(cost: float, maximize: bool = False, **limits) -> dcembed.Program:
    """Column 0 is the input in [-1, 1], column 1 the prediction."""
    bounds = {"lb": [-1.0, -INF], "ub": [1.0, INF]} | limits
    return dcembed.Program(cost=[0.05, cost], maximize=maximize, column_names=["x", "risk"], **bounds)


CASES = {
    "max": ({"output": "max"}, False),
    "min": ({"output": "min"}, True),
    "at_most": ({"output": "agreement", "agree": 5}, False),
    "at_least": ({"output": "agreement", "agree": 5, "sense": ">="}, True),
}


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_optimum_is_that_of_the_network(name, seed):
    settings, maximize = CASES[name]
    ensemble = dcembed.ensemble(piecewise(seed, 6), **settings)
    program, embedding = host(1.0, maximize), dcembed.Embedding(ensemble, [0], [1])
    lift = lift_ensembles(unlifted(program, [embedding]))
    assert not any(isinstance(each.network, Ensemble) for each in lift.embeddings)
    values = 0.05 * GRID + ensemble(GRID[:, None])[:, 0]
    # The search is local: the best point of the grid is among its starts, and it must not promise more than is there.
    place = values.argmax() if maximize else values.argmin()
    start = lift.complete(np.array([GRID[place], 0.0]))
    result = dcembed.solve(lift.program, list(lift.embeddings), start=start, options=RUN)
    assert result.is_feasible
    checked = dcembed.verify(program, [embedding], lift.cut(lift.complete(lift.cut(result.x))))
    assert checked.violation < 1e-6
    assert abs(checked.objective - result.objective) < 1e-5
    behind = values.max() - checked.objective if maximize else checked.objective - values.min()
    # The grid may miss the optimum by a little, the search may not.
    assert -0.01 * (1 + np.ptp(values)) < behind <= 1e-6


@pytest.mark.parametrize("name", CASES)
def test_completed_points_are_feasible_and_have_the_value(name):
    settings, maximize = CASES[name]
    rng = np.random.default_rng(4)
    members = random_members(rng, 7, 2, 2)
    ensemble = dcembed.ensemble(members, **settings)
    # Two evaluations of two outputs, on inputs that are affine in three columns; the host also has another network.
    inputs = dcembed.AffineInputs(rng.standard_normal((4, 8)) * ([1, 1, 1] + [0] * 5), rng.standard_normal((2, 2)))
    outputs = np.array([[3, 4], [5, 6]])
    prices = [0.0] * 4 if settings["output"] == "agreement" else [1.0, 2.0, 3.0, 4.0]
    program = dcembed.Program(cost=[0, 0, 0, *prices, 1], lb=[-1] * 3 + [-INF] * 5, ub=[1] * 3 + [INF] * 5, maximize=maximize)
    line = dcembed.Embedding(dcembed.build_mlp([[[1.0, 1.0, 1.0]]], [None]), dcembed.AffineInputs(np.eye(3, 8)), [7])
    lift = lift_ensembles(unlifted(program, [line, dcembed.Embedding(ensemble, inputs, outputs)]))
    assert len(lift.embeddings) == 8
    for _ in range(5):
        given = np.r_[rng.uniform(-1, 1, 3), rng.standard_normal(4), 0.0]
        given[7] = given[:3].sum()
        point = lift.complete(given)
        assert point.size == lift.program.num_columns
        checked = dcembed.verify(lift.program, list(lift.embeddings), point)
        assert checked.violation < 1e-7, checked
        assert np.allclose(point[outputs], ensemble(lift.given[1][1].points(given)))
        # No smaller value of t is allowed beside these predictions: rows and binaries are tight.
        assert np.array_equal(lift.complete(point), point)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("max", {"maximize": True}),
        ("max", {"lb": [-1.0, 0.0]}),
        ("min", {"maximize": False}),
        ("at_most", {"maximize": True}),
        ("at_most", {"maximize": False}),
        ("at_least", {"maximize": False}),
        ("at_least", {"maximize": True}),
        ("at_most", {"cost": 0.0, "lb": [-1.0, 0.0]}),
        ("at_least", {"cost": 0.0, "ub": [1.0, 0.0]}),
    ],
)
def test_what_is_not_pressed_stays_a_network(name, bad):
    settings, maximize = CASES[name]
    embedding = dcembed.Embedding(dcembed.ensemble(piecewise(0, 6), **settings), [0], [1])
    before = unlifted(host(**({"cost": 1.0, "maximize": maximize} | bad)), [embedding])
    assert lift_ensembles(before) is before


@pytest.mark.parametrize("settings", [{"output": "mean"}, {"output": "mean_deviation"}, {"output": "max", "count": 1}])
def test_what_needs_no_rows_stays_a_network(settings):
    settings = dict(settings)
    members = piecewise(0, settings.pop("count", 4))
    before = unlifted(host(1.0), [dcembed.Embedding(dcembed.ensemble(members, **settings), [0], [1])])
    assert lift_ensembles(before) is before


def test_an_agreement_over_inputs_without_bounds_stays_a_network():
    embedding = dcembed.Embedding(dcembed.ensemble(piecewise(0, 4), output="agreement", agree=3), [0], [1])
    before = unlifted(host(0.0, lb=[-INF, -INF]), [embedding])
    assert lift_ensembles(before) is before
    worst = dcembed.Embedding(dcembed.ensemble(piecewise(0, 4), output="max"), [0], [1])
    assert lift_ensembles(unlifted(host(1.0, lb=[-INF, -INF]), [worst])).program.num_rows == 4


def test_one_output_that_is_not_pressed_keeps_all_of_them():
    ensemble = dcembed.ensemble(piecewise(0, 3, 1, 2), output="max")
    program = dcembed.Program(cost=[0, 1.0, -1.0], lb=[-1, -INF, -INF], ub=[1, INF, INF])
    before = unlifted(program, [dcembed.Embedding(ensemble, [0], [1, 2])])
    assert lift_ensembles(before) is before


@pytest.mark.parametrize("limit", [0.2, 0.5, 0.8])
def test_at_least_nine_of_ten_keep_a_limit(limit):
    """Against all points of a grid: the cheapest input at which nine of ten members are below the limit."""
    members = piecewise(7, 10)
    ensemble = dcembed.ensemble(members, output="agreement", agree=9)
    values = np.hstack([member(GRID[:, None]) for member in members])
    bound = float(np.quantile(ensemble(GRID[:, None]), limit))
    agrees = (values <= bound).sum(axis=1) >= 9
    assert np.array_equal(agrees, ensemble(GRID[:, None])[:, 0] <= bound)
    program = dcembed.Program(cost=[1.0, 0.0], lb=[-1.0, -INF], ub=[1.0, bound])
    embedding = dcembed.Embedding(ensemble, [0], [1])
    lift = lift_ensembles(unlifted(program, [embedding]))
    assert lift.program.num_integers == len(lift.program.indicators) == 10
    for problem in ((program, [embedding]), (lift.program, list(lift.embeddings))):
        result = dcembed.solve(*problem, options=RUN)
        assert result.is_feasible
        assert (np.hstack([member(result.x[None, :1]) for member in members]) <= bound + 1e-5).sum() >= 9
        assert result.objective <= GRID[agrees].min() + 1e-6
        assert result.objective >= GRID[agrees].min() - 0.01


def test_a_limit_that_no_member_keeps_is_infeasible_and_not_refused():
    members = piecewise(3, 4)
    lowest = min(member(GRID[:, None]).min() for member in members)
    embedding = dcembed.Embedding(dcembed.ensemble(members, output="agreement", agree=3), [0], [1])
    program = dcembed.Program(cost=[1.0, 0.0], lb=[-1.0, -INF], ub=[1.0, lowest - 50.0])
    lift = lift_ensembles(unlifted(program, [embedding]))
    assert (lift.program.lb <= lift.program.ub).all()
    result = dcembed.solve(lift.program, list(lift.embeddings), options=RUN | {"max_starts": 1})
    assert not result.is_feasible


def test_several_evaluations_share_nothing_but_the_network():
    ensemble = dcembed.ensemble(piecewise(5, 5), output="max")
    program = dcembed.Program(cost=[0.05] * 3 + [1.0] * 3, lb=[-1] * 3 + [-INF] * 3, ub=[1, 0.5, 0] + [INF] * 3)
    embedding = dcembed.Embedding(ensemble, [[0], [1], [2]], [[3], [4], [5]])
    lift = lift_ensembles(unlifted(program, [embedding]))
    assert lift.program.num_rows == 15
    result = dcembed.solve(lift.program, list(lift.embeddings), options=RUN)
    best = sum((0.05 * GRID + ensemble(GRID[:, None])[:, 0])[end >= GRID].min() for end in (1, 0.5, 0))
    assert result.objective <= best + 1e-6
    assert result.objective >= best - 0.05


def test_two_ensembles_in_one_host():
    first, second = (dcembed.ensemble(piecewise(seed, 4), output=output) for seed, output in ((1, "max"), (2, "min")))
    program = dcembed.Program(cost=[0.0, 1.0, -1.0], lb=[-1, -INF, -INF], ub=[1, INF, INF])
    embeddings = [dcembed.Embedding(first, [0], [1]), dcembed.Embedding(second, [0], [2])]
    lift = lift_ensembles(unlifted(program, embeddings))
    assert lift.program.num_columns == 3 + 8
    point = lift.complete(np.array([0.3, 9.0, -9.0]))
    assert dcembed.verify(lift.program, list(lift.embeddings), point).violation < 1e-7
    assert np.allclose(point[1:3], [first([0.3])[0], second([0.3])[0]])


def test_names_speak_of_the_users_columns():
    for settings, columns, rows, indicators in (
        ({"output": "max"}, ["prediction of member 0 for column 'risk'"], ["max of members for column 'risk', member 0"], []),
        (
            {"output": "agreement", "agree": 1},
            ["agreement of member 1 for column 'risk'"],
            ["agreement of members for column 'risk'"],
            ["agreement of members for column 'risk', member 1"],
        ),
    ):
        cost = 0.0 if "agree" in settings else 1.0
        lift = lift_ensembles(unlifted(host(cost), [dcembed.Embedding(dcembed.ensemble(piecewise(0, 2), **settings), [0], [1])]))
        program = lift.program
        assert set(columns) <= set(program.column_names)
        assert program.column_names[:2] == ("x", "risk")
        assert set(rows) <= set(program.row_names)
        assert set(indicators) <= {indicator.name for indicator in program.indicators}


def test_programs_without_names_stay_readable():
    program = dcembed.Program(cost=[0.0, 1.0], lb=[-1.0, -INF], ub=[1.0, INF], rows=[[1.0, 0.0]], row_ub=1.0)
    lift = lift_ensembles(unlifted(program, [dcembed.Embedding(dcembed.ensemble(piecewise(0, 2), output="max"), [0], [1])]))
    assert lift.program.column_label(1) == "column 1"
    assert lift.program.row_label(0) == "row 0"
    assert lift.program.row_label(1) == "row 'max of members for column 1, member 0'"


def test_the_binaries_are_those_of_the_members_that_agree_most():
    members = [dcembed.build_mlp([[[0.0]]], [[level]]) for level in (3.0, 1.0, 2.0, 0.0)]
    for settings, maximize, wanted in (({}, False, [0, 1, 1, 1]), ({"sense": ">="}, True, [1, 1, 1, 0])):
        ensemble = dcembed.ensemble(members, output="agreement", agree=3, **settings)
        lift = lift_ensembles(unlifted(host(0.0, maximize), [dcembed.Embedding(ensemble, [0], [1])]))
        assert lift.complete(np.zeros(2))[-4:].tolist() == wanted


def test_every_choice_of_binaries_gives_an_upper_bound():
    members = piecewise(9, 4)
    ensemble = dcembed.ensemble(members, output="agreement", agree=2)
    values = np.hstack([member(GRID[:, None]) for member in members])
    over = [values[:, list(chosen)].max(axis=1) for chosen in itertools.combinations(range(4), 2)]
    assert np.allclose(np.min(over, axis=0), ensemble(GRID[:, None])[:, 0])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("as_rows", [False, True])
def test_a_run_writes_rows_where_that_is_asked_for_and_its_answer_is_one_of_the_users_columns(name, as_rows):
    settings, maximize = CASES[name]
    ensemble = dcembed.ensemble(piecewise(1, 5), **settings, as_rows=as_rows)
    program, embedding = host(1.0, maximize), dcembed.Embedding(ensemble, [0], [1])
    result = dcembed.solve(program, embedding, options=RUN)
    # An agreement in the objective stays units.
    assert (result.sizes.host_columns > 2) == (as_rows and name in ("max", "min"))
    assert result.is_feasible
    assert result.x.size == 2
    # The column is the ensemble's own value, whatever the rows leave it.
    assert result.x[1] == pytest.approx(ensemble(result.x[:1])[0], abs=1e-12)
    assert result.incumbents[-1][1] == pytest.approx(result.objective, abs=1e-6)
    assert dcembed.verify(program, embedding, result.x).violation <= 1e-9
