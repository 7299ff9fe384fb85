"""Missing values: never in inputs, and filled in where they are constants."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("pandas")

from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from dcembed.errors import UnsupportedLayerError
from dcembed.importers import load_network

from .houses import NUMBERS, TEXTS, as_points, columns, data, fit


def with_gaps():
    table = data().copy()
    table.loc[::7, "area"] = np.nan
    table.loc[::9, "age"] = np.nan
    table.loc[::8, "size"] = None
    return table


MISSING = ColumnTransformer(
    [
        ("numbers", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), NUMBERS),
        ("texts", make_pipeline(SimpleImputer(strategy="constant", fill_value="none"), OneHotEncoder()), TEXTS),
    ]
)


def test_inputs_are_never_missing_and_constants_may_be():
    model = fit(make_pipeline(MISSING, Ridge()), with_gaps())
    network = load_network(model)
    assert "size_none" in network.input_names
    np.testing.assert_allclose(network(as_points(network, data()))[:, 0], model.predict(data()), rtol=1e-9)
    for gap in ({"area": np.nan}, {"area": np.nan, "size": np.nan}, {"age": float("nan"), "color": "red"}):
        network = load_network(model, inputs=gap)
        table = data().assign(**gap)
        np.testing.assert_allclose(network(as_points(network, table))[:, 0], model.predict(table), rtol=1e-9)


def test_a_missing_constant_that_nothing_fills_in_is_named():
    model = fit(make_pipeline(columns(OneHotEncoder()), Ridge()))
    with pytest.raises(UnsupportedLayerError, match="takes 'area' as a number, but it was given as nan"):
        load_network(model, inputs={"area": np.nan})
    numbers = data()[NUMBERS]
    nearest = fit(make_pipeline(KNNImputer(), Ridge()), with_gaps()[NUMBERS])
    np.testing.assert_allclose(load_network(nearest)(numbers.to_numpy())[:, 0], nearest.predict(numbers), rtol=1e-9)
    with pytest.raises(UnsupportedLayerError, match="fills in the missing 'age' by the other columns"):
        load_network(nearest, inputs={"age": np.nan})


def test_an_imputer_of_a_number_jumps():
    model = fit(make_pipeline(SimpleImputer(missing_values=0), Ridge()), data()[["rooms", "area"]])
    with pytest.raises(UnsupportedLayerError, match="takes 0 for a missing value, which is a number like any other"):
        load_network(model)


def test_missing_is_a_category_of_an_encoder():
    model = fit(make_pipeline(make_column_transformer((OneHotEncoder(), TEXTS), ("passthrough", ["rooms"])), Ridge()), with_gaps())
    assert "size_nan" in load_network(model).input_names or "size_None" in load_network(model).input_names
    # An ordinal encoder says NaN of it, which is nothing to compute with.
    ordinal = fit(make_pipeline(make_column_transformer((OrdinalEncoder(), ["size"])), SimpleImputer(), Ridge()), with_gaps())
    assert load_network(ordinal, inputs=["size"]).input_names == ("size_L", "size_M", "size_S")
