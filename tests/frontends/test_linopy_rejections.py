"""What cannot be meant in a linopy model is rejected by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

linopy = pytest.importorskip("linopy", reason="linopy is not installed")

import xarray as xr  # noqa: E402
from tests.frontends.linopy_models import BUS, NETWORK, TIME, WIDE  # noqa: E402

from dcembed.errors import InputError  # noqa: E402
from dcembed.linopy import embed  # noqa: E402

# Of what linopy means to change.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


@pytest.fixture
def model():
    return linopy.Model()


@pytest.fixture
def x(model):
    return model.add_variables(lower=-1, upper=1, coords=[TIME, BUS], name="x")


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
