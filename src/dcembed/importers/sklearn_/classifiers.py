"""What makes probabilities of the scores of a classifier."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from dcembed.importers import operations as ops
from dcembed.importers.operations import Unsupported
from dcembed.network.activations import find_activation
from dcembed.network.builder import NetworkBuilder, Tensor

# "normalized" are logistic functions of all scores, divided by their sum; "none" are scores that are no logarithms of odds. "identity" was set
# by hand, as scripts for gurobi-ml do: predict_proba gives the scores then, and predict means nothing.
Link = Literal["softmax", "logistic", "normalized", "identity", "none"]

_LOGISTIC_MODELS = ("LogisticRegression", "LogisticRegressionCV")


def find_link(classifier: Any) -> Link:
    """The link of a fitted classifier whose scores are known."""
    kind = type(classifier).__name__
    if kind == "MLPClassifier":
        known: Link = classifier.out_activation_
        return known
    is_binary = len(getattr(classifier, "classes_", ())) <= 2
    if kind in (*_LOGISTIC_MODELS, "LinearDiscriminantAnalysis"):
        # Before version 1.8 of scikit-learn one class against the rest was another way to fit.
        against_rest = getattr(classifier, "multi_class", "") == "ovr" or getattr(classifier, "solver", "") == "liblinear"
        return "logistic" if is_binary else "normalized" if kind in _LOGISTIC_MODELS and against_rest else "softmax"
    if kind == "SGDClassifier" and classifier.loss == "log_loss":
        return "logistic" if is_binary else "normalized"
    return "none"


def probabilities(builder: NetworkBuilder, classifier: Any, scores: Tensor) -> Tensor:
    """What predict_proba gives, shape (1, classes); (1, labels) for several labels."""
    link, count = find_link(classifier), scores.shape[1]
    if link == "softmax":
        return ops.as_tensor(ops.softmax(builder, scores, axis=1))
    if link == "normalized":
        logarithms = builder.scale(builder.activate(builder.scale(scores, -1.0), find_activation("softplus")), -1.0)
        return ops.as_tensor(ops.softmax(builder, logarithms, axis=1))
    if link == "none":
        raise Unsupported("has no probabilities, or none that are a function of its scores; leave outputs out for its scores")
    second = builder.activate(scores, find_activation("sigmoid")) if link == "logistic" else scores
    return second if count > 1 else builder.linear(second, np.array([[-1.0], [1.0]]), np.array([1.0, 0.0]))
