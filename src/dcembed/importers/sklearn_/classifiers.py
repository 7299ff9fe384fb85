"""What makes probabilities of the scores of a classifier."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from dcembed.importers import operations as ops
from dcembed.importers.operations import Unsupported
from dcembed.network.activations import find_activation
from dcembed.network.builder import NetworkBuilder, Tensor

# How a class follows from scores, and its probability:
#   softmax       the largest score; softmax
#   normalized    the largest; logistic functions of all scores, divided by their sum
#   largest       the largest; none
#   logistic      the sign of a score, which stands for two classes or for a label; the logistic function
#   sign          the sign of a score; none
#   identity      set by hand, as scripts for gurobi-ml do: predict_proba gives the scores then, and predict means nothing
Link = Literal["softmax", "normalized", "largest", "logistic", "sign", "identity"]

_LOGISTIC_MODELS = ("LogisticRegression", "LogisticRegressionCV")


def find_link(classifier: Any) -> Link:
    """The link of a fitted classifier whose scores are known."""
    kind = type(classifier).__name__
    if kind == "MLPClassifier":
        known: Link = classifier.out_activation_
        return known
    if kind == "SGDClassifier" and classifier.loss == "log_loss":
        return "logistic" if _is_by_sign(classifier) else "normalized"
    if kind in (*_LOGISTIC_MODELS, "LinearDiscriminantAnalysis"):
        # Before version 1.8 of scikit-learn one class against the rest was another way to fit.
        against_rest = getattr(classifier, "multi_class", "") == "ovr" or getattr(classifier, "solver", "") == "liblinear"
        return "logistic" if _is_by_sign(classifier) else "normalized" if against_rest else "softmax"
    return "sign" if _is_by_sign(classifier) else "largest"


def _is_by_sign(classifier: Any) -> bool:
    """Whether there are two classes, or several labels each of which holds or not."""
    binarizer = getattr(classifier, "_label_binarizer", getattr(classifier, "label_binarizer_", None))
    return len(classifier.classes_) <= 2 or str(getattr(binarizer, "y_type_", "")).startswith("multilabel")


def probabilities(builder: NetworkBuilder, classifier: Any, scores: Tensor) -> Tensor:
    """What predict_proba gives, shape (1, classes); (1, labels) for several labels."""
    link, count = find_link(classifier), scores.shape[1]
    if link == "softmax":
        return ops.as_tensor(ops.softmax(builder, scores, axis=1))
    if link == "normalized":
        logarithms = builder.scale(builder.activate(builder.scale(scores, -1.0), find_activation("softplus")), -1.0)
        return ops.as_tensor(ops.softmax(builder, logarithms, axis=1))
    if link in ("largest", "sign"):
        raise Unsupported("has no probabilities, or none that are a function of its scores; leave outputs out for its scores")
    second = builder.activate(scores, find_activation("sigmoid")) if link == "logistic" else scores
    return second if count > 1 else builder.linear(second, np.array([[-1.0], [1.0]]), np.array([1.0, 0.0]))
