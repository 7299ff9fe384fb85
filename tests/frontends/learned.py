"""Small models of scikit-learn, fitted once, for the tests of names and classes."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pandas as pd
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

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
    points = np.random.default_rng(5).uniform(-1, 1, (120, 2))
    third = np.digitize(np.arctan2(points[:, 1], points[:, 0]), [-1.0, 1.0])
    targets = {
        "two": np.where(points.sum(axis=1) > 0.2, "yes", "no"),
        "three": third,
        "labels": (points > np.array([0.1, -0.2])).astype(int),
    }
    model = MLPClassifier(hidden_layer_sizes=(6,), solver="lbfgs", alpha=0.1, max_iter=60, random_state=1)
    return _fitted(make_pipeline(StandardScaler(), model), points, targets[kind])


def _fitted(model, data, target):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(data, target)
