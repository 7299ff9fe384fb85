"""What a classifier ends in: a softmax or logistic function over its scores. It is known by its name here, so that no framework is imported."""

from __future__ import annotations

import sys
from typing import Any, Literal

# "identity" was set by hand, as scripts for gurobi-ml do: predict_proba gives the scores then, and predict means nothing.
Link = Literal["softmax", "logistic", "identity"]

_TORCH: dict[str, Link] = {"Softmax": "softmax", "LogSoftmax": "softmax", "Sigmoid": "logistic"}
_KERAS: dict[str, Link] = {"softmax": "softmax", "log_softmax": "softmax", "sigmoid": "logistic"}


def last_link(predictor: Any) -> Link | None:
    """The function that ends a classifier: scikit-learn's MLPClassifier, or torch's and Keras's Sequential models; None for all else."""
    classifier = last_classifier(predictor)
    if classifier is not None:
        link: Link = classifier.out_activation_
        return link
    if _is_sequential(predictor, "torch") and len(predictor):
        last = predictor[-1]
        # Along another axis a softmax mixes the points of a batch.
        return _TORCH.get(type(last).__name__) if getattr(last, "dim", None) in (None, 1, -1) else None
    if _is_sequential(predictor, "keras") and predictor.layers:
        return _keras_link(predictor.layers[-1])
    return None


def last_classifier(predictor: Any) -> Any:
    """The fitted MLPClassifier of scikit-learn that a predictor is, or that ends it; None for everything else."""
    if not is_sklearn_classifier(predictor):
        return None
    while getattr(predictor, "steps", None):
        predictor = predictor.steps[-1][1]
    return predictor if hasattr(predictor, "out_activation_") else None


def without_link(predictor: Any) -> Any:
    """The model that gives the scores; the user's own is not changed. A classifier of scikit-learn is read without its link anyway."""
    if last_link(predictor) is None or is_sklearn(predictor):
        return predictor
    if _is_sequential(predictor, "torch"):
        return predictor[:-1]
    config = predictor.get_config()
    layers, last = config["layers"][:-1], config["layers"][-1]
    if "units" in last["config"]:
        layers.append({**last, "config": {**last["config"], "activation": "linear"}})
    copy = type(predictor).from_config({**config, "layers": layers})
    copy.set_weights(predictor.get_weights())
    return copy


def is_sklearn(predictor: Any) -> bool:
    """Whether a class of the predictor comes from scikit-learn."""
    return any(base.__module__.partition(".")[0] == "sklearn" for base in type(predictor).__mro__)


def is_sklearn_classifier(predictor: Any) -> bool:
    """Any classifier of scikit-learn, also one that cannot be read."""
    return is_sklearn(predictor) and bool(sys.modules["sklearn.base"].is_classifier(predictor))


def _is_sequential(predictor: Any, package: str) -> bool:
    """The class itself: a subclass may predict differently."""
    kind = type(predictor)
    return kind.__name__ == "Sequential" and kind.__module__.partition(".")[0] == package


def _keras_link(layer: Any) -> Link | None:
    if type(layer).__name__ == "Softmax":
        return "softmax"
    if type(layer).__name__ not in ("Dense", "Activation"):
        return None
    return _KERAS.get(getattr(layer.activation, "__name__", ""))
