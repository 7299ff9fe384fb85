"""Linear models, and those that are linear behind a link function."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.importers.operations import Unsupported
from dcembed.network.activations import find_activation
from dcembed.network.builder import NetworkBuilder, Tensor

# Those with coef_ and intercept_, whose predictions are nothing else.
REGRESSORS = (
    "LinearRegression",
    "Ridge",
    "RidgeCV",
    "Lasso",
    "LassoCV",
    "LassoLars",
    "LassoLarsCV",
    "LassoLarsIC",
    "Lars",
    "LarsCV",
    "ElasticNet",
    "ElasticNetCV",
    "MultiTaskLasso",
    "MultiTaskLassoCV",
    "MultiTaskElasticNet",
    "MultiTaskElasticNetCV",
    "OrthogonalMatchingPursuit",
    "OrthogonalMatchingPursuitCV",
    "BayesianRidge",
    "ARDRegression",
    "HuberRegressor",
    "QuantileRegressor",
    "TheilSenRegressor",
    "SGDRegressor",
    "PassiveAggressiveRegressor",
    "LinearSVR",
)
CLASSIFIERS = (
    "LogisticRegression",
    "LogisticRegressionCV",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "LinearSVC",
    "SGDClassifier",
    "Perceptron",
    "PassiveAggressiveClassifier",
    "LinearDiscriminantAnalysis",
)
# Those whose predictions are exp(coef_ @ x + intercept_), at least by default.
LOG_LINKS = ("PoissonRegressor", "GammaRegressor", "TweedieRegressor")


def affine(builder: NetworkBuilder, model: Any, value: Tensor) -> Tensor:
    """coef_ @ x + intercept_."""
    # After `sparsify` the coefficients are a sparse matrix.
    weight = sp.csr_array(model.coef_) if sp.issparse(model.coef_) else np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    bias = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64).reshape(-1), (weight.shape[0],))
    return builder.linear(value, weight, bias)


def generalized(builder: NetworkBuilder, model: Any, value: Tensor) -> Tensor:
    """exp(coef_ @ x + intercept_), or without exp where the link is the identity."""
    link = getattr(model, "link", "log")
    if link == "auto":
        link = "identity" if model.power <= 0 else "log"
    if link not in ("identity", "log"):
        raise Unsupported(f"link='{link}'; accepted are 'identity' and 'log'")
    inner = affine(builder, model, value)
    return inner if link == "identity" else builder.activate(inner, find_activation("exp"))


def partial_least_squares(builder: NetworkBuilder, model: Any, value: Tensor) -> Tensor:
    """((x - mean) / std) @ x_rotations_ @ y_loadings_.T * y_std + y_mean."""
    weight = (model.x_rotations_ @ model.y_loadings_.T).T * np.reshape(model._y_std, (-1, 1)) / model._x_std
    return builder.linear(builder.shift(value, -model._x_mean), weight, model._y_mean)


def latent_scores(builder: NetworkBuilder, model: Any, value: Tensor) -> Tensor:
    """What PLSRegression and its like give as a transformer: ((x - mean) / std) @ x_rotations_."""
    rotations = model.x_rotations_ if hasattr(model, "x_rotations_") else model.x_weights_
    return builder.linear(builder.scale(builder.shift(value, -model._x_mean), 1.0 / model._x_std), rotations.T)


def constant(builder: NetworkBuilder, model: Any, value: Tensor) -> Tensor:
    """A DummyRegressor."""
    outputs = np.asarray(model.constant_, dtype=np.float64).reshape(-1)
    return builder.linear(value, np.zeros((outputs.size, value.shape[1])), outputs)


PREDICT = {
    **dict.fromkeys(REGRESSORS, affine),
    **dict.fromkeys(LOG_LINKS, generalized),
    **dict.fromkeys(("PLSRegression", "PLSCanonical", "CCA"), partial_least_squares),
    "DummyRegressor": constant,
}
TRANSFORM = dict.fromkeys(("PLSRegression", "PLSCanonical", "CCA", "PLSSVD"), latent_scores)
SCORES = dict.fromkeys(CLASSIFIERS, affine)
