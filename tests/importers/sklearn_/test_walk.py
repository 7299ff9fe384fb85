"""Pipelines and other models of scikit-learn: what is inside them, what is broken in them, and how few units they take."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.ensemble import VotingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import Lasso, LinearRegression, PoissonRegressor, SGDClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler
from sklearn.svm import SVR

from dcembed.errors import ImportMismatchError, NetworkError, UnsupportedLayerError
from dcembed.importers import load_network
from dcembed.importers.sklearn_.tables import TABLES

from ..models import build_sklearn_regressor
from .data import sparse_data
from .perceptrons import NEW, X, Y, quiet, regressor  # noqa: F401


def test_all_unsupported_steps_are_named():
    steps = [("bins", FunctionOf()), ("scale", StandardScaler()), ("mlp", Doubled(hidden_layer_sizes=(3,), max_iter=5))]
    with pytest.raises(UnsupportedLayerError) as info:
        load_network(Pipeline(steps).fit(X, Y))
    assert str(info.value) == (
        "The scikit-learn model has 2 layers that cannot be embedded:\n"
        "  layer 0, 'bins': FunctionOf\n"
        "  layer 2, 'mlp': Doubled\n"
        "Accepted are multilayer perceptrons, linear and kernel models, Gaussian processes, votes, bags and stacks of them, and in front of them "
        "scalers, encoders, imputers, selectors, polynomial features, decompositions and column transformers.\n"
        "Replace what is listed, or pass the part of the model that goes without it."
    )


class Doubled(MLPRegressor):
    """Predicts something else."""

    def predict(self, X):
        return 2.0 * super().predict(X)


class FunctionOf(StandardScaler):
    """Transforms to something else."""

    def transform(self, X, copy=None):
        return np.sin(super().transform(X, copy))


class Renamed(MLPRegressor):
    """Has a method more, and computes the same."""

    def describe(self):
        return "mine"


def test_a_subclass_that_computes_the_same_is_read():
    model = Renamed(hidden_layer_sizes=(3,), max_iter=5).fit(X, Y)
    np.testing.assert_allclose(load_network(model)(NEW)[:, 0], model.predict(NEW), rtol=1e-9)
    with pytest.raises(UnsupportedLayerError, match="'Doubled': Doubled"):
        load_network(Doubled(hidden_layer_sizes=(3,), max_iter=5).fit(X, Y))


def test_a_frozen_estimator_is_the_one_inside():
    frozen = pytest.importorskip("sklearn.frozen", reason="this scikit-learn has no frozen estimators")
    model = frozen.FrozenEstimator(make_pipeline(StandardScaler(), regressor()).fit(X, Y))
    np.testing.assert_allclose(load_network(model)(NEW)[:, 0], model.predict(NEW), rtol=1e-9)


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
    wrong = {**TABLES.methods["transform"], "StandardScaler": lambda builder, scaler, value: builder.scale(value, 1.0 / scaler.scale_)}
    monkeypatch.setitem(TABLES.methods, "transform", wrong)
    with pytest.raises(ImportMismatchError, match="does not reproduce the scikit-learn model"):
        load_network(model)


def test_rounding_of_the_model_is_no_mistake_of_the_import():
    """Dual coefficients that cancel: the linear kernel is folded to one matrix here, and added up over support vectors there."""
    model = make_pipeline(StandardScaler(), SVR(kernel="linear", C=1e6, epsilon=1e-3, max_iter=20_000)).fit(X, Y)
    assert np.abs(model[-1].dual_coef_).sum() > 1e5
    assert load_network(model).num_hidden == 0


def test_sparse_training_data_and_sparse_coefficients():
    data = sparse_data()
    target = np.asarray(data.sum(axis=1)).reshape(-1)
    points = data.toarray()[:20]
    for model in (SVR(), Lasso(0.1), make_pipeline(StandardScaler(with_mean=False), regressor())):
        model.fit(data, target)
        np.testing.assert_allclose(load_network(model)(points)[:, 0], model.predict(points), rtol=1e-9, atol=1e-9)
    thinned = SGDClassifier(penalty="l1", random_state=0).fit(data, target > 5.0).sparsify()
    np.testing.assert_allclose(load_network(thinned)(points)[:, 0], thinned.decision_function(points), rtol=1e-9)


def test_exponentials_are_compared_where_they_are_finite():
    model = PoissonRegressor(alpha=0.0).fit(X, np.exp(X[:, 0]))
    assert model.coef_[0] > 0.5
    np.testing.assert_allclose(load_network(model)(NEW)[:, 0], model.predict(NEW), rtol=1e-9)
    steps = [FunctionTransformer(function) for function in (np.abs, np.negative, np.sqrt)]
    with pytest.raises(NetworkError, match=r"finite predictions at fewer than 8. Standardize its columns"):
        load_network(make_pipeline(*steps).fit(X))


def test_an_isotonic_regression_is_constant_outside_of_its_thresholds():
    model = IsotonicRegression().fit(X[:, 0], Y)
    inside = np.linspace(X[:, 0].min(), X[:, 0].max(), 30)
    network = load_network(model)
    np.testing.assert_allclose(network(inside[:, None])[:, 0], model.predict(inside), atol=1e-12)
    assert network([[-1e3], [1e3]]).ravel() == pytest.approx(model.predict(inside[[0, -1]]))


def test_a_periodic_kernel_of_one_column():
    column = X[:, :1]
    kernel = gp.ConstantKernel(2.0) * gp.ExpSineSquared(1.5, 4.0) + gp.WhiteKernel(0.1)
    model = GaussianProcessRegressor(kernel, optimizer=None).fit(column, np.sin(column[:, 0]))
    np.testing.assert_allclose(load_network(model)(NEW[:, :1])[:, 0], model.predict(NEW[:, :1]), atol=1e-9)


def test_equal_entries_of_training_points_share_a_square():
    grid = np.stack(np.meshgrid(np.arange(6.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    model = GaussianProcessRegressor(gp.RBF(2.0), optimizer=None, alpha=0.1).fit(grid, grid.sum(axis=1))
    assert load_network(model).widths == (11, 30)


def test_products_are_squares_and_squares_are_one_unit():
    model = PolynomialFeatures(2).fit(X)
    network = load_network(model)
    assert [kind.name for kind in network.activations] == ["square"]
    # Three squares, and two for each of three products.
    assert network.widths == (9,)


def test_the_parts_of_an_ensemble_are_side_by_side():
    parts = [("a", regressor(5, 4)), ("b", make_pipeline(StandardScaler(), regressor(6))), ("c", LinearRegression())]
    assert load_network(VotingRegressor(parts).fit(X, Y)).widths == (11, 4)
