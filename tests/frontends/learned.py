"""Small models of scikit-learn, fitted once, for the tests of names and classes."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

FEATURES = ["price", "advert", "season"]


def samples() -> np.ndarray:
    """Columns of very different size, so that swapping two of them is seen."""
    return np.random.default_rng(3).uniform([0.0, 0.0, 0.0], [1.0, 10.0, 100.0], (80, 3))


@functools.cache
def named_pipeline():
    """A regression on named columns."""
    data = pd.DataFrame(samples(), columns=FEATURES)
    target = 3.0 * data["price"] - np.abs(data["advert"] - 5.0) + 0.1 * data["season"]
    return _fitted(
        make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(6,), solver="lbfgs", max_iter=80, random_state=0)), data, target
    )


@functools.cache
def classifier(kind: str):
    """Of two classes ("no", "yes"), of three, or with two labels that may both hold."""
    points, target = _classes(kind)
    model = MLPClassifier(hidden_layer_sizes=(6,), solver="lbfgs", alpha=0.1, max_iter=60, random_state=1)
    return _fitted(make_pipeline(StandardScaler(), model), points, target)


@functools.cache
def linear_classifier(kind: str):
    """A logistic regression, or one by margins, which has no probabilities."""
    how, classes = kind.split()
    margins = RidgeClassifier() if classes == "labels" else LinearSVC(random_state=0)
    return _fitted(make_pipeline(StandardScaler(), LogisticRegression() if how == "logistic" else margins), *_classes(classes))


@functools.cache
def categorical_pipeline():
    """A regression on two numbers and a column of texts, which is encoded."""
    rng = np.random.default_rng(6)
    data = pd.DataFrame({"area": rng.uniform(0, 1, 90), "color": rng.choice(["red", "green", "blue"], 90), "age": rng.uniform(0, 1, 90)})
    target = np.abs(data["area"] - 0.5) + 0.5 * data["age"] - 0.3 * (data["color"] == "green")
    columns = ColumnTransformer([("numbers", StandardScaler(), ["age", "area"]), ("texts", OneHotEncoder(), ["color"])])
    model = MLPRegressor(hidden_layer_sizes=(5,), solver="lbfgs", max_iter=80, random_state=0)
    return _fitted(make_pipeline(columns, model), data, target)


def _classes(kind: str):
    points = np.random.default_rng(5).uniform(-1, 1, (120, 2))
    third = np.digitize(np.arctan2(points[:, 1], points[:, 0]), [-1.0, 1.0])
    targets = {
        "two": np.where(points.sum(axis=1) > 0.2, "yes", "no"),
        "three": third,
        "labels": (points > np.array([0.1, -0.2])).astype(int),
    }
    return points, targets[kind]


def _fitted(model, data, target):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(data, target)
