"""Small perceptrons of scikit-learn, what they are fitted to, and where they are compared."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier, MLPRegressor

RNG = np.random.default_rng(3)
X = 5.0 + 3.0 * RNG.normal(size=(60, 3))
Y = np.abs(X[:, 0] - 5.0) - X[:, 1]
NEW = 5.0 + 6.0 * np.random.default_rng(4).normal(size=(40, 3))


@pytest.fixture(autouse=True)
def quiet():
    """Few iterations are enough here; the warning that more would be better is not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def regressor(*hidden, **options):
    return MLPRegressor(hidden_layer_sizes=hidden or (5, 4), max_iter=10, random_state=0, **options)


def classifier(**options):
    return MLPClassifier(hidden_layer_sizes=(5,), max_iter=10, random_state=0, **options)
