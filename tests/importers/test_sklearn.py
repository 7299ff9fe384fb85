"""Import of scikit-learn estimators."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("sklearn")

from scipy.special import expit, softmax
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from dcembed.errors import ImportMismatchError, NetworkError, UnsupportedLayerError
from dcembed.importers import load_network, sklearn_

from .models import build_sklearn_regressor

RNG = np.random.default_rng(3)
X = 5.0 + 3.0 * RNG.normal(size=(60, 3))
Y = np.abs(X[:, 0] - 5.0) - X[:, 1]
NEW = 5.0 + 6.0 * np.random.default_rng(4).normal(size=(40, 3))


@pytest.fixture(autouse=True)
def _quiet():
    """Few iterations are enough here; the warning that more would be better is not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def regressor(*hidden, **options):
    return MLPRegressor(hidden_layer_sizes=hidden or (5, 4), max_iter=10, random_state=0, **options)


@pytest.mark.parametrize("activation", ["relu", "identity"])
@pytest.mark.parametrize("hidden", [(5,), (4, 3, 2)])
def test_regressor(activation, hidden):
    model = regressor(*hidden, activation=activation).fit(X, Y)
    network = load_network(model)
    np.testing.assert_allclose(network(NEW)[:, 0], model.predict(NEW), rtol=1e-9)
    assert network.widths == (hidden if activation == "relu" else ())


def test_several_outputs():
    model = regressor().fit(X, np.column_stack([Y, -Y, Y**2]))
    np.testing.assert_allclose(load_network(model)(NEW), model.predict(NEW), rtol=1e-9)


def test_single_precision():
    model = regressor().fit(X.astype(np.float32), Y.astype(np.float32))
    np.testing.assert_allclose(load_network(model)(NEW)[:, 0], model.predict(NEW), rtol=1e-6)


def test_binary_classifier_is_one_logit():
    model = MLPClassifier(hidden_layer_sizes=(5,), max_iter=10, random_state=0).fit(X, Y > 0)
    network = load_network(model)
    assert network.num_outputs == 1
    np.testing.assert_allclose(expit(network(NEW)[:, 0]), model.predict_proba(NEW)[:, 1], atol=1e-12)
    np.testing.assert_array_equal(network(NEW)[:, 0] > 0, model.predict(NEW))


def test_classes_are_scores():
    model = MLPClassifier(hidden_layer_sizes=(5,), max_iter=10, random_state=0).fit(X, np.digitize(Y, [-6.0, -2.0, 0.0]))
    network = load_network(model)
    assert network.num_outputs == 4
    np.testing.assert_allclose(softmax(network(NEW), axis=1), model.predict_proba(NEW), atol=1e-12)


def test_labels_are_logits():
    model = MLPClassifier(hidden_layer_sizes=(5,), max_iter=10, random_state=0).fit(X, np.column_stack([Y > 0, Y > -4.0, X[:, 2] > 5.0]))
    network = load_network(model)
    np.testing.assert_allclose(expit(network(NEW)), model.predict_proba(NEW), atol=1e-12)


SCALERS = {
    "standard": [StandardScaler()],
    "standard without mean": [StandardScaler(with_mean=False)],
    "standard without std": [StandardScaler(with_std=False)],
    "minmax": [MinMaxScaler((-1, 2))],
    "minmax clip": [MinMaxScaler(clip=True)],
    "both": [StandardScaler(), "passthrough", MinMaxScaler(), None],
    "nested": [make_pipeline(StandardScaler(), make_pipeline(MinMaxScaler())), "passthrough"],
}


@pytest.mark.parametrize("name", SCALERS)
def test_pipeline(name):
    steps = [(f"step{index}", step) for index, step in enumerate(SCALERS[name])]
    model = Pipeline([*steps, ("mlp", regressor())]).fit(X, Y)
    np.testing.assert_allclose(load_network(model)(NEW)[:, 0], model.predict(NEW), rtol=1e-8, atol=1e-8)


def test_classifier_in_a_pipeline():
    model = make_pipeline(StandardScaler(), MLPClassifier(hidden_layer_sizes=(5,), max_iter=10, random_state=0)).fit(X, Y > 0)
    np.testing.assert_allclose(expit(load_network(model)(NEW)[:, 0]), model.predict_proba(NEW)[:, 1], atol=1e-12)


def test_model_inside_a_pipeline_of_a_pipeline():
    model = make_pipeline(MinMaxScaler(), make_pipeline(StandardScaler(), regressor())).fit(X, Y)
    np.testing.assert_allclose(load_network(model)(NEW)[:, 0], model.predict(NEW), rtol=1e-8, atol=1e-8)


def test_all_unsupported_steps_are_named():
    model = Pipeline([("pca", PCA(2)), ("scale", StandardScaler()), ("mlp", regressor(activation="tanh"))]).fit(X, Y)
    with pytest.raises(UnsupportedLayerError) as info:
        load_network(model)
    assert str(info.value) == (
        "The scikit-learn model has 2 layers that cannot be embedded:\n"
        "  layer 0, 'pca': PCA\n"
        "  layer 2, 'mlp': MLPRegressor (activation='tanh'; accepted are 'relu' and 'identity')\n"
        "Accepted are piecewise-linear layers: MLPRegressor and MLPClassifier with activation 'relu' or 'identity', after StandardScaler "
        "and MinMaxScaler steps of a Pipeline.\n"
        "Replace what is listed (ReLU or LeakyReLU instead of smooth activations) and retrain, or pass the part of the model before it."
    )


def test_other_estimators():
    with pytest.raises(UnsupportedLayerError, match="'LinearRegression': LinearRegression"):
        load_network(LinearRegression().fit(X, Y))
    with pytest.raises(UnsupportedLayerError, match="the last step must be"):
        load_network(StandardScaler().fit(X))

    class Doubled(MLPRegressor):
        def predict(self, X):
            return 2.0 * super().predict(X)

    with pytest.raises(UnsupportedLayerError, match="Doubled"):
        load_network(Doubled(hidden_layer_sizes=(3,), max_iter=5).fit(X, Y))


def test_poisson_loss():
    try:
        model = regressor(loss="poisson").fit(X, np.abs(Y))
    except (TypeError, ValueError):
        pytest.skip("this scikit-learn has no poisson loss")
    with pytest.raises(UnsupportedLayerError, match="output activation"):
        load_network(model)


def test_unfitted():
    with pytest.raises(NetworkError, match=r"not fitted: 'MLPRegressor' \(MLPRegressor\) has no weights. Call fit first"):
        load_network(MLPRegressor())
    with pytest.raises(NetworkError, match="not fitted: 'standardscaler'"):
        load_network(make_pipeline(StandardScaler(), MLPRegressor()))


def test_empty():
    with pytest.raises(NetworkError, match="The network is empty"):
        load_network(Pipeline([("nothing", "passthrough")]))


def test_nonfinite_weights():
    model = build_sklearn_regressor()
    model.coefs_[0][0, 0] = np.nan
    with pytest.raises(NetworkError, match="NaN or infinite"):
        load_network(model)


@pytest.mark.parametrize("target", [Y, Y > 0])
def test_wrong_import_is_noticed(monkeypatch, target):
    kind = MLPRegressor if target.dtype == float else MLPClassifier
    model = make_pipeline(StandardScaler(), kind(hidden_layer_sizes=(5,), max_iter=10, random_state=0)).fit(X, target)
    monkeypatch.setitem(sklearn_.STEPS, StandardScaler, lambda builder, scaler, value: builder.scale(value, 1.0 / scaler.scale_))
    with pytest.raises(ImportMismatchError, match="does not reproduce the scikit-learn model"):
        load_network(model)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=3), st.booleans(), st.sampled_from([StandardScaler, MinMaxScaler]))
def test_random_architecture(hidden, clip, scaler):
    model = make_pipeline(MinMaxScaler(clip=clip), scaler(), MLPRegressor(hidden_layer_sizes=hidden, max_iter=3, random_state=1)).fit(X, Y)
    np.testing.assert_allclose(load_network(model)(NEW)[:, 0], model.predict(NEW), rtol=1e-8, atol=1e-8)
