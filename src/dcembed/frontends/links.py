"""What a classifier ends in: a softmax or logistic function over its scores. It is known by its name here, so that no framework is imported."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal, cast

from dcembed.errors import DcembedError
from dcembed.importers import open_onnx, sklearn_link

# Classes follow from the largest score ("softmax", "normalized", "largest") or from signs ("logistic", "sign"); "largest" and "sign" have no
# probabilities. "identity" was set by hand, as scripts for gurobi-ml do: predict_proba gives the scores then, and predict means nothing.
Link = Literal["softmax", "normalized", "largest", "logistic", "sign", "identity"]

# Layers of torch and nodes of ONNX have the same names.
_LAYERS: dict[str, Link] = {"Softmax": "softmax", "LogSoftmax": "softmax", "Sigmoid": "logistic"}
_KERAS: dict[str, Link] = {"softmax": "softmax", "log_softmax": "softmax", "sigmoid": "logistic"}


def last_link(predictor: Any) -> Link | None:
    """The function that ends a classifier: of scikit-learn, a Sequential of torch or Keras, or a ModelProto; None for all else."""
    if is_sklearn_classifier(predictor):
        return cast(Link | None, sklearn_link(predictor))
    if _is_sequential(predictor, "torch") and len(predictor):
        last = predictor[-1]
        # Along another axis a softmax mixes the points of a batch.
        return _LAYERS.get(type(last).__name__) if getattr(last, "dim", None) in (None, 1, -1) else None
    if _is_sequential(predictor, "keras") and predictor.layers:
        return _keras_link(predictor.layers[-1])
    node = _last_node(predictor) if _is_proto(predictor) else None
    if node is None or any(item.name == "axis" and item.i not in (1, -1) for item in node.attribute):
        return None
    return _LAYERS.get(node.op_type)


def opened(predictor: Any) -> Any:
    """The model in an ONNX file that ends in such a function; everything else as it is."""
    if not isinstance(predictor, str | Path) or Path(predictor).suffix.lower() != ".onnx":
        return predictor
    try:
        model = open_onnx(Path(predictor))
    except DcembedError:
        # What is wrong with the file is said when it is loaded.
        return predictor
    return predictor if last_link(model) is None else model


def without_link(predictor: Any) -> Any:
    """The model that gives the scores; the user's own is not changed. A classifier of scikit-learn is read without its link anyway."""
    if last_link(predictor) is None or is_sklearn(predictor):
        return predictor
    if _is_sequential(predictor, "torch"):
        return predictor[:-1]
    return _shorter_proto(predictor) if _is_proto(predictor) else _shorter_keras(predictor)


def _shorter_proto(predictor: Any) -> Any:
    copy = type(predictor)()
    copy.CopyFrom(predictor)
    node = _last_node(copy)
    copy.graph.output[0].name = node.input[0]
    copy.graph.node.remove(node)
    return copy


def _shorter_keras(predictor: Any) -> Any:
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


def is_sklearn_regressor(predictor: Any) -> bool:
    """Any regressor of scikit-learn: what it gives is its `predict`."""
    return is_sklearn(predictor) and bool(sys.modules["sklearn.base"].is_regressor(predictor))


def _is_sequential(predictor: Any, package: str) -> bool:
    """The class itself: a subclass may predict differently."""
    kind = type(predictor)
    return kind.__name__ == "Sequential" and kind.__module__.partition(".")[0] == package


def _is_proto(predictor: Any) -> bool:
    kind = type(predictor)
    return kind.__name__ == "ModelProto" and kind.__module__.partition(".")[0].startswith("onnx")


def _last_node(model: Any) -> Any:
    """The node that gives the output of an ONNX model; None where that cannot be told."""
    if len(model.graph.output) != 1:
        return None
    last = [node for node in model.graph.node if model.graph.output[0].name in node.output]
    return last[0] if len(last) == 1 else None


def _keras_link(layer: Any) -> Link | None:
    if type(layer).__name__ == "Softmax":
        return "softmax"
    if type(layer).__name__ not in ("Dense", "Activation"):
        return None
    return _KERAS.get(getattr(layer.activation, "__name__", ""))
