"""linopy models with networks: dimensions and coordinates, what is accepted, what is rejected, and what the model holds afterwards."""

from __future__ import annotations

import copy
import gc
import itertools
import pickle
import warnings
import weakref

import numpy as np
import pandas as pd
import pytest

linopy = pytest.importorskip("linopy", reason="linopy is not installed")

import xarray as xr  # noqa: E402
from tests.frontends.problems import PROBLEMS, ConvexQP, NeuralMILP, NeuralMIQP, make_network  # noqa: E402

import dcembed  # noqa: E402
import dcembed.linopy  # noqa: E402
from dcembed.errors import InputError, NoSolutionError, OptionError  # noqa: E402
from dcembed.frontends import linopy_ as front  # noqa: E402
from dcembed.linopy import embed, solve  # noqa: E402

# Of what linopy means to change.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

NETWORK = make_network(2, (5,), 0)
NARROW = make_network(1, (4,), 1)
WIDE = dcembed.build_mlp([np.eye(2), [[1.0, 0.0], [0.0, 2.0], [1.0, -1.0]]], [None, None])
QUICK = {"verbose": False, "max_starts": 1}
TIME = pd.date_range("2030-01-01", periods=3, freq="h", name="time")
BUS = pd.Index(["north", "south"], name="bus")


@pytest.fixture
def model():
    return linopy.Model()


@pytest.fixture
def x(model):
    return model.add_variables(lower=-1, upper=1, coords=[TIME, BUS], name="x")


def maximize(model, embedded, **options):
    """A few steps up the sum of the predictions, which every point is feasible for."""
    output = embedded.output
    model.add_objective((output if isinstance(output, linopy.LinearExpression) else 1 * output).sum(), sense="max", overwrite=True)
    return solve(model, **{**QUICK, "max_iterations": 4, **options})


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
    reference = dcembed.solve(*problem.matrices(), options=QUICK)
    result = dcembed.linopy.result_of(model)
    assert model.objective.value == result.objective
    assert result.program.sense * result.objective + constant == pytest.approx(reference.objective, abs=1e-6)
    assert written(model, tmp_path) == before
    assert float(embedded.get_error().max()) <= 1e-9
    assert sorted(model.solution) == sorted(model.variables)


# Dimensions and coordinates


def test_the_prediction_has_the_dimensions_of_the_inputs_and_data_is_spread(model, x):
    outdoor = pd.Series([0.1, 0.5, -0.4], index=TIME)
    embedded = embed(model, NETWORK, [x, outdoor], name="heat")
    assert (embedded.output.dims, embedded.output.name) == (("time", "bus"), "heat")
    assert embedded.output.indexes["time"].equals(TIME)
    result = maximize(model, embedded)
    assert result.is_feasible
    expected = xr.DataArray(outdoor).broadcast_like(x.labels)
    xr.testing.assert_equal(embedded.input_values.isel(feature=1, drop=True), expected)
    predicted = NETWORK(np.stack([x.solution.values.reshape(-1), expected.values.reshape(-1)], axis=1)).reshape(3, 2)
    np.testing.assert_allclose(model.solution["heat"].transpose("time", "bus").values, predicted, atol=1e-9)
    xr.testing.assert_allclose(embedded.output_values, embedded.output.solution)


def test_coordinates_in_another_order_are_matched_by_their_labels(model, x):
    outdoor = xr.DataArray([3.0, 1.0, 2.0], {"time": TIME[[2, 0, 1]]})
    maximize(model, embedded := embed(model, NETWORK, [x, outdoor]), max_iterations=0)
    assert embedded.input_values.isel(bus=0, feature=1).values.tolist() == [1.0, 2.0, 3.0]


def test_one_expression_may_have_the_features_as_a_dimension(model):
    features = pd.Index(["a", "b"], name="what")
    x = model.add_variables(lower=-1, upper=1, coords=[features, TIME], name="x")
    embedded = embed(model, NETWORK, 2 * x + 0.25)
    assert embedded.output.dims == ("time",)
    maximize(model, embedded)
    np.testing.assert_allclose(embedded.input_values.values, 2 * x.solution.transpose("time", "what").values + 0.25, atol=1e-12)


def test_features_of_a_model_that_knows_their_names_are_matched_by_name(model):
    sklearn = pytest.importorskip("sklearn.neural_network")
    rng = np.random.default_rng(0)
    records = pd.DataFrame({"power": rng.normal(size=40), "outdoor": rng.normal(size=40)})
    fitted = sklearn.MLPRegressor(hidden_layer_sizes=(3,), solver="lbfgs", max_iter=200, random_state=0).fit(records, 3 * records["power"])
    x = model.add_variables(lower=-1, upper=1, coords=[pd.Index(["outdoor", "power"], name="what")], name="x")
    model.add_constraints(x.sel(what="outdoor") == 0.5, name="cold")
    first = embed(model, fitted, x)
    second = embed(model, fitted, {"outdoor": 0.5, "power": x.sel(what="power")})
    result = maximize(model, first)
    values = model.solution
    truth = fitted.predict(pd.DataFrame({"power": [float(values["x"].sel(what="power"))], "outdoor": [0.5]}))[0]
    assert result.objective == pytest.approx(truth, abs=1e-5)
    assert float(second.output.solution) == pytest.approx(truth, abs=1e-5)
    assert float(second.get_error()) <= 1e-5
    fitted.intercepts_[-1][:] += 1.0
    assert float(second.get_error()) == pytest.approx(1.0, abs=1e-5)
    with pytest.raises(InputError, match="the inputs have the names load, power, but the network was trained on power, outdoor"):
        embed(model, fitted, {"load": 0.5, "power": x.sel(what="power")})
    with pytest.raises(InputError, match="the network has no names of features"):
        embed(model, NETWORK, {"load": 0.5, "power": x.sel(what="power")})


def test_several_outputs_get_a_dimension_of_their_own(model, x):
    embedded = embed(model, WIDE, [x.sel(bus="north"), x.sel(bus="south")])
    assert embedded.output.dims == ("time", "output")
    given = model.add_variables(coords=[pd.RangeIndex(3, name="kind"), TIME], name="given")
    embed(model, WIDE, [x.sel(bus="north"), x.sel(bus="south")], given)
    parts = [model.add_variables(coords=[TIME], name=f"part{i}") for i in range(3)]
    embed(model, WIDE, [x.sel(bus="north"), x.sel(bus="south")], parts)
    result = maximize(model, embedded)
    assert result.is_feasible
    values = embedded.output.solution.values
    np.testing.assert_allclose(given.solution.transpose("time", "kind").values, values, atol=1e-9)
    np.testing.assert_allclose(np.stack([part.solution.values for part in parts], axis=1), values, atol=1e-9)


def test_scalar_entries_and_periods_with_two_levels(model, x):
    one = embed(model, NETWORK, [x.at[TIME[0], "north"], 2 * x.at[TIME[1], "south"]])
    assert one.output.dims == ()
    periods = pd.MultiIndex.from_product([[2030, 2040], [0, 1]], names=["period", "step"])
    periods.name = "snapshot"
    level = model.add_variables(lower=-1, upper=1, coords=[periods], name="level")
    two = embed(model, NARROW, level)
    assert two.output.indexes["snapshot"].equals(periods)
    model.add_objective(one.output + two.output.sum())
    assert solve(model, **QUICK).is_feasible
    assert "level[2030, 1]" in front.extract(model).program.column_names
    assert float(two.get_error().max()) <= 1e-9


# What is absent


def test_the_hour_before_the_first_is_not_taken_for_zero(model, x):
    with pytest.raises(
        InputError, match=r"input 1 \('x'\) is absent at \[2030-01-01 00:00:00, north\] .* but input 0 \('x'\) is not.*mask="
    ):
        embed(model, NETWORK, [x, x.shift(time=1)])
    begin = xr.DataArray([0.75, 0.0, 0.0], {"time": TIME})
    level = x.shift(time=1).to_linexpr() + begin
    filled = embed(model, NETWORK, [x, level], name="filled")
    later = embed(model, NETWORK, [x, x.shift(time=1)], mask=xr.DataArray([False, True, True], {"time": TIME}), name="later")
    assert maximize(model, filled).is_feasible
    before = filled.input_values.isel(feature=1, drop=True)
    assert before.isel(time=0).values.tolist() == [0.75, 0.75]
    np.testing.assert_array_equal(before.isel(time=slice(1, None)).values, x.solution.isel(time=slice(None, -1)).values)
    assert later.output.solution.isnull().values.tolist() == [[True, True], [False, False], [False, False]]
    assert float(later.get_error().max()) <= 1e-9


def test_the_last_hour_may_come_before_the_first(model, x):
    embedded = embed(model, NETWORK, [x, x.roll(time=1)])
    maximize(model, embedded)
    np.testing.assert_array_equal(embedded.input_values.isel(feature=1, time=0).values, x.solution.isel(time=-1).values)


def test_masked_variables_have_no_prediction(model):
    mask = xr.DataArray([[True, False], [True, True], [False, False]], {"time": TIME, "bus": BUS})
    x = model.add_variables(lower=-1, upper=1, coords=[TIME, BUS], name="x", mask=mask)
    for inputs in ([x, 0.5], [1 * x, 2 * x], [x, pd.Series([0.1, 0.2], index=BUS)]):
        embedded = embed(model, NETWORK, inputs)
        np.testing.assert_array_equal(embedded.output.labels.values >= 0, mask.values)
    given = model.add_variables(coords=[TIME, BUS], name="given", mask=mask)
    embed(model, NETWORK, [x, 0.5], given)
    free = model.add_variables(coords=[TIME, BUS], name="free")
    with pytest.raises(InputError, match=r"the outputs are there at \[2030-01-01 00:00:00, south\], but the inputs are absent"):
        embed(model, NETWORK, [x, 0.5], free)
    assert maximize(model, embedded).is_feasible
    assert model.solution["x"].isnull().values.tolist() == (~mask.values).tolist()


# Outputs


def test_outputs_may_be_expressions_and_predicted_twice(model):
    a = model.add_variables(lower=-1, upper=1, name="a")
    b = model.add_variables(lower=-1, upper=1, name="b")
    y, z = model.add_variables(name="y"), model.add_variables(name="z")
    ties = [embed(model, NARROW, a, 2 * y + 1), embed(model, NARROW, b, z), embed(model, NARROW, b, z)]
    model.add_objective(y + z, sense="max")
    assert solve(model, **QUICK).is_feasible
    assert float(NARROW([[float(a.solution)]])[0, 0]) == pytest.approx(2 * float(y.solution) + 1, abs=1e-5)
    for embedded in ties:
        assert float(embedded.get_error()) <= 1e-5


# The host


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


# Solving


def test_plain_solve_minds_the_network_until_it_is_removed(model):
    x = model.add_variables(lower=-1, upper=1, name="x")
    y = model.add_variables(lower=-10, upper=10, name="y")
    embedded = embed(model, NARROW, x, y)
    model.add_objective(1 * y, sense="max")
    assert isinstance(model, linopy.Model)
    model.solve(solver_name="highs", io_api="direct", log_to_console=False, max_starts=2)
    assert model.objective.value == pytest.approx(float(NARROW([[float(x.solution)]])[0, 0]), abs=1e-6)
    assert model.objective.value < 9
    embedded.remove()
    embedded.remove()
    assert type(model) is linopy.Model
    assert model.solve(solver_name="highs", log_to_console=False)[1] == "optimal"
    assert model.objective.value == pytest.approx(10)
    with pytest.raises(InputError, match="was not solved by dcembed"):
        dcembed.linopy.result_of(model)
    with pytest.raises(InputError, match="no network is embedded in the model"):
        solve(model)


def test_a_variable_that_was_made_stays(model, x):
    kept = embed(model, NETWORK, [x, 0.1])
    gone = embed(model, NETWORK, [x, 0.2])
    assert [kept.name, gone.name] == ["prediction", "prediction_2"]
    gone.remove()
    assert list(model.variables) == ["x", "prediction", "prediction_2"]
    assert type(model) is dcembed.linopy.EmbeddedModel
    model.add_constraints(gone.output == 7, name="free")
    assert maximize(model, kept).is_feasible


def test_no_other_way_to_a_solver_loses_the_network(model, x, tmp_path):
    embedded = embed(model, NETWORK, [x, 0.5])
    model.add_objective(embedded.output.sum())
    for name in ("to_highspy", "to_gurobipy", "dualize", "get_problem_file"):
        with pytest.raises(InputError, match=f"model.{name}: networks are embedded"):
            getattr(model, name)()
    with pytest.raises(
        InputError, match=r"model.matrices: networks are embedded .* linopy.Model.copy\(model\), which is the model without"
    ):
        _ = model.matrices
    bare = linopy.Model.copy(model)
    assert type(bare) is linopy.Model
    assert bare.matrices.c.size == 12
    for io_api in ("direct", "lp"):
        with pytest.raises(InputError, match="networks are embedded"):
            linopy.solvers.Solver.from_name("highs", model=model, io_api=io_api).solve()
    with pytest.raises(InputError, match="a remote solver would not see the embedded networks"):
        model.solve(remote=object())
    with pytest.warns(UserWarning, match="the embedded networks are not in what is written"):
        model.to_file(tmp_path / "model.lp")
    with pytest.raises(InputError, match="the networks of this model were lost"):
        pickle.loads(pickle.dumps(model)).solve()


class Plant(linopy.Model):
    """A class of a user's own."""

    __slots__ = ("notes",)

    def solve(self, *args, **kwargs):
        raise AssertionError("the network would be ignored")


def test_classes_of_users_and_copies_keep_the_network():
    model = Plant()
    x = model.add_variables(lower=-1, upper=1, name="x")
    embedded = embed(model, NARROW, x)
    model.notes = "kept"
    model.add_objective(1 * embedded.output, sense="max")
    assert isinstance(model, Plant)
    model.solve(**QUICK)
    for twin in (model.copy(), copy.copy(model), copy.deepcopy(model)):
        assert twin.solve(**QUICK) == ("ok", "suboptimal")
        assert twin.objective.value == model.objective.value
    embedded.remove()
    assert type(model) is Plant
    assert model.notes == "kept"


def test_statuses_without_a_feasible_point(model, x):
    embedded = embed(model, NETWORK, [x, 0.5])
    model.add_objective(embedded.output.sum())
    solve(model, **QUICK)
    model.add_constraints(embedded.output >= 100, name="hopeless")
    assert model.solve(max_starts=1, max_iterations=2, verbose=False)[0] == "warning"
    assert model.termination_condition in ("other", "iteration_limit")
    assert np.isnan(model.objective.value)
    with pytest.raises(AttributeError):
        _ = x.solution
    with pytest.raises(NoSolutionError, match=r"call dcembed.linopy.solve\(model\) first"):
        embedded.get_error()
    model.remove_constraints("hopeless")
    model.add_constraints(x.sum() >= 100, name="never")
    assert model.solve(**QUICK) == ("warning", "infeasible")


@pytest.mark.parametrize(("options", "condition"), [({"callback": lambda _: True}, "user_interrupt"), ({"time_limit": 0.0}, "time_limit")])
def test_a_feasible_point_is_kept_however_the_run_ended(model, x, options, condition):
    embedded = embed(model, NETWORK, [x, 0.5])
    model.add_objective(1 * x.sum())
    start = {"x": xr.zeros_like(x.labels, dtype=float)}
    assert model.solve(start=start, verbose=False, **options) == ("ok", condition)
    assert model.objective.value == pytest.approx(float(x.solution.sum()))
    assert float(embedded.get_error().max()) <= 1e-9


def test_there_are_no_duals(model, x):
    embedded = embed(model, NETWORK, [x, 0.5])
    model.add_constraints(x.sum() <= 1, name="c")
    maximize(model, embedded)
    assert list(model.dual) == []
    with pytest.raises(AttributeError, match="dual"):
        _ = model.constraints["c"].dual


def test_a_start_is_read_by_names(model, x):
    embedded = embed(model, NETWORK, [x, 0.5])
    values = xr.DataArray([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], {"time": TIME, "bus": BUS})
    maximize(model, embedded, start={"x": values}, max_iterations=0)
    xr.testing.assert_allclose(x.solution, values)
    assert maximize(model, embedded, start=model.solution).is_feasible
    with pytest.raises(InputError, match=r"start has no value of column 'x\[2030-01-01 00:00:00, north\]'"):
        solve(model, start={}, **QUICK)
    with pytest.raises(InputError, match="received ndarray"):
        solve(model, start=np.zeros(3), **QUICK)


def test_arguments_of_linopys_solve_are_used_or_named(model, x):
    maximize(model, embed(model, NETWORK, [x, 0.5]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.solve("highs", "direct", TimeLimit=30, Threads=1, OutputFlag=0, max_starts=1)
    assert dcembed.linopy.result_of(model).history[-1].start == 0
    with pytest.warns(UserWarning, match=r"dcembed solves the model; ignored: mip_rel_gap=0.01, solver_name='cplex'\.$"):
        model.solve("cplex", mip_rel_gap=0.01, **QUICK)
    with pytest.raises(OptionError, match="unknown option 'mip_rel_gap'"):
        solve(model, mip_rel_gap=0.01)
    # As PyPSA calls HiGHS.
    with pytest.warns(UserWarning, match=r"ignored: solver='ipm', run_crossover='off'\.$"):
        model.solve("highs", solver="ipm", run_crossover="off", threads=0, random_seed=123, time_limit=9.0, **QUICK)
    assert model.solve(mock_solve=True)[0] == "ok"
    with pytest.raises(InputError, match="was not solved by dcembed"):
        dcembed.linopy.result_of(linopy.Model())


def test_a_variable_that_was_removed_is_missed(model, x):
    embed(model, NETWORK, [x, 0.5])
    model.remove_variables("x")
    with pytest.raises(InputError, match="a variable in the inputs of the network 'prediction' is not in the model any more"):
        solve(model, **QUICK)


def test_a_model_that_nobody_uses_is_freed():
    model = linopy.Model()
    x = model.add_variables(lower=-1, upper=1, name="x")
    maximize(model, embed(model, NARROW, x))
    seen = weakref.ref(model)
    del model, x
    gc.collect()
    assert seen() is None


OTHER = linopy.Model().add_variables(coords=[TIME, BUS], name="x")


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (lambda x: [x], "inputs is a list of 1, but the network has 2 inputs"),
        (lambda x: [x, x * x], "input 1 is quadratic"),
        (lambda x: [x, "cold"], "input 1 is of type str"),
        (lambda x: [x, OTHER], r"input 1 \('x'\) belongs to another model"),
        (lambda x: [x, np.nan], "input 1 is not a finite number at"),
        (lambda x: [x, x.isel(time=slice(1, None))], r"has other coordinates along 'time'.*: 2 \(2030-01-01 01:00:00, 2030-01-01 02:00:00\) where there are 3"),
        (lambda x: [x, xr.DataArray([1.0, 2.0], {"bus": ["north", "west"]})], r"has other coordinates along 'bus'.*: 2 \(north, west\)"),
        (lambda x: [x, pd.Series([1.0, 2.0])], "axes have no names.*The other inputs have: 'time' of 3, 'bus' of 2"),
        (lambda x: [x, xr.DataArray(["a", "b"], {"bus": BUS})], "not numbers"),
        (lambda x: x.isel(bus=0), r"inputs has the dimensions \(time: 3\), and none of them has 2 coordinates"),
        (lambda x: x.isel(time=[0, 1]), "more than one of them has 2 coordinates.*Say feature_dim"),
    ],
)  # fmt: skip
def test_inputs_that_cannot_be_meant_are_rejected(model, x, inputs, message):
    with pytest.raises(InputError, match=message):
        embed(model, NETWORK, inputs(x))
    assert list(model.variables) == ["x"]
    assert type(model) is linopy.Model


def test_a_dimension_is_told_by_its_name(model, x):
    assert embed(model, NETWORK, x.isel(time=[0, 1]), feature_dim="time").output.dims == ("bus",)
    with pytest.raises(InputError, match=r"feature_dim='time' should be one of 2 coordinates"):
        embed(model, NETWORK, x, feature_dim="time")


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (lambda m: m.add_variables(coords=[TIME], name="y"), "outputs lacks the dimension 'bus' of the inputs"),
        (lambda m: [m.add_variables(name="y"), 1.0], "outputs is a list of 2, but the network has 1 outputs"),
        (lambda m: xr.DataArray(np.zeros((3, 2)), {"time": TIME, "bus": BUS}), "outputs is data"),
    ],
)
def test_outputs_that_cannot_be_meant_are_rejected(model, x, outputs, message):
    with pytest.raises(InputError, match=message):
        embed(model, NETWORK, [x, 0.5], outputs(model))


def test_other_arguments_that_cannot_be_meant_are_rejected(model, x):
    with pytest.raises(InputError, match=r"one dimension of 3 coordinates is expected"):
        embed(model, WIDE, [x, 0.5], model.add_variables(coords=[TIME, BUS], name="y"))
    with pytest.raises(InputError, match="the model has a variable 'x' already"):
        embed(model, NETWORK, [x, 0.5], name="x")
    with pytest.raises(InputError, match=r"the first argument is a linopy.Model, received Variable"):
        embed(x, NETWORK, [x, 0.5])
    with pytest.raises(InputError, match="expected are booleans over"):
        embed(model, NETWORK, [x, 0.5], mask=xr.DataArray([1.0, 0.0, 0.0], {"time": TIME}))
    with pytest.raises(InputError, match=r"the inputs have a dimension 'output' already.*output_dim="):
        embed(model, WIDE, [x.rename(bus="output"), 0.5])
    with pytest.raises(InputError, match="evaluated nowhere"):
        embed(model, NETWORK, [x, 0.5], mask=False)
    with pytest.raises(InputError, match=r"input 1 \('x'\) is absent at \[2030-01-01 00:00:00, north\]\. Give it a value"):
        embed(model, NETWORK, [x, x.shift(time=1)], mask=True)


def test_arrays_take_the_dimension_that_they_fit(model, x):
    embedded = embed(model, NETWORK, [x, np.array([0.1, 0.2, 0.3])])
    frame = embed(model, NETWORK, [x, pd.DataFrame(np.ones((3, 2)), index=TIME, columns=list(BUS))])
    pair = np.empty(2, dtype=object)
    pair[:] = [x, 0.5]
    assert embed(model, NETWORK, pair).output.dims == ("time", "bus")
    maximize(model, embedded, max_iterations=0)
    assert embedded.input_values.isel(bus=1, feature=1).values.tolist() == [0.1, 0.2, 0.3]
    assert frame.output.dims == ("time", "bus")


def test_a_prediction_may_be_an_input(model, x):
    first = embed(model, NETWORK, [x, 0.5])
    second = embed(model, NETWORK, [first.output.sum("bus"), x.sel(bus="north")])
    assert second.output.dims == ("time",)
    assert maximize(model, second).is_feasible
    assert float(second.get_error().max()) <= 1e-5


def test_every_combination_is_evaluated(model):
    a = model.add_variables(lower=0.1, upper=0.1, coords=[TIME], name="a")
    b = model.add_variables(lower=0.2, upper=0.2, coords=[BUS], name="b")
    embedded = embed(model, NETWORK, [a, b])
    assert maximize(model, embedded).objective == pytest.approx(
        len(list(itertools.product(TIME, BUS))) * float(NETWORK([[0.1, 0.2]])[0, 0])
    )
    assert embed(model, NARROW, a.rename(time="feature")).output.dims == ("feature",)
    assert repr(embedded).endswith("evaluated 6 times over ['time', 'bus'])")
