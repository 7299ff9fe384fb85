"""Read scikit-learn's MLPRegressor and MLPClassifier, and pipelines of scalers that end in one.

A classifier becomes its raw scores: one logit for two classes (positive means the second of `classes_`), one score per
class before the softmax for more, one logit per label for multilabel problems.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from dcembed.arrays import Array
from dcembed.errors import NetworkError
from dcembed.importers import operations as ops
from dcembed.importers.check import check
from dcembed.importers.lowering import Layer, Lowering
from dcembed.importers.operations import Unsupported, Value
from dcembed.importers.request import Request
from dcembed.network.builder import NetworkBuilder, Tensor
from dcembed.network.network import Network


def load(model: Any, request: Request) -> Network:
    """Read a fitted estimator; the number of inputs is known from the fit, so `input_shape` is not needed."""
    request.allow_only("scikit-learn model")
    steps = list(_steps(model, ""))
    if not steps:
        raise NetworkError(
            "The network is empty: the scikit-learn pipeline has no step. Pass one that ends in an MLPRegressor or MLPClassifier."
        )
    for name, step in steps:
        _check_fitted(name, step)
    lowering = Lowering("scikit-learn", _ACCEPTED, (1, _num_inputs(steps)))
    value = lowering.input
    for index, (name, step) in enumerate(steps):
        layer = Layer(index, name, type(step).__name__)
        value = lowering.apply(layer, _find(step, index == len(steps) - 1), value)
    network = replace(lowering.finish(value), input_names=_input_names(steps))
    link = _classifier_link(steps[-1][1]) if is_classifier(steps[-1][1]) else None
    return check(network, _forward(model), "scikit-learn model", link=link)


def _steps(model: Any, prefix: str) -> Any:
    """(name, estimator) of every step that does something, through nested pipelines."""
    if not isinstance(model, Pipeline):
        yield prefix or type(model).__name__, model
        return
    for name, step in model.steps:
        if step is not None and not (isinstance(step, str) and step == "passthrough"):
            yield from _steps(step, f"{prefix}__{name}" if prefix else name)


def _check_fitted(name: str, step: Any) -> None:
    try:
        if type(step) in STEPS:
            check_is_fitted(step)
    except NotFittedError:
        raise NetworkError(
            f"The scikit-learn model is not fitted: '{name}' ({type(step).__name__}) has no weights. Call fit first."
        ) from None


def _num_inputs(steps: list[tuple[str, Any]]) -> int:
    return int(getattr(steps[0][1], "n_features_in_", 1))


def _input_names(steps: list[tuple[str, Any]]) -> tuple[str, ...] | None:
    """Of the columns, where the first step was fitted on a data frame."""
    names = getattr(steps[0][1], "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))


def _find(step: Any, last: bool) -> Callable[..., Any] | None:
    handler = STEPS.get(type(step))
    if handler is None:
        return None
    if last == (type(step) in PREDICTORS):
        return lambda builder, value: handler(builder, step, value)
    return _refuse_end if last else _refuse_middle


def _forward(model: Any) -> Callable[[Array], Array]:
    def forward(points: Array) -> Array:
        with warnings.catch_warnings():
            # A model fitted on a data frame warns when it is given an array.
            warnings.simplefilter("ignore")
            return np.asarray(model.predict_proba(points) if is_classifier(model) else model.predict(points))

    return forward


def _classifier_link(classifier: MLPClassifier) -> Callable[[Array], Array]:
    """From raw scores to what predict_proba shows. With out_activation_ = "identity", set by hand, it shows the scores themselves."""
    if classifier.out_activation_ == "softmax":
        return lambda scores: softmax(scores, axis=1)
    activate = expit if classifier.out_activation_ == "logistic" else np.asarray
    if classifier.n_outputs_ == 1:
        return lambda scores: np.hstack([1.0 - activate(scores), activate(scores)])
    return lambda scores: activate(scores)


# Handlers: the builder, the fitted step and its input.


def _refuse_end(builder: NetworkBuilder, value: Value) -> Value:
    raise Unsupported("is the last step; the last step must be an MLPRegressor or MLPClassifier")


def _refuse_middle(builder: NetworkBuilder, value: Value) -> Value:
    raise Unsupported("is not the last step")


def _mlp(builder: NetworkBuilder, mlp: Any, value: Tensor) -> Tensor:
    if mlp.activation not in ("relu", "identity"):
        raise Unsupported(f"activation='{mlp.activation}'; accepted are 'relu' and 'identity'")
    if isinstance(mlp, MLPRegressor) and mlp.out_activation_ != "identity":
        raise Unsupported(f"output activation '{mlp.out_activation_}' of loss='{mlp.loss}'; accepted is loss='squared_error'")
    for index, (weight, bias) in enumerate(zip(mlp.coefs_, mlp.intercepts_, strict=True)):
        if index > 0 and mlp.activation == "relu":
            value = builder.relu(value)
        value = builder.linear(value, np.asarray(weight, dtype=np.float64).T, bias)
    return value


def _standard_scaler(builder: NetworkBuilder, scaler: StandardScaler, value: Value) -> Value:
    if scaler.mean_ is not None and scaler.with_mean:
        value = ops.subtract(builder, value, scaler.mean_)
    return value if scaler.scale_ is None else ops.divide(builder, value, scaler.scale_)


def _min_max_scaler(builder: NetworkBuilder, scaler: MinMaxScaler, value: Value) -> Value:
    scaled = ops.add(builder, ops.multiply(builder, value, scaler.scale_), scaler.min_)
    return ops.clip(builder, scaled, *scaler.feature_range) if scaler.clip else scaled


PREDICTORS = (MLPRegressor, MLPClassifier)

# Exact classes: a subclass may predict differently.
STEPS: dict[type, Callable[..., Any]] = {
    MLPRegressor: _mlp,
    MLPClassifier: _mlp,
    StandardScaler: _standard_scaler,
    MinMaxScaler: _min_max_scaler,
}

_ACCEPTED = "MLPRegressor and MLPClassifier with activation 'relu' or 'identity', after StandardScaler and MinMaxScaler steps of a Pipeline"
