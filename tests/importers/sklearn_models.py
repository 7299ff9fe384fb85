"""Fitted models of scikit-learn, one of every kind that is read: the conformance table of the importer."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import scipy.sparse as sp
import sklearn.linear_model
from scipy.special import expit
from sklearn.cluster import FeatureAgglomeration
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.cross_decomposition import CCA, PLSSVD, PLSCanonical, PLSRegression
from sklearn.decomposition import (
    PCA,
    FactorAnalysis,
    FastICA,
    IncrementalPCA,
    KernelPCA,
    MiniBatchSparsePCA,
    SparsePCA,
    TruncatedSVD,
)
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.experimental import enable_halving_search_cv, enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import (
    RFE,
    RFECV,
    GenericUnivariateSelect,
    SelectFdr,
    SelectFpr,
    SelectFromModel,
    SelectFwe,
    SelectKBest,
    SelectPercentile,
    SequentialFeatureSelector,
    VarianceThreshold,
    f_regression,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.impute import IterativeImputer, KNNImputer, MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
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
    LogisticRegression,
    LogisticRegressionCV,
    MultiTaskElasticNet,
    MultiTaskElasticNetCV,
    MultiTaskLasso,
    MultiTaskLassoCV,
    OrthogonalMatchingPursuit,
    OrthogonalMatchingPursuitCV,
    Perceptron,
    PoissonRegressor,
    QuantileRegressor,
    RANSACRegressor,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
    SGDClassifier,
    SGDRegressor,
    TheilSenRegressor,
    TweedieRegressor,
)
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, HalvingRandomSearchCV, RandomizedSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor, RegressorChain
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
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
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

RNG = np.random.default_rng(3)
X = 2.0 + 1.5 * RNG.normal(size=(70, 4))
Y = np.abs(X[:, 0] - 2.0) - X[:, 1] + 0.3 * X[:, 2] * X[:, 3]
TARGETS = {
    "number": Y,
    "positive": np.exp(0.2 * Y),
    "numbers": np.column_stack([Y, -Y, X[:, 0] ** 2]),
    "two": np.where(Y > 0, "yes", "no"),
    "three": np.digitize(Y, [-1.0, 1.0]),
    "labels": np.column_stack([Y > 0, X[:, 2] > 2.0, X[:, 3] > 2.5]).astype(int),
    "half": np.where(np.arange(70) % 3 == 0, -1, (Y > 0).astype(int)),
}
# Points to compare at, also far from the data; positive ones for what is only defined there.
NEW = 2.0 + 3.0 * np.random.default_rng(4).normal(size=(40, 4))
POSITIVE = np.abs(NEW) + 0.05


def older(name):
    """A class that later versions of scikit-learn leave out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [getattr(sklearn.linear_model, name)] if hasattr(sklearn.linear_model, name) else []


def mlp(kind=MLPRegressor, hidden=(5, 4), **options):
    return kind(hidden_layer_sizes=hidden, max_iter=15, random_state=0, **options)


def _with_gaps():
    data = X.copy()
    data[::7, 1] = np.nan
    data[::5, 3] = np.nan
    return data


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
CLASSIFIERS = {
    **{f"mlp of {target}": (mlp(MLPClassifier, activation="tanh"), target) for target in ("two", "three", "labels")},
    **{f"logistic of {target}": (LogisticRegression(), target) for target in ("two", "three")},
    "logistic cv": (LogisticRegressionCV(cv=2), "three"),
    "sgd of two": (SGDClassifier(loss="log_loss", random_state=0), "two"),
    "sgd of three": (make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", alpha=0.1, random_state=0)), "three"),
    **{f"discriminants of {target}": (LinearDiscriminantAnalysis(), target) for target in ("two", "three")},
    "pipeline": (make_pipeline(StandardScaler(), PolynomialFeatures(2), LogisticRegression()), "two"),
    "grid search": (GridSearchCV(make_pipeline(StandardScaler(), mlp(MLPClassifier)), {"mlpclassifier__alpha": [0.1, 1.0]}, cv=2), "three"),
    "stacking": (StackingClassifier([("a", LogisticRegression()), ("b", LinearSVC())], final_estimator=LogisticRegression(), cv=2), "two"),
    "stacking of three": (StackingClassifier([("a", LogisticRegression()), ("b", mlp(MLPClassifier))], cv=2, passthrough=True), "three"),
    "self-training": (SelfTrainingClassifier(LogisticRegression()), "half"),
}
# Those without probabilities.
SCORES = {
    **{f"ridge of {target}": (RidgeClassifier(), target) for target in ("two", "three")},
    "ridge cv": (RidgeClassifierCV(), "two"),
    **{f"linear svc of {target}": (LinearSVC(), target) for target in ("two", "three")},
    "sgd hinge": (SGDClassifier(random_state=0), "two"),
    "perceptron": (Perceptron(random_state=0), "three"),
    **{kind.__name__: (kind(random_state=0), "two") for kind in older("PassiveAggressiveClassifier")},
    "svc": (SVC(), "two"),
    "nu-svc": (NuSVC(kernel="poly"), "two"),
    "one against the rest": (OneVsRestClassifier(SVC()), "three"),
    "novelty": (OneClassSVM(gamma=0.3), "number"),
}
# Those with nothing but probabilities.
PROBABILITIES = {
    "soft votes": (VotingClassifier([("a", LogisticRegression()), ("b", mlp(MLPClassifier))], voting="soft", weights=[2, 1]), "three"),
    "bagging": (BaggingClassifier(LogisticRegression(), n_estimators=3, random_state=0, max_features=0.5), "two"),
}
TRANSFORMERS = {
    "standard": StandardScaler(),
    "standard without mean": StandardScaler(with_mean=False),
    "standard without std": StandardScaler(with_std=False),
    "min-max": MinMaxScaler((-1, 2)),
    "min-max clip": MinMaxScaler(clip=True),
    "robust": RobustScaler(),
    "robust without center": RobustScaler(with_centering=False, quantile_range=(10, 90)),
    "max-abs": MaxAbsScaler(),
    **{f"polynomial {degree}": PolynomialFeatures(degree) for degree in (1, 2, 3, 4, (2, 3))},
    "polynomial interactions": PolynomialFeatures(3, interaction_only=True, include_bias=False),
    "yeo-johnson": PowerTransformer(),
    "yeo-johnson raw": PowerTransformer(standardize=False),
    "quantiles": QuantileTransformer(n_quantiles=30),
    "pca": PCA(2),
    "pca whitened": PCA(3, whiten=True),
    "incremental pca": IncrementalPCA(2),
    "svd": TruncatedSVD(2),
    "factors": FactorAnalysis(2),
    "ica": FastICA(2, random_state=0),
    "ica without whitening": FastICA(whiten=False, random_state=0),
    "sparse pca": SparsePCA(2, random_state=0),
    "mini-batch sparse pca": MiniBatchSparsePCA(2, random_state=0),
    "gaussian projection": GaussianRandomProjection(3, random_state=0),
    "sparse projection": SparseRandomProjection(3, random_state=0, density=0.5),
    "agglomeration": FeatureAgglomeration(2),
    "components of neighbourhoods": NeighborhoodComponentsAnalysis(2, random_state=0, max_iter=5),
    "discriminants": make_union(LinearDiscriminantAnalysis()),
    "discriminants by eigenvectors": make_union(LinearDiscriminantAnalysis(solver="eigen", n_components=1)),
    "latent variables": make_pipeline(StandardScaler(), make_union(PLSRegression(2), PLSCanonical(1), CCA(1))),
    "latent variables by svd": PLSSVD(2),
    "best columns": SelectKBest(f_regression, k=2),
    "percentile": SelectPercentile(f_regression, percentile=50),
    "false positives": SelectFpr(f_regression, alpha=0.5),
    "false discoveries": SelectFdr(f_regression, alpha=0.5),
    "family-wise": SelectFwe(f_regression, alpha=0.5),
    "univariate": GenericUnivariateSelect(f_regression, mode="k_best", param=3),
    "from a model": SelectFromModel(Ridge()),
    "sequential": SequentialFeatureSelector(Ridge(), n_features_to_select=2, cv=2),
    "variance": VarianceThreshold(2.0),
    "kernel components": KernelPCA(3, kernel="rbf", gamma=0.2),
    "nystroem": Nystroem(gamma=0.2, n_components=10, random_state=0),
    "random waves": RBFSampler(gamma=0.3, n_components=12, random_state=0),
    "identity": FunctionTransformer(),
    **{
        f"function {function.__name__}": FunctionTransformer(function)
        for function in (
            np.exp,
            np.expm1,
            np.exp2,
            np.square,
            np.sin,
            np.cos,
            np.sinh,
            np.cosh,
            np.tanh,
            np.arctan,
            np.abs,
            np.negative,
            expit,
        )
    },
    "union": FeatureUnion([("a", StandardScaler()), ("b", "drop"), ("c", PCA(2)), ("d", "passthrough")], transformer_weights={"c": 3.0}),
    "nested union": make_union(make_pipeline(StandardScaler(), PolynomialFeatures(2)), MinMaxScaler()),
    "columns by position": ColumnTransformer([("a", StandardScaler(), [0, -1]), ("b", "passthrough", [1])]),
    "columns by slice": ColumnTransformer([("a", StandardScaler(), slice(1, 3))], remainder="passthrough"),
    "columns by mask": ColumnTransformer([("a", StandardScaler(), [True, False, False, True])], remainder=MinMaxScaler()),
    "columns by function": ColumnTransformer(
        [("a", StandardScaler(), lambda data: [2, 0]), ("b", PCA(1), [1, 2])], transformer_weights={"b": 0.5}
    ),
    "columns dropped": ColumnTransformer(
        [("a", "drop", [0]), ("b", StandardScaler(), [1]), ("c", StandardScaler(), [])], sparse_threshold=0
    ),
    "columns inside columns": ColumnTransformer(
        [("a", ColumnTransformer([("b", StandardScaler(), [1])], remainder="passthrough"), [3, 0])]
    ),
}
# On positive columns alone.
POSITIVE_TRANSFORMERS = {
    "box-cox": PowerTransformer("box-cox"),
    **{f"function {function.__name__}": FunctionTransformer(function) for function in (np.log, np.log1p, np.log2, np.log10, np.sqrt)},
}
# Fitted where values are missing.
IMPUTERS = {
    "simple imputer": SimpleImputer(),
    "simple imputer with indicator": SimpleImputer(add_indicator=True),
    "nearest imputer": KNNImputer(),
    "iterative imputer": IterativeImputer(random_state=0, max_iter=2),
    "indicator": MissingIndicator(),
    "imputer and scaler": make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
}


@functools.cache
def fitted(kind: str, name: str):
    """A fitted model of one of the tables."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind in ("transformers", "positive", "imputers"):
            table, data = {
                "transformers": (TRANSFORMERS, X),
                "positive": (POSITIVE_TRANSFORMERS, np.abs(X) + 0.1),
                "imputers": (IMPUTERS, _with_gaps()),
            }[kind]
            target = {"discriminants": "three", "discriminants by eigenvectors": "three", "components of neighbourhoods": "three"}.get(name)
            target = target or ("numbers" if "latent" in name else "number")
            return table[name].fit(data, TARGETS[target])
        table = {"regressors": REGRESSORS, "classifiers": CLASSIFIERS, "scores": SCORES, "probabilities": PROBABILITIES}[kind]
        estimator, target = table[name]
        return estimator.fit(X, TARGETS[target])


def sparse_data():
    """The columns, with zeros, in a sparse matrix."""
    return sp.csr_matrix(np.where(np.abs(X) > 1.5, X, 0.0))
