"""What is not embedded is named where it is, with the reason and who does it."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    Normalizer,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor

from dcembed.errors import NetworkError, UnsupportedLayerError
from dcembed.importers import load_network

X = np.random.default_rng(0).normal(size=(60, 3))
Y = X[:, 0] + np.abs(X[:, 1])
CLASSES = np.digitize(Y, [0.0, 1.0])
TREES = r"is piecewise constant: .* gurobi-machinelearning, PySCIPOpt-ML or OMLT \(gradient-boosted trees\), or ENTMOOT"


def refused(model, target=Y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, target)
    with pytest.raises(UnsupportedLayerError) as info:
        load_network(model, **options)
    return str(info.value)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(max_depth=2),
        RandomForestRegressor(3),
        ExtraTreesRegressor(3),
        GradientBoostingRegressor(n_estimators=3),
        HistGradientBoostingRegressor(max_iter=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_trees(model):
    assert re.search(TREES, refused(model))
    assert f"'{type(model).__name__}': {type(model).__name__}" in refused(model)


def test_trees_for_classes_and_novelty():
    for model in (RandomForestClassifier(3), AdaBoostClassifier(n_estimators=3)):
        assert "is piecewise constant" in refused(model, CLASSES)
    assert "is piecewise constant" in refused(IsolationForest(n_estimators=3))


@pytest.mark.parametrize(
    ("model", "where"),
    [
        (make_pipeline(StandardScaler(), DecisionTreeRegressor()), "layer 1, 'decisiontreeregressor': DecisionTreeRegressor"),
        (VotingRegressor([("line", Ridge()), ("wood", RandomForestRegressor(2))]), "layer 1, 'wood': RandomForestRegressor"),
        (StackingRegressor([("line", Ridge())], RandomForestRegressor(2), cv=2), "layer 1, 'final_estimator': RandomForestRegressor"),
        (BaggingRegressor(n_estimators=2), "layer 0, 'estimator0': DecisionTreeRegressor"),
        (
            GridSearchCV(make_pipeline(StandardScaler(), RandomForestRegressor(2)), {}, cv=2),
            "layer 1, 'best_estimator__randomforestregressor': RandomForestRegressor",
        ),
        (TransformedTargetRegressor(DecisionTreeRegressor(), transformer=StandardScaler()), "layer 0, 'regressor': DecisionTreeRegressor"),
    ],
)
def test_trees_inside_other_models(model, where):
    said = refused(model)
    assert f"{where} (is piecewise constant" in said


def test_everything_is_named_at_once():
    model = make_pipeline(
        KBinsDiscretizer(3, encode="ordinal"),
        VotingRegressor([("near", KNeighborsRegressor()), ("wood", DecisionTreeRegressor()), ("line", Ridge())]),
    )
    said = refused(model)
    assert "has 3 layers that cannot be embedded" in said
    for words in (
        "layer 0, 'kbinsdiscretizer': KBinsDiscretizer (jumps from bin to bin",
        "layer 1, 'votingregressor__near': KNeighborsRegressor (jumps where the nearest points change",
        "layer 2, 'votingregressor__wood': DecisionTreeRegressor (is piecewise constant",
    ):
        assert words in said


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (make_pipeline(Normalizer(), Ridge()), "divides every point by its 'l2' norm, which jumps at the origin"),
        (make_pipeline(Binarizer(), Ridge()), "jumps from bin to bin"),
        (make_pipeline(SplineTransformer(), Ridge()), "has splines that are not embedded"),
        (make_pipeline(QuantileTransformer(n_quantiles=10, output_distribution="normal"), Ridge()), "output_distribution='normal'"),
        (
            make_pipeline(FunctionTransformer(lambda x: x + 1.0), Ridge()),
            "calls <lambda>, and what a Python function computes cannot be seen",
        ),
        (make_pipeline(FunctionTransformer(np.clip, kw_args={"a_min": 0.0, "a_max": 1.0}), Ridge()), "calls clip with arguments"),
        (make_pipeline(FunctionTransformer(np.floor), Ridge()), "calls floor"),
        (KernelRidge(kernel="cosine"), "has the kernel 'cosine'; accepted are 'linear', 'poly', 'rbf', 'laplacian' and 'sigmoid'"),
        (KernelRidge(kernel=lambda x, y: float(x @ y)), "has the kernel that is a Python function"),
        (GaussianProcessRegressor(gp.PairwiseKernel(), optimizer=None, alpha=0.1), "has the kernel PairwiseKernel; accepted are RBF"),
        (GaussianProcessRegressor(gp.Matern(nu=0.7), optimizer=None, alpha=0.1), "Matern kernel with nu=0.7"),
        (GaussianProcessRegressor(gp.ExpSineSquared(), optimizer=None, alpha=100.0), "periodic kernel of several columns"),
        (AdaBoostRegressor(Ridge(), n_estimators=2), "takes a weighted median"),
        (
            TransformedTargetRegressor(Ridge(), func=lambda y: y + 1, inverse_func=lambda y: y - 1),
            "'transformer': FunctionTransformer (calls <lambda>",
        ),
        (
            TransformedTargetRegressor(Ridge(), transformer=KBinsDiscretizer(3, encode="ordinal")),
            "transforms the target; accepted are StandardScaler",
        ),
        (KMeans(2, n_init=1), "'KMeans': KMeans"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_regressors_and_transformers(model, words):
    assert words in refused(model)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (GaussianNB(), "'GaussianNB': GaussianNB"),
        (SVC(), "counts the votes of all pairs of classes"),
        (OneVsOneClassifier(LogisticRegression()), "counts the votes of all pairs of classes"),
        (CalibratedClassifierCV(LogisticRegression(), cv=2), "averages calibrated classifiers"),
        (VotingClassifier([("a", LogisticRegression())]), "counts votes, which jump"),
        (VotingClassifier([("a", LogisticRegression())], voting="soft"), "has no scores; pass outputs='probabilities'"),
        (BaggingClassifier(LogisticRegression(), n_estimators=2), "has no scores; pass outputs='probabilities'"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_classifiers(model, words):
    assert words in refused(model, CLASSES)


def test_repeated_quantiles_jump():
    model = make_pipeline(QuantileTransformer(n_quantiles=10), Ridge())
    model.fit(np.round(X), Y)
    with pytest.raises(UnsupportedLayerError, match="jumps where values of column 0 are repeated"):
        load_network(model)


def test_a_search_without_refit():
    model = GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=2, refit=False).fit(X, Y)
    with pytest.raises(NetworkError, match="has no best_estimator_: it was run with refit=False"):
        load_network(model)


@pytest.mark.parametrize("package", ["xgboost.core", "lightgbm.basic", "catboost.core"])
def test_boosted_trees_of_other_packages_are_known_by_their_modules(package):
    booster = type("Booster", (), {"__module__": package})()
    with pytest.raises(UnsupportedLayerError, match=TREES):
        load_network(booster)
    regressor = type("BoostedRegressor", (RegressorMixin, BaseEstimator), {"__module__": package, "fit": lambda self, X, y: self})
    with pytest.raises(UnsupportedLayerError, match="'BoostedRegressor': BoostedRegressor .*" + TREES):
        load_network(regressor())
    with pytest.raises(UnsupportedLayerError, match="layer 1, 'boostedregressor': BoostedRegressor .*" + TREES):
        load_network(make_pipeline(StandardScaler(), regressor()).fit(X, Y))


@pytest.mark.parametrize(("package", "words"), [("skorch.regressor", "model.module_"), ("scikeras.wrappers", "model.model_")])
def test_wrappers_of_networks_name_the_network_inside(package, words):
    wrapper = type("Wrapped", (RegressorMixin, BaseEstimator), {"__module__": package})()
    with pytest.raises(UnsupportedLayerError, match=words):
        load_network(wrapper)
