"""Regressors of scikit-learn, one of every kind that is read."""

from __future__ import annotations

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.cross_decomposition import CCA, PLSCanonical, PLSRegression
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import BaggingRegressor, StackingRegressor, VotingRegressor
from sklearn.experimental import enable_halving_search_cv, enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import RFE, RFECV
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    ARDRegression,
    BayesianRidge,
    ElasticNet,
    ElasticNetCV,
    GammaRegressor,
    HuberRegressor,
    Lars,
    LarsCV,
    Lasso,
    LassoCV,
    LassoLars,
    LassoLarsCV,
    LassoLarsIC,
    LinearRegression,
    MultiTaskElasticNet,
    MultiTaskElasticNetCV,
    MultiTaskLasso,
    MultiTaskLassoCV,
    OrthogonalMatchingPursuit,
    OrthogonalMatchingPursuitCV,
    PoissonRegressor,
    QuantileRegressor,
    RANSACRegressor,
    Ridge,
    RidgeCV,
    SGDRegressor,
    TheilSenRegressor,
    TweedieRegressor,
)
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, HalvingRandomSearchCV, RandomizedSearchCV
from sklearn.multioutput import MultiOutputRegressor, RegressorChain
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVR, LinearSVR, NuSVR

from .data import mlp, older


def _gp(kernel, **options):
    return GaussianProcessRegressor(kernel, optimizer=None, alpha=1e-3, **options)


# Name: (estimator, target).
REGRESSORS = {
    **{f"mlp {activation}": (mlp(activation=activation), "number") for activation in ("identity", "logistic", "tanh", "relu")},
    "mlp of several outputs": (mlp(), "numbers"),
    "mlp deep": (mlp(hidden=(4, 3, 2), activation="tanh"), "number"),
    "linear": (LinearRegression(), "number"),
    "linear without intercept": (LinearRegression(fit_intercept=False), "number"),
    "linear of several outputs": (LinearRegression(), "numbers"),
    "ridge": (Ridge(), "numbers"),
    "ridge cv": (RidgeCV(), "number"),
    "lasso": (Lasso(0.1), "number"),
    "lasso cv": (LassoCV(cv=3), "number"),
    "lasso lars": (LassoLars(0.01), "number"),
    "lasso lars cv": (LassoLarsCV(cv=3), "number"),
    "lasso lars ic": (LassoLarsIC(), "number"),
    "lars": (Lars(), "number"),
    "lars cv": (LarsCV(cv=3), "number"),
    "elastic net": (ElasticNet(0.1), "number"),
    "elastic net cv": (ElasticNetCV(cv=3), "number"),
    "multi-task lasso": (MultiTaskLasso(0.1), "numbers"),
    "multi-task lasso cv": (MultiTaskLassoCV(cv=3), "numbers"),
    "multi-task elastic net": (MultiTaskElasticNet(0.1), "numbers"),
    "multi-task elastic net cv": (MultiTaskElasticNetCV(cv=3), "numbers"),
    "matching pursuit": (OrthogonalMatchingPursuit(), "number"),
    "matching pursuit cv": (OrthogonalMatchingPursuitCV(cv=3), "number"),
    "bayesian ridge": (BayesianRidge(), "number"),
    "ard": (ARDRegression(), "number"),
    "huber": (HuberRegressor(), "number"),
    "quantile": (QuantileRegressor(alpha=0.01), "number"),
    "theil-sen": (TheilSenRegressor(random_state=0, max_subpopulation=200), "number"),
    "sgd": (SGDRegressor(random_state=0, eta0=1e-3), "number"),
    **{kind.__name__: (kind(random_state=0), "number") for kind in older("PassiveAggressiveRegressor")},
    "linear svr": (LinearSVR(random_state=0), "number"),
    "ransac": (RANSACRegressor(random_state=0), "number"),
    "ransac of ridge": (RANSACRegressor(Ridge(), min_samples=20, random_state=0), "number"),
    "poisson": (PoissonRegressor(), "positive"),
    "gamma": (GammaRegressor(), "positive"),
    "tweedie": (TweedieRegressor(power=1.5), "positive"),
    "tweedie with identity": (TweedieRegressor(power=0), "number"),
    "tweedie with a link": (TweedieRegressor(power=0, link="log"), "positive"),
    "pls": (PLSRegression(2), "numbers"),
    "pls of one output": (PLSRegression(2), "number"),
    "pls without scale": (PLSRegression(2, scale=False), "numbers"),
    "pls canonical": (PLSCanonical(2), "numbers"),
    "cca": (CCA(2), "numbers"),
    "dummy": (DummyRegressor(), "numbers"),
    **{f"svr {kernel}": (SVR(kernel=kernel, C=5.0), "number") for kernel in ("linear", "poly", "rbf", "sigmoid")},
    "svr poly of degree 2": (SVR(kernel="poly", degree=2, gamma=0.2, coef0=1.0), "number"),
    "nu-svr": (NuSVR(gamma="auto"), "number"),
    **{f"kernel ridge {kernel}": (KernelRidge(kernel=kernel), "numbers") for kernel in ("linear", "poly", "rbf", "laplacian", "sigmoid")},
    "kernel ridge of one output": (KernelRidge(kernel="rbf", gamma=0.3), "number"),
    "gaussian process": (_gp(None), "number"),
    "gaussian process normalized": (
        _gp(gp.ConstantKernel(2.0) * gp.RBF([1.0, 2.0, 3.0, 4.0]) + gp.WhiteKernel(0.1), normalize_y=True),
        "number",
    ),
    "gaussian process of several outputs": (_gp(gp.RBF(2.0), normalize_y=True), "numbers"),
    **{f"gaussian process matern {nu}": (_gp(gp.Matern(2.0, nu=nu)), "number") for nu in (0.5, 1.5, 2.5, np.inf)},
    "gaussian process rational": (_gp(gp.RationalQuadratic(2.0, alpha=0.7)), "number"),
    "gaussian process linear": (_gp(gp.DotProduct(1.0) + gp.ConstantKernel(0.5)), "number"),
    "gaussian process quadratic": (_gp(gp.DotProduct(0.5) ** 2), "number"),
    "gaussian process product": (_gp(gp.RBF(3.0) * gp.DotProduct(1.0)), "number"),
    "multi-output": (MultiOutputRegressor(make_pipeline(StandardScaler(), mlp())), "numbers"),
    "chain": (RegressorChain(Ridge(), order=[2, 0, 1]), "numbers"),
    "voting": (VotingRegressor([("a", Ridge()), ("b", "drop"), ("c", mlp(activation="tanh"))], weights=[1, 5, 3]), "number"),
    "voting without weights": (VotingRegressor([("a", Ridge()), ("b", SVR())]), "number"),
    "bagging": (BaggingRegressor(mlp(), n_estimators=3, random_state=0), "number"),
    "bagging of columns": (BaggingRegressor(Ridge(), n_estimators=4, max_features=0.5, random_state=0), "numbers"),
    "stacking": (StackingRegressor([("a", Ridge()), ("b", SVR())], final_estimator=mlp(), cv=2), "number"),
    "stacking with columns": (
        StackingRegressor([("a", Ridge()), ("b", mlp())], final_estimator=LinearRegression(), passthrough=True, cv=2),
        "number",
    ),
    "target scaled": (TransformedTargetRegressor(mlp(), transformer=StandardScaler()), "numbers"),
    "target min-max": (TransformedTargetRegressor(Ridge(), transformer=MinMaxScaler((-1, 1))), "number"),
    "target robust": (TransformedTargetRegressor(Ridge(), transformer=make_pipeline(RobustScaler(), MaxAbsScaler())), "number"),
    "target log": (TransformedTargetRegressor(Ridge(), func=np.log, inverse_func=np.exp), "positive"),
    "target log1p": (TransformedTargetRegressor(mlp(), func=np.log1p, inverse_func=np.expm1), "positive"),
    "target sqrt": (TransformedTargetRegressor(Ridge(), func=np.sqrt, inverse_func=np.square), "positive"),
    "target function": (TransformedTargetRegressor(Ridge(), transformer=FunctionTransformer(np.log, np.exp)), "positive"),
    "target as it is": (TransformedTargetRegressor(Ridge()), "number"),
    "target quantiles": (TransformedTargetRegressor(Ridge(), transformer=QuantileTransformer(n_quantiles=20)), "number"),
    "target yeo-johnson": (TransformedTargetRegressor(Ridge(), transformer=PowerTransformer()), "number"),
    "target box-cox": (TransformedTargetRegressor(Ridge(), transformer=PowerTransformer("box-cox")), "positive"),
    "grid search": (GridSearchCV(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0.1, 1.0]}, cv=2), "number"),
    "random search": (RandomizedSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, n_iter=2, cv=2, random_state=0), "number"),
    "halving search": (HalvingGridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=2, random_state=0), "number"),
    "halving random search": (HalvingRandomSearchCV(Ridge(), {"alpha": [0.1, 1.0, 2.0]}, cv=2, random_state=0), "number"),
    "elimination": (RFE(Ridge(), n_features_to_select=2), "number"),
    "elimination cv": (RFECV(Ridge(), cv=2), "number"),
    "pipeline": (
        Pipeline([("a", StandardScaler()), ("b", "passthrough"), ("c", None), ("d", make_pipeline(MinMaxScaler(), mlp()))]),
        "number",
    ),
    "polynomial regression": (make_pipeline(StandardScaler(), PolynomialFeatures(3), Ridge()), "number"),
    "support vectors behind a scaler": (make_pipeline(StandardScaler(), SVR()), "number"),
}
