"""What the models of scikit-learn are fitted to, and where they are compared."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
import sklearn.linear_model
from sklearn.neural_network import MLPRegressor

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


def with_gaps():
    """The columns, with values missing."""
    data = X.copy()
    data[::7, 1] = np.nan
    data[::5, 3] = np.nan
    return data


def sparse_data():
    """The columns, with zeros, in a sparse matrix."""
    return sp.csr_matrix(np.where(np.abs(X) > 1.5, X, 0.0))
