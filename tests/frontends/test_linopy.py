"""linopy models with networks: dimensions and coordinates, what is accepted, what is rejected, and what the model holds afterwards."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

linopy = pytest.importorskip("linopy", reason="linopy is not installed")

import xarray as xr  # noqa: E402
from tests.frontends.linopy_models import BUS, NARROW, NETWORK, QUICK, TIME  # noqa: E402
from tests.frontends.problems import PROBLEMS, ConvexQP, NeuralMILP, NeuralMIQP, solved  # noqa: E402

import dcembed  # noqa: E402
import dcembed.linopy  # noqa: E402
from dcembed.errors import InputError  # noqa: E402
from dcembed.frontends import linopy_ as front  # noqa: E402
from dcembed.linopy import embed, solve  # noqa: E402

# Of what linopy means to change.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


@pytest.fixture
def model():
    return linopy.Model()


@pytest.fixture
def x(model):
    return model.add_variables(lower=-1, upper=1, coords=[TIME, BUS], name="x")


def write_qp(model):
    x = model.add_variables(lower=-1, upper=1, coords=[range(2), range(2)], dims=["row", "feature"], name="x")
    y = model.add_variables(upper=ConvexQP.limit, coords=[range(2)], dims=["row"], name="y")
    model.add_constraints(x.sum() == ConvexQP.total, name="total")
    target = xr.DataArray(ConvexQP.target.reshape(2, 2), x.coords, x.dims)
    model.add_objective((0.5 * x * x - target * x).sum())
    return embed(model, ConvexQP.network, x, y), 0.5 * float(ConvexQP.target @ ConvexQP.target)


def write_milp(model):
    x = model.add_variables(lower=0, upper=1, coords=[range(2)], dims=["i"], name="x")
    z = model.add_variables(binary=True, coords=[range(2)], dims=["i"], name="z")
    b = model.add_variables(binary=True, name="b")
    embedded = embed(model, NeuralMILP.network, x)
    model.add_constraints(x <= z, name="open")
    model.add_constraints(z.sum() - b <= 1, name="few")
    model.add_indicator_constraints(b, 1, embedded.output >= NeuralMILP.level, name="if_b")
    cost = xr.DataArray(NeuralMILP.cost, x.coords, x.dims)
    model.add_objective(embedded.output + NeuralMILP.reward * b - (cost * z).sum(), sense="max")
    return embedded, 0.0


def write_miqp(model):
    x = [model.add_variables(lower=-1, upper=1, name=f"x{i}") for i in range(2)]
    k = model.add_variables(lower=0, upper=3, integer=True, name="k")
    embedded = embed(model, NeuralMIQP.network, x)
    model.add_constraints(embedded.output - NeuralMIQP.slope * k == NeuralMIQP.intercept, name="tie")
    model.add_objective(sum(v * v - 2 * float(c) * v for v, c in zip(x, NeuralMIQP.center, strict=True)) + 0.1 * k)
    return embedded, float(NeuralMIQP.center @ NeuralMIQP.center)


WRITERS = dict(zip(PROBLEMS, (write_qp, write_milp, write_miqp), strict=True))


def written(model, folder):
    linopy.Model.to_file(model, folder / "model.lp", explicit_coordinate_names=True)
    return (folder / "model.lp").read_text()


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.__name__)
def test_the_three_problems_give_what_their_matrices_give(problem, model, tmp_path):
    embedded, constant = WRITERS[problem](model)
    before = written(model, tmp_path)
    assert model.solve(**QUICK) == ("ok", "suboptimal")
    reference = solved(problem)
    result = dcembed.linopy.result_of(model)
    assert model.objective.value == result.objective
    assert result.program.sense * result.objective + constant == pytest.approx(reference.objective, abs=1e-6)
    assert written(model, tmp_path) == before
    assert float(embedded.get_error().max()) <= 1e-9
    assert sorted(model.solution) == sorted(model.variables)


def test_names_bounds_and_kinds_are_the_users(model, x):
    model.add_variables(integer=True, lower=0, upper=7, name="units")
    embed(model, NETWORK, [x, 0.5], name="heat")
    model.add_constraints(x.sum("time") <= 1, name="share")
    program = front.extract(model).program
    assert program.column_names[:2] == ("x[2030-01-01 00:00:00, north]", "x[2030-01-01 00:00:00, south]")
    assert program.column_names[6:8] == ("units", "heat[2030-01-01 00:00:00, north]")
    assert program.row_names == ("share[north]", "share[south]")
    assert np.flatnonzero(program.integer).tolist() == [6]
    assert (program.lb[6], program.ub[6]) == (0, 7)


def brute_force(kind, value):
    """The largest a x over two or three switched members, by cases."""
    weights, bounds = value
    sets = {"sos1": 1, "sos2": 2}[kind]
    places = range(len(weights) - sets + 1)
    return max(sum(max(weights[i], 0.0) * bounds[i] for i in range(place, place + sets)) for place in places)


@pytest.mark.parametrize("scale", [1.0, 1e4])
@pytest.mark.parametrize("kind", ["sos1", "sos2"])
def test_special_ordered_sets_are_kept(kind, scale, model):
    weights, bounds = np.array([[3.0, -1.0, 2.5, 1.0], [1.0, 1.0, 1.0, 4.0]]) / scale, np.array([1.0, 2.0, 1.5, 1.0]) * scale
    limit = xr.DataArray(bounds, {"piece": range(4)})
    w = model.add_variables(lower=0, upper=limit, coords=[BUS, pd.RangeIndex(4, name="piece")], name="w")
    model.add_sos_constraints(w, int(kind[-1]), "piece")
    still = model.add_variables(lower=0.25, upper=0.25, name="still")
    embed(model, NARROW, still)
    model.add_objective((xr.DataArray(weights, w.coords, w.dims) * w).sum(), sense="max")
    result = solve(model, **QUICK)
    assert result.objective == pytest.approx(sum(brute_force(kind, (row, bounds)) for row in weights), abs=1e-6)
    for row in w.solution.values:
        used = np.flatnonzero(row > 1e-9)
        assert used.size <= int(kind[-1])
        assert used.size < 2 or used[1] == used[0] + 1


def test_semi_continuous_variables_are_zero_or_between_their_bounds(model):
    p = model.add_variables(lower=1.0, upper=3.0, coords=[TIME], name="p", semi_continuous=True)
    demand = xr.DataArray([0.0, 0.4, 2.0], {"time": TIME})
    model.add_constraints(p >= demand, name="demand")
    embedded = embed(model, NARROW, 0.1 * p)
    model.add_objective(p.sum())
    assert solve(model, **QUICK).is_feasible
    np.testing.assert_allclose(p.solution.values, [0.0, 1.0, 2.0], atol=1e-6)
    assert float(embedded.get_error().max()) <= 1e-9
    model.variables["p"].data["upper"][:] = np.inf
    with pytest.raises(InputError, match=r"'p\[2030-01-01 00:00:00\]' is semi-continuous or in an SOS constraint and needs finite bounds"):
        solve(model, **QUICK)


@pytest.mark.skipif(not hasattr(linopy.Objective, "scaling"), reason="this linopy has no scaling")
def test_scaling_factors_of_linopy_change_nothing():
    values = []
    for factor in (1.0, 50.0):
        model = linopy.Model()
        x = model.add_variables(lower=-1, upper=1, coords=[TIME], name="x", scaling=factor)
        embedded = embed(model, NETWORK, [x, 0.3])
        model.add_constraints(2 * x.sum() >= -1, name="c", scaling=factor)
        model.add_objective((embedded.output + 0.1 * x - 0.01 * x * x).sum(), sense="max")
        model.objective.scaling = factor
        solve(model, **QUICK)
        values.append((model.objective.value, x.solution.values.tolist()))
    assert values[0] == values[1]


@pytest.mark.skipif(not hasattr(linopy, "ABSENT"), reason="this linopy has one semantics")
def test_sparse_models_of_the_new_semantics(monkeypatch):
    with linopy.options as options:
        options["semantics"] = "v1"
        model = linopy.Model(sparse=True)
        x = model.add_variables(lower=-1, upper=1, coords=[TIME, BUS], name="x")
        on = model.add_variables(binary=True, coords=[TIME], name="on")
        model.add_constraints(x.groupby(pd.Series(["g", "g"], index=BUS, name="group")).sum() <= 0.5, name="groups")
        model.add_indicator_constraints(on, 1, x.sum("bus") <= 0.25, name="low")
        embedded = embed(model, NETWORK, [x, x.shift(time=1).to_linexpr().fillna(0.5)])
        model.add_objective(on.sum() + 0.1 * x.sum(), sense="max")
        result = solve(model, **QUICK)
    assert result.program.row_names[0].startswith("groups[2030-01-01 00:00:00")
    assert [indicator.name for indicator in result.program.indicators] == [f"low[{hour}]" for hour in TIME]
    assert result.objective == pytest.approx(3.0 + 0.1 * 0.75, abs=1e-6)
    assert float(embedded.get_error().max()) <= 1e-9
