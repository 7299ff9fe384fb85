"""Models of scikit-learn that are smooth, or have preprocessing, are minimized over a box as well as a fine grid finds."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("cvxpy", reason="cvxpy is not installed")
pytest.importorskip("sklearn", reason="scikit-learn is not installed")

import cvxpy as cp
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import VotingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.linear_model import Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, PowerTransformer, StandardScaler
from sklearn.svm import SVR

from dcembed.cvxpy import embed

RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, (40, 2))
Y = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.2 * X[:, 0] * X[:, 1]
GRID = np.stack(np.meshgrid(np.linspace(-2.0, 2.0, 81), np.linspace(-2.0, 2.0, 81)), axis=-1).reshape(-1, 2)

MODELS = {
    "support vectors": make_pipeline(StandardScaler(), SVR(C=10.0)),
    "gaussian process": GaussianProcessRegressor(gp.RBF(1.0) + gp.WhiteKernel(0.01), optimizer=None, normalize_y=True),
    "polynomial": make_pipeline(PowerTransformer(), PolynomialFeatures(3), Ridge()),
    "target": TransformedTargetRegressor(
        make_pipeline(PolynomialFeatures(2), Ridge()), func=np.arctan, inverse_func=np.tanh, check_inverse=False
    ),
    "votes": VotingRegressor(
        [
            ("tanh", MLPRegressor(hidden_layer_sizes=(8,), activation="tanh", solver="lbfgs", max_iter=100, random_state=0)),
            ("relu", MLPRegressor(hidden_layer_sizes=(8,), solver="lbfgs", max_iter=100, random_state=0)),
        ]
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_minimum_over_a_box(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MODELS[name].fit(X, Y)
    x = cp.Variable(2)
    f = embed(model, x)
    problem = cp.Problem(cp.Minimize(f[0]), [x >= -2, x <= 2])
    problem.solve(method="dcembed", max_starts=3, seed=1)
    assert model.predict(x.value[None])[0] == pytest.approx(problem.value, abs=1e-6)
    assert problem.value <= model.predict(GRID).min() + 1e-4
