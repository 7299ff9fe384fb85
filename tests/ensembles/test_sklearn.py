"""Bags and votes of scikit-learn as ensembles: their members, columns, weights and names."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import dcembed
from dcembed.errors import InputError, NetworkError, UnsupportedLayerError
from dcembed.network.ensemble import member_values

pytest.importorskip("sklearn")
from sklearn.ensemble import BaggingClassifier, BaggingRegressor, RandomForestRegressor, VotingClassifier, VotingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

pytestmark = pytest.mark.filterwarnings("ignore")
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (80, 4))
Y = X[:, 0] ** 2 - X[:, 1] * X[:, 2] + 0.3 * X[:, 3]
CLASSES = np.greater(Y, Y.mean()).astype(int)


def small(seed: int = 0) -> MLPRegressor:
    return MLPRegressor(hidden_layer_sizes=(6,), max_iter=60, random_state=seed)


def test_a_bag_with_columns_of_its_own_for_each_estimator():
    model = BaggingRegressor(small(), n_estimators=5, max_features=0.5, random_state=1).fit(X, Y)
    ensemble = dcembed.ensemble(model)
    assert ensemble.num_inputs == 4
    assert np.allclose(ensemble(X)[:, 0], model.predict(X))
    parts = [part.predict(X[:, columns]) for part, columns in zip(model.estimators_, model.estimators_features_, strict=True)]
    assert np.allclose(member_values(ensemble, X)[:, :, 0], np.stack(parts, axis=1))
    assert np.allclose(dcembed.ensemble(model, output="max")(X)[:, 0], np.max(parts, axis=0))


def test_columns_that_were_drawn_twice():
    model = BaggingRegressor(small(), n_estimators=4, bootstrap_features=True, random_state=2).fit(X, Y)
    assert np.allclose(dcembed.ensemble(model)(X)[:, 0], model.predict(X))


def test_a_bag_of_pipelines_on_named_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = BaggingRegressor(make_pipeline(StandardScaler(), small()), n_estimators=3, random_state=0).fit(frame, Y)
    ensemble = dcembed.ensemble(model)
    assert ensemble.input_names == tuple("abcd")
    assert np.allclose(ensemble(X)[:, 0], model.predict(frame))


def test_a_vote_with_weights():
    parts = [("one", small(1)), ("gone", "drop"), ("two", make_pipeline(StandardScaler(), small(2))), ("line", LinearRegression())]
    model = VotingRegressor(parts, weights=[1.0, 9.0, 3.0, 0.5]).fit(X, Y)
    ensemble = dcembed.ensemble(model)
    assert ensemble.num_members == 3
    assert np.allclose(ensemble(X)[:, 0], model.predict(X))
    values, weights = member_values(ensemble, X)[:, :, 0], np.array([1.0, 3.0, 0.5]) / 4.5
    deviation = np.abs(values - (values @ weights)[:, None]) @ weights
    spread = dcembed.ensemble(model, output="mean_deviation", k=2.0)
    assert np.allclose(spread(X)[:, 0], model.predict(X) + 2 * deviation)


def test_a_vote_without_weights_on_named_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = VotingRegressor([("one", small(1)), ("line", Ridge())]).fit(frame, Y)
    ensemble = dcembed.ensemble(model)
    assert ensemble.input_names == tuple("abcd")
    assert np.allclose(ensemble(X)[:, 0], model.predict(frame))


def test_several_outputs():
    model = BaggingRegressor(small(), n_estimators=3, random_state=0).fit(X, np.column_stack([Y, -Y]))
    assert np.allclose(dcembed.ensemble(model)(X), model.predict(X))


def test_classifiers_that_average_probabilities():
    for model in (
        VotingClassifier([("a", LogisticRegression()), ("b", LogisticRegression(C=0.1))], voting="soft"),
        BaggingClassifier(LogisticRegression(), n_estimators=3, max_features=0.5, random_state=0),
    ):
        model.fit(X, CLASSES)
        assert np.allclose(dcembed.ensemble(model)(X), model.predict_proba(X), atol=1e-6)


def test_classifiers_that_vote_are_refused_with_advice():
    hard = VotingClassifier([("a", LogisticRegression()), ("b", LogisticRegression(C=0.1))]).fit(X, CLASSES)
    with pytest.raises(
        UnsupportedLayerError, match=r"VotingClassifier counts votes.*voting='soft'.*ensemble\(list\(model\.estimators_\)\)"
    ):
        dcembed.ensemble(hard)
    scores = dcembed.ensemble(list(hard.estimators_), output="min")
    assert np.allclose(scores(X)[:, 0], np.min([part.decision_function(X) for part in hard.estimators_], axis=0))
    without = BaggingClassifier(LinearSVC(), n_estimators=2, random_state=0).fit(X, CLASSES)
    with pytest.raises(UnsupportedLayerError, match="counts votes of LinearSVC estimators"):
        dcembed.ensemble(without)
    many = np.r_[np.full(78, 0), 1, 2]
    lacking = BaggingClassifier(LogisticRegression(), n_estimators=5, max_samples=0.5, random_state=0).fit(
        X, np.where(many > 0, many, CLASSES * 3)
    )
    if any(len(part.classes_) != lacking.n_classes_ for part in lacking.estimators_):
        with pytest.raises(UnsupportedLayerError, match="have not seen all classes"):
            dcembed.ensemble(lacking)


def test_what_is_not_fitted_or_has_trees():
    with pytest.raises(InputError, match=r"the BaggingRegressor is not fitted\. Call its fit"):
        dcembed.ensemble(BaggingRegressor(small()))
    with pytest.raises(UnsupportedLayerError, match="member 0 cannot be read"):
        dcembed.ensemble(BaggingRegressor(n_estimators=2).fit(X, Y))
    with pytest.raises(InputError, match="BaggingRegressor or VotingRegressor"):
        dcembed.ensemble(Ridge().fit(X, Y))
    with pytest.raises(UnsupportedLayerError, match="member 0 cannot be read"):
        dcembed.ensemble(RandomForestRegressor(n_estimators=2).fit(X, Y))


def test_a_member_that_encodes_its_columns():
    # Of 0.0 and -0.0 an encoder names the one that comes first: members have other names, and the message is about what is behind them.
    categories = np.round(X[:, :2])
    model = BaggingRegressor(make_pipeline(OneHotEncoder(handle_unknown="ignore"), Ridge()), n_estimators=2, random_state=0).fit(
        categories, Y
    )
    with pytest.raises(NetworkError, match=r"member 0 has \d inputs where 2 are expected\. .*encodes its columns"):
        dcembed.ensemble(model)


def test_scikit_learn_is_not_imported_for_networks():
    code = (
        "import sys, dcembed; net = dcembed.build_mlp([[[1.0]]], [None]); dcembed.ensemble([net, net], output='max')([[1.0]]); "
        "print('sklearn' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=True)
    assert run.stdout.strip() == "False"
