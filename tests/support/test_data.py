"""What is read: arrays, frames, names, categories, scalers."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed.errors import InputError
from support.regions import two_clouds

pandas = pytest.importorskip("pandas", reason="pandas is not installed")
preprocessing = pytest.importorskip("sklearn.preprocessing", reason="scikit-learn is not installed")


def test_a_frame_is_matched_by_name_with_the_features_of_the_model():
    from sklearn.neural_network import MLPRegressor

    frame = pandas.DataFrame(two_clouds(), columns=["heat", "flow", "acid"])
    model = MLPRegressor(hidden_layer_sizes=(4,), max_iter=5, random_state=0).fit(frame, frame["heat"])
    region = dcembed.support(frame[["acid", "heat", "flow"]], "hull")
    embedding = dcembed.Embedding(model, [0, 1, 2], [3], support=region)
    assert embedding.support.data.names == ("heat", "flow", "acid")
    assert embedding.support.contains(frame.to_numpy()).all()
    with pytest.raises(InputError, match=r"Surplus: \['other'\]; missing: \['acid'\]"):
        dcembed.Embedding(model, [0, 1, 2], [3], support=dcembed.support(frame.rename(columns={"acid": "other"}), "box"))


def test_categories_are_one_column_each_as_the_importer_has_them():
    from sklearn.compose import ColumnTransformer
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline

    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"heat": rng.normal(size=90), "color": rng.choice(["red", "blue", "green"], 90)})
    encode = ColumnTransformer([("one", preprocessing.OneHotEncoder(), ["color"])], remainder="passthrough")
    model = make_pipeline(encode, MLPRegressor(hidden_layer_sizes=(4,), max_iter=5, random_state=0)).fit(frame, rng.normal(size=90))
    network = dcembed.load_network(model)
    region = dcembed.support(frame[frame["color"] != "green"], "box")
    embedding = dcembed.Embedding(network, list(range(network.num_inputs)), [network.num_inputs], support=region)
    names = embedding.support.data.names
    assert names == network.input_names
    for color, is_seen in (("red", True), ("blue", True), ("green", False)):
        point = [[0.0 if name == "heat" else float(name == f"color_{color}") for name in names]]
        assert embedding.support.contains(point)[0] == is_seen


@pytest.mark.parametrize("name", ["StandardScaler", "MinMaxScaler", "RobustScaler", "MaxAbsScaler"])
def test_distances_are_in_the_units_of_the_models_own_scaler(name):
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline

    data = two_clouds()
    scaler = getattr(preprocessing, name)().fit(data)
    point = data.max(axis=0) + np.array([1.0, 20.0, 0.1])
    far = (scaler.transform(point[None]) - scaler.transform(data.max(axis=0)[None])).max()
    assert dcembed.support(data, "box", scaler=scaler).excess(point[None])[0] == pytest.approx(far)
    pipeline = make_pipeline(getattr(preprocessing, name)(), MLPRegressor(hidden_layer_sizes=(3,), max_iter=3)).fit(data, data[:, 0])
    assert dcembed.support(data, "box", scaler=pipeline).excess(point[None])[0] == pytest.approx(far)


def test_scalers_that_do_more_are_refused():
    data = two_clouds()
    for scaler in (
        preprocessing.QuantileTransformer(n_quantiles=20).fit(data),
        preprocessing.PolynomialFeatures().fit(data),
        preprocessing.Normalizer().fit(data),
    ):
        with pytest.raises(InputError, match="Accepted are a fitted scaler of scikit-learn"):
            dcembed.support(data, "box", scaler=scaler)
    with pytest.raises(InputError, match="received str 'standard'"):
        dcembed.support(data, "box", scaler="standard")
    with pytest.raises(InputError, match="pair of vectors with 3 finite entries"):
        dcembed.support(data, "box", scaler=([0.0], [1.0]))
    assert dcembed.support(data, "box", scaler=(np.zeros(3), np.ones(3))).excess(data.max(axis=0)[None] + 2.0)[0] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([1.0, 2.0], "one row for each point"),
        ([[1.0, 2.0]], "at least two rows"),
        ([[1.0, np.nan], [1.0, 2.0]], "row 0, column 1"),
        ("train.csv", "numbers are expected"),
        (np.zeros((3, 2, 2)), "shape (3, 2, 2)"),
        (pandas.DataFrame({"a": ["x", None]}), "column 'a' of the data"),
        (pandas.DataFrame({"a": pandas.to_datetime(["2020-01-01", "2020-01-02"])}), "column 'a' of the data"),
    ],
)
def test_data_that_is_none_is_refused(data, words):
    with pytest.raises(InputError) as error:
        dcembed.support(data, "box")
    assert words in str(error.value)


def test_discrete_columns_are_those_of_zeros_and_ones_unless_they_are_named():
    rng = np.random.default_rng(0)
    data = np.column_stack([rng.normal(size=50), rng.integers(0, 2, 50), rng.integers(0, 5, 50), np.ones(50)])
    assert dcembed.support(data, "box").data.is_discrete.tolist() == [False, True, False, False]
    assert dcembed.support(data, "box", discrete=[2]).data.is_discrete.tolist() == [False, False, True, False]
    assert not dcembed.support(data, "box", discrete=[]).data.is_discrete.any()
    with pytest.raises(InputError, match="numbers from 0 to 3"):
        dcembed.support(data, "box", discrete=["a"])
    with pytest.raises(InputError, match="each gets a binary"):
        dcembed.support(rng.normal(size=(1200, 2)), "box", discrete=[0])


def test_data_of_categories_alone_has_no_other_region():
    data = np.eye(3)[[0, 1, 0, 1]]
    region = dcembed.support(data, "hull", discrete=[0, 1, 2])
    assert region.shape is None
    assert region.contains(np.eye(3)).tolist() == [True, True, False]
