"""Inputs and outputs of networks in linopy models: dimensions, coordinates, names and masks."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

linopy = pytest.importorskip("linopy", reason="linopy is not installed")

import xarray as xr  # noqa: E402
from tests.frontends.linopy_models import BUS, NARROW, NETWORK, QUICK, TIME, WIDE, maximize  # noqa: E402

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
    with pytest.raises(InputError, match=r"the inputs are not the features .* Missing: 'outdoor'. Surplus: 'load'"):
        embed(model, fitted, {"load": 0.5, "power": x.sel(what="power")})
    y = model.add_variables(coords=[pd.Index(["outdoor", "load"], name="what")], name="y")
    with pytest.raises(InputError, match=r"the coordinates of 'what' are not the features .* Missing: 'power'. Surplus: 'load'"):
        embed(model, fitted, y)
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
