"""What a classifier ends in: a softmax or logistic function over its scores."""

from __future__ import annotations

import sys
from typing import Any, Literal, cast

from dcembed.errors import InputError
from dcembed.importers import load_logits, load_network, sklearn_link
from dcembed.network.builder import Head
from dcembed.network.network import Network

# Classes follow from the largest score ("softmax", "normalized", "largest") or from signs ("logistic", "sign"); "largest" and "sign" have no
# probabilities. "identity" was set by hand, as scripts for gurobi-ml do: predict_proba gives the scores then, and predict means nothing.
Link = Literal["softmax", "normalized", "largest", "logistic", "sign", "identity"]


def find_link(predictor: Any) -> Link | None:
    """The function that ends a classifier of scikit-learn; None for all else, and where it cannot be read."""
    return cast(Link | None, sklearn_link(predictor)) if is_sklearn_classifier(predictor) else None


def load_scores(predictor: Any) -> tuple[Network, tuple[Head | None, ...]]:
    """What goes into the softmax or logistic function at the end of a model, and which ones there are; else its outputs, and none.

    Models of all frameworks are read so, live or in files; a classifier of scikit-learn is its scores anyway, and a `Network` is what it is.
    """
    if isinstance(predictor, Network) or is_sklearn(predictor):
        return load_network(predictor), ()
    try:
        return load_logits(predictor)
    except InputError:
        # There is no such function, or the model cannot be read, which is then said.
        return load_network(predictor), ()


def is_sklearn(predictor: Any) -> bool:
    """Whether a class of the predictor comes from scikit-learn."""
    return any(base.__module__.partition(".")[0] == "sklearn" for base in type(predictor).__mro__)


def is_sklearn_classifier(predictor: Any) -> bool:
    """Any classifier of scikit-learn, also one that cannot be read."""
    return is_sklearn(predictor) and bool(sys.modules["sklearn.base"].is_classifier(predictor))


def is_sklearn_regressor(predictor: Any) -> bool:
    """Any regressor of scikit-learn: what it gives is its `predict`."""
    return is_sklearn(predictor) and bool(sys.modules["sklearn.base"].is_regressor(predictor))
