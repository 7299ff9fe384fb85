"""Fitted models of scikit-learn, one of every kind that is read: the conformance table of the importer."""

from __future__ import annotations

import functools
import warnings

import numpy as np

from .classifiers import CLASSIFIERS, PROBABILITIES, SCORES
from .data import TARGETS, X, with_gaps
from .regressors import REGRESSORS
from .transformers import IMPUTERS, POSITIVE_TRANSFORMERS, TRANSFORMERS

# Kind: models by their names, each an estimator and the name of its target, or an estimator alone that is fitted to one number.
TABLES = {
    "regressors": REGRESSORS,
    "classifiers": CLASSIFIERS,
    "scores": SCORES,
    "probabilities": PROBABILITIES,
    "transformers": TRANSFORMERS,
    "positive": POSITIVE_TRANSFORMERS,
    "imputers": IMPUTERS,
}
_COLUMNS = {"positive": np.abs(X) + 0.1, "imputers": with_gaps()}


@functools.cache
def fitted(kind: str, name: str):
    """A fitted model of one of the tables."""
    entry = TABLES[kind][name]
    estimator, target = entry if isinstance(entry, tuple) else (entry, "number")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(_COLUMNS.get(kind, X), TARGETS[target])
