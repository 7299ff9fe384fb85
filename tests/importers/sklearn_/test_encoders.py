"""Columns of texts and categories: inputs of zeros and ones, or constants."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("pandas")

from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.ensemble import BaggingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
    TargetEncoder,
)

from dcembed.errors import InputError, NetworkError, UnsupportedLayerError
from dcembed.importers import load_network, save_network

from .houses import COLORS, NUMBERS, SIZES, TEXTS, as_points, columns, data, fit

MLP = MLPRegressor(hidden_layer_sizes=(4,), max_iter=20, random_state=0)
ENCODERS = {
    "one-hot": columns(OneHotEncoder()),
    "one-hot without the first": columns(OneHotEncoder(drop="first")),
    "one-hot that ignores": columns(OneHotEncoder(handle_unknown="ignore")),
    "one-hot dense": columns(OneHotEncoder(sparse_output=False)),
    "one-hot of few": columns(OneHotEncoder(min_frequency=15, handle_unknown="infrequent_if_exist")),
    "one-hot of the most": columns(OneHotEncoder(max_categories=2)),
    "one-hot of given": columns(OneHotEncoder(categories=[["red", "green", "blue"], ["S", "M", "L"]])),
    "ordinal": columns(OrdinalEncoder(), remainder="passthrough"),
    "ordinal of given": columns(OrdinalEncoder(categories=[["red", "green", "blue"], ["S", "M", "L"]])),
    "by target": columns(TargetEncoder(random_state=0)),
    "a number that is both": make_column_transformer((OneHotEncoder(), ["rooms", "color"]), (StandardScaler(), ["rooms", "area"])),
    "by type": make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include=np.number)), (OneHotEncoder(), make_column_selector(dtype_exclude=np.number))
    ),
    "behind an imputer": make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), TEXTS), (SimpleImputer(), NUMBERS)
    ),
    "one after the other": make_pipeline(
        ColumnTransformer([("keep", "passthrough", [0, 2]), ("scale", StandardScaler(), [1, 4])]),
        ColumnTransformer([("texts", OneHotEncoder(), [0, 1])], remainder="passthrough"),
    ),
    "scaled": make_pipeline(columns(OneHotEncoder(sparse_output=False)), MinMaxScaler()),
    "interactions": make_pipeline(columns(OneHotEncoder(sparse_output=False)), PolynomialFeatures(2, interaction_only=True)),
    "data frames between": make_pipeline(columns(OneHotEncoder(sparse_output=False)), StandardScaler()).set_output(transform="pandas"),
}


@pytest.mark.parametrize("final", [LinearRegression(), MLP], ids=["linear", "mlp"])
@pytest.mark.parametrize("name", ENCODERS)
def test_a_column_that_is_encoded_is_one_input_for_each_category(name, final, tmp_path):
    model = fit(make_pipeline(ENCODERS[name], final))
    network = load_network(model)
    places = [place for place, name in enumerate(network.input_names) if name.startswith("color_")]
    assert [network.input_names[place] for place in places] == [
        f"color_{color}" for color in (("red", "green", "blue") if "given" in name else COLORS)
    ]
    np.testing.assert_allclose(network(as_points(network, data()))[:, 0], model.predict(data()), rtol=1e-9, atol=1e-9)
    save_network(network, tmp_path / "model.npz")
    assert load_network(tmp_path / "model.npz").input_names == network.input_names


@pytest.mark.parametrize("name", ENCODERS)
def test_a_column_that_is_given_a_value_is_no_input(name):
    model = fit(make_pipeline(ENCODERS[name], LinearRegression()))
    network = load_network(model, inputs={"color": "green", "size": "M"})
    assert not any(name.startswith(("color", "size")) for name in network.input_names)
    table = data().assign(color="green", size="M")
    np.testing.assert_allclose(network(as_points(network, table))[:, 0], model.predict(table), rtol=1e-9, atol=1e-9)


def test_products_with_constants_need_no_units():
    model = fit(make_pipeline(columns(OneHotEncoder(sparse_output=False)), PolynomialFeatures(2, interaction_only=True), Ridge()))
    assert load_network(model).num_hidden > 0
    assert load_network(model, inputs={"color": "red", "size": "S", "age": 1.0}).num_hidden == 0


def test_inputs_choose_and_order_columns():
    model = fit(make_pipeline(columns(OneHotEncoder()), Ridge()))
    assert load_network(model).input_names == (*(f"color_{c}" for c in COLORS), "area", *(f"size_{s}" for s in SIZES), "rooms", "age")
    # The model does not look at rooms.
    network = load_network(model, inputs=["age", "size", "color", "area"])
    assert network.input_names == ("age", *(f"size_{s}" for s in SIZES), *(f"color_{c}" for c in COLORS), "area")
    np.testing.assert_allclose(network(as_points(network, data()))[:, 0], model.predict(data()), rtol=1e-9)
    network = load_network(model, inputs={"area": None, "color": "red", "age": 1.5, "size": "L"})
    assert network.input_names == ("area",)
    table = data().assign(color="red", age=1.5, size="L")
    np.testing.assert_allclose(network(table[["area"]].to_numpy())[:, 0], model.predict(table), rtol=1e-9)


def test_inputs_that_do_not_fit_are_named():
    model = fit(make_pipeline(columns(OneHotEncoder()), Ridge()))
    with pytest.raises(InputError, match="inputs has 'colour', but the columns of the scikit-learn model are 'color', 'area'"):
        load_network(model, inputs={"colour": "red"})
    with pytest.raises(InputError, match="has a column twice"):
        load_network(model, inputs=["age", "age"])
    with pytest.raises(InputError, match="nothing is left to decide"):
        load_network(model, inputs={"color": "red", "area": 1.0, "size": "S", "rooms": 1, "age": 2.0})
    with pytest.raises(UnsupportedLayerError, match=r"StandardScaler \(needs 'area', which load_network\(inputs=...\) leaves out"):
        load_network(model, inputs=["age", "size", "color"])
    with pytest.raises(UnsupportedLayerError, match=r"OneHotEncoder \(needs 'color', which"):
        load_network(model, inputs=["age", "size", "area"])
    with pytest.raises(NetworkError, match="Found unknown categories"):
        load_network(model, inputs={"color": "purple"})
    with pytest.raises(UnsupportedLayerError, match="takes 'area' as a number, but it was given as 'large'"):
        load_network(model, inputs={"area": "large"})


def test_a_category_that_the_encoder_ignores_may_be_given():
    model = fit(make_pipeline(columns(OneHotEncoder(handle_unknown="ignore")), Ridge()))
    network = load_network(model, inputs={"color": "purple"})
    table = data().assign(color="purple")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(network(as_points(network, table))[:, 0], model.predict(table), rtol=1e-9)


def test_encoders_that_have_seen_different_categories():
    """Bags are fitted on samples: each encoder has its own categories, and ignores the others."""
    table = data().assign(color=[f"color{number % 30}" for number in range(90)])
    inner = make_pipeline(ColumnTransformer([("t", OneHotEncoder(handle_unknown="ignore"), [0, 2])], remainder="passthrough"), Ridge())
    model = fit(BaggingRegressor(inner, n_estimators=4, random_state=0), table)
    network = load_network(model)
    assert 20 < sum(name.startswith("color") for name in network.input_names) <= 30
    known = table[[f"color_{color}" in network.input_names for color in table["color"]]]
    np.testing.assert_allclose(network(as_points(network, known))[:, 0], model.predict(known), rtol=1e-9)


def test_arrays_of_objects():
    table = data()[["color", "area", "size", "rooms"]].to_numpy()
    model = fit(make_pipeline(ColumnTransformer([("t", OneHotEncoder(), [0, 2])], remainder="passthrough"), Ridge()), table)
    network = load_network(model)
    assert network.input_names == ("x0_blue", "x0_green", "x0_red", "x1", "x2_L", "x2_M", "x2_S", "x3")
    point = np.array([[0, 0, 1, 40.0, 0, 1, 0, 3]], dtype=float)
    assert network(point)[0, 0] == pytest.approx(model.predict(np.array([["red", 40.0, "M", 3]], dtype=object))[0])
    assert load_network(model, inputs={"x0": "red", "x2": "M"})([[40.0, 3]])[0] == pytest.approx(network(point)[0])


def test_categories_that_are_no_texts():
    table = data().assign(sunny=data()["age"] > 1.0)[["rooms", "sunny", "color"]]
    model = fit(make_pipeline(OneHotEncoder(), Ridge()), table)
    network = load_network(model)
    assert network.input_names[:6] == ("rooms_1", "rooms_2", "rooms_3", "rooms_4", "sunny_False", "sunny_True")
    np.testing.assert_allclose(network(as_points(network, table))[:, 0], model.predict(table), rtol=1e-9)
    kinds = table.assign(color=table["color"].astype("category"))
    assert load_network(fit(make_pipeline(OneHotEncoder(), Ridge()), kinds)).input_names == network.input_names


def test_polars():
    pl = pytest.importorskip("polars")
    table = pl.DataFrame({name: data()[name].tolist() for name in data().columns})
    model = fit(make_pipeline(columns(OneHotEncoder()), Ridge()), table)
    network = load_network(model)
    np.testing.assert_allclose(network(as_points(network, data()))[:, 0], model.predict(table), rtol=1e-9)


def test_an_encoder_of_computed_columns_is_refused():
    model = fit(make_pipeline(make_column_transformer((MinMaxScaler(), ["rooms"])), OneHotEncoder(handle_unknown="ignore"), Ridge()))
    with pytest.raises(UnsupportedLayerError, match="encodes column 0, which a step before it computes"):
        load_network(model)


class Chosen(FunctionTransformer):
    """Chooses columns in a way of its own."""

    def transform(self, X):
        return X[TEXTS]


def test_encoders_behind_something_unknown_are_not_blamed():
    with pytest.raises(UnsupportedLayerError, match="has 1 layer that cannot be embedded:\n  layer 0, 'chosen': Chosen\n"):
        load_network(fit(make_pipeline(Chosen(), OneHotEncoder(), Ridge())))


def test_logarithms_of_encoded_columns():
    model = fit(make_pipeline(make_column_transformer((OrdinalEncoder(), ["size"])), FunctionTransformer(np.log1p), Ridge()))
    network = load_network(model, inputs=["size"])
    assert network([[1.0, 0.0, 0.0]])[0, 0] == pytest.approx(model.predict(data().assign(size="L"))[0])
