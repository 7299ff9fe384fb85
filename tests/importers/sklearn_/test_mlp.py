"""Perceptrons of scikit-learn: activations, losses, classes, and what is asked of their outputs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("sklearn")

from scipy.special import expit, softmax
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC

from dcembed.errors import InputError, UnsupportedLayerError
from dcembed.importers import load_network

from .perceptrons import NEW, X, Y, classifier, quiet, regressor  # noqa: F401


@pytest.mark.parametrize(("activation", "name"), [("relu", "relu"), ("identity", None), ("logistic", "sigmoid"), ("tanh", "tanh")])
@pytest.mark.parametrize("hidden", [(5,), (4, 3, 2)])
def test_regressor(activation, name, hidden):
    model = regressor(*hidden, activation=activation).fit(X, Y)
    network = load_network(model)
    np.testing.assert_allclose(network(NEW)[:, 0], model.predict(NEW), rtol=1e-9)
    assert network.widths == (hidden if name else ())
    assert {kind.name for kind in network.activations} == ({name} if name else set())


def test_single_precision():
    model = regressor().fit(X.astype(np.float32), Y.astype(np.float32))
    np.testing.assert_allclose(load_network(model)(NEW)[:, 0], model.predict(NEW), rtol=1e-6)


def test_poisson_loss_is_an_exponential_at_the_end():
    try:
        model = make_pipeline(StandardScaler(), regressor(loss="poisson")).fit(X, np.abs(Y))
    except (TypeError, ValueError):
        pytest.skip("this scikit-learn has no poisson loss")
    network = load_network(model)
    assert network.activations[-1].name == "exp"
    np.testing.assert_allclose(network(NEW)[:, 0], model.predict(NEW), rtol=1e-9)


def test_binary_classifier_is_one_logit():
    model = classifier().fit(X, Y > 0)
    for outputs in (None, "logits"):
        network = load_network(model, outputs=outputs)
        assert network.num_outputs == 1
        np.testing.assert_allclose(expit(network(NEW)[:, 0]), model.predict_proba(NEW)[:, 1], atol=1e-12)
        np.testing.assert_array_equal(network(NEW)[:, 0] > 0, model.predict(NEW))


def test_classes_are_scores():
    model = classifier().fit(X, np.digitize(Y, [-6.0, -2.0, 0.0]))
    network = load_network(model)
    assert network.num_outputs == 4
    np.testing.assert_allclose(softmax(network(NEW), axis=1), model.predict_proba(NEW), atol=1e-12)


def test_labels_are_logits():
    model = classifier().fit(X, np.column_stack([Y > 0, Y > -4.0, X[:, 2] > 5.0]))
    network = load_network(model)
    np.testing.assert_allclose(expit(network(NEW)), model.predict_proba(NEW), atol=1e-12)


def test_what_can_be_asked_of_outputs():
    hinge, logistic = LinearSVC().fit(X, Y > 0), LogisticRegression().fit(X, Y > 0)
    np.testing.assert_allclose(load_network(logistic, outputs="probabilities")(NEW), logistic.predict_proba(NEW), atol=1e-12)
    np.testing.assert_allclose(load_network(logistic, outputs="logits")(NEW)[:, 0], logistic.decision_function(NEW))
    with pytest.raises(InputError, match="outputs='logits', but the LinearSVC does not end in a softmax or logistic function"):
        load_network(hinge, outputs="logits")
    with pytest.raises(UnsupportedLayerError, match=r"LinearSVC .*has no probabilities.*leave outputs out for its scores"):
        load_network(hinge, outputs="probabilities")
    for outputs in ("logits", "probabilities"):
        with pytest.raises(InputError, match=f"outputs='{outputs}', but a LinearRegression is no classifier"):
            load_network(LinearRegression().fit(X, Y), outputs=outputs)
    with pytest.raises(InputError, match=r"outputs is 'yes'. Of a scikit-learn classifier 'probabilities' and 'logits' can be had"):
        load_network(logistic, outputs="yes")


def test_output_activation_set_by_hand():
    """As scripts for gurobi-ml do."""
    for target in (Y > 0, np.digitize(Y, [-6.0, 0.0])):
        model = classifier().fit(X, target)
        model.out_activation_ = "identity"
        assert load_network(model).num_outputs == (1 if target.dtype == bool else 3)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=3), st.booleans(), st.sampled_from([StandardScaler, MinMaxScaler]))
def test_random_architecture(hidden, clip, scaler):
    model = make_pipeline(MinMaxScaler(clip=clip), scaler(), MLPRegressor(hidden_layer_sizes=hidden, max_iter=3, random_state=1)).fit(X, Y)
    np.testing.assert_allclose(load_network(model)(NEW)[:, 0], model.predict(NEW), rtol=1e-8, atol=1e-8)
