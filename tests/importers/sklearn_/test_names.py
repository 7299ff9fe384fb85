"""Names of columns: those of the fit."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("pandas")

from sklearn.base import clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import BaggingRegressor, StackingRegressor, VotingRegressor
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

from dcembed.importers import load_network

from .houses import data, fit, target

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
