"""Columns of scikit-learn models: names, categories, constants, and values that are missing."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")
pd = pytest.importorskip("pandas")

from sklearn.base import clone  # noqa: E402
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector, make_column_transformer  # noqa: E402
from sklearn.ensemble import BaggingRegressor, StackingRegressor, VotingRegressor  # noqa: E402
from sklearn.feature_selection import SelectKBest, f_regression  # noqa: E402
from sklearn.impute import KNNImputer, SimpleImputer  # noqa: E402
from sklearn.linear_model import LinearRegression, Ridge  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.multioutput import MultiOutputRegressor  # noqa: E402
from sklearn.neural_network import MLPRegressor  # noqa: E402
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline  # noqa: E402
from sklearn.preprocessing import (  # noqa: E402
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
    TargetEncoder,
)

from dcembed.errors import InputError, NetworkError, UnsupportedLayerError  # noqa: E402
from dcembed.importers import load_network, save_network  # noqa: E402

COLORS, SIZES = ("blue", "green", "red"), ("L", "M", "S")
NUMBERS = ["area", "age"]
TEXTS = ["color", "size"]


@functools.cache
def data():
    rng = np.random.default_rng(1)
    n = 90
    return pd.DataFrame(
        {
            "color": rng.choice(COLORS, n, p=[0.5, 0.4, 0.1]),
            "area": rng.normal(50.0, 10.0, n),
            "size": rng.choice(SIZES, n),
            "rooms": rng.integers(1, 5, n),
            "age": rng.uniform(0.0, 3.0, n),
        }
    )


def target(table):
    return 0.1 * table["area"] + table["rooms"] - 2.0 * (table["color"] == "red") + table["age"] ** 2


def fit(model, table=None, y=None):
    table = data() if table is None else table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(table, target(data()) if y is None else y)


def columns(encoder, **options):
    return ColumnTransformer([("numbers", StandardScaler(), NUMBERS), ("texts", encoder, TEXTS)], **options)


def as_points(network, table):
    """A table of the model as points of the network, by the names of its inputs."""
    points = np.zeros((len(table), network.num_inputs))
    for place, name in enumerate(network.input_names):
        if name in table.columns:
            # A column of texts that is no category is one that the model does not look at.
            points[:, place] = pd.to_numeric(table[name], errors="coerce").fillna(0.0)
        else:
            column, _, category = name.rpartition("_")
            points[:, place] = table[column].astype(str) == category
    return points


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


NAMED = {
    "estimator": Ridge(),
    "pipeline": make_pipeline(StandardScaler(), Ridge()),
    "pipeline that begins with nothing": Pipeline([("none", "passthrough"), ("ridge", Ridge())]),
    "pipeline of pipelines": make_pipeline(make_pipeline(StandardScaler(), MinMaxScaler()), Ridge()),
    "union": make_pipeline(FeatureUnion([("a", StandardScaler()), ("b", "passthrough")]), Ridge()),
    "column transformer": make_pipeline(make_column_transformer((StandardScaler(), ["rooms"]), remainder="passthrough"), Ridge()),
    "function": make_pipeline(FunctionTransformer(np.tanh), Ridge()),
    "selector": make_pipeline(SelectKBest(f_regression, k=2), Ridge()),
    "search": GridSearchCV(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [1.0, 2.0]}, cv=2),
    "voting": VotingRegressor([("a", Ridge()), ("b", make_pipeline(StandardScaler(), Ridge()))]),
    "stacking": StackingRegressor([("a", Ridge()), ("b", make_pipeline(StandardScaler(), Ridge()))], cv=2),
    "bagging": BaggingRegressor(Ridge(), n_estimators=2, max_features=2, random_state=0),
    "transformed target": TransformedTargetRegressor(make_pipeline(StandardScaler(), Ridge()), transformer=StandardScaler()),
}


@pytest.mark.parametrize("name", NAMED)
def test_names_are_those_of_the_fit(name):
    table = data()[["area", "rooms", "age"]]
    model = fit(NAMED[name], table)
    network = load_network(model)
    assert network.input_names == ("area", "rooms", "age")
    np.testing.assert_allclose(network(table.to_numpy())[:, 0], model.predict(table), rtol=1e-9)
    if name != "column transformer":
        assert load_network(fit(clone(NAMED[name]), table.to_numpy())).input_names is None


def test_names_of_several_outputs():
    table = data()[["area", "rooms", "age"]]
    model = MultiOutputRegressor(Ridge()).fit(table, np.column_stack([target(data()), -target(data())]))
    assert load_network(model).input_names == ("area", "rooms", "age")
    assert load_network(model).num_outputs == 2


def test_columns_by_name_slices_and_masks():
    table = data()[["area", "rooms", "age"]]
    for places in (["age", "area"], slice("rooms", "age"), slice(None, "rooms"), [True, False, True], "rooms"):
        step = FunctionTransformer() if isinstance(places, str) else StandardScaler()
        model = make_pipeline(
            ColumnTransformer([("some", step, [places] if isinstance(places, str) else places)], remainder="passthrough"), Ridge()
        )
        fit(model, table)
        np.testing.assert_allclose(load_network(model)(table.to_numpy())[:, 0], model.predict(table), rtol=1e-9)
