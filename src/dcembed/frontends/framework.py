"""What the user's own model says now, to measure a solution against: not the copy of it that was embedded."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from dcembed.arrays import Array
from dcembed.frontends.classes import classes_of
from dcembed.frontends.links import is_sklearn_classifier, is_sklearn_regressor, load_scores
from dcembed.frontends.output_type import OutputType, Reading
from dcembed.importers import load_network
from dcembed.network.network import Network


def predict_outputs(predictor: Any, reading: Reading, points: Array) -> Array:
    """The outputs (k, n_out) at `points` (k, n_in), in the order of the features, by the model's own `predict` where it has one.

    A model without it is read anew, and compared with its framework as at every load, so weights that were changed are seen; so is one that
    takes categories where the network has an input for each. A file, and a `Network`, is what it was when it was embedded.
    """
    network, output_type = reading.network, reading.output_type
    if _takes_points(predictor, network):
        if is_sklearn_classifier(predictor) and output_type not in ("raw", "regular"):
            return _by_classifier(predictor, network, points, output_type)
        if is_sklearn_regressor(predictor):
            return np.asarray(_call(predictor.predict, network, points), dtype=np.float64).reshape(len(points), -1)
    current = network if isinstance(predictor, Network | str | Path) else _read_again(predictor, output_type)
    values = current(points)
    if output_type == "classification":
        return classes_of(values, reading.argmax)
    return expit(values) if output_type == "probability" else values


def _read_again(predictor: Any, output_type: OutputType) -> Network:
    if output_type == "probabilities":
        return load_network(predictor, outputs="probabilities")
    return load_network(predictor) if output_type == "regular" else load_scores(predictor)[0]


def _takes_points(predictor: Any, network: Network) -> bool:
    """Whether a model of scikit-learn has the same columns as the network has inputs."""
    if getattr(predictor, "n_features_in_", None) != network.num_inputs:
        return False
    names = getattr(predictor, "feature_names_in_", None)
    return network.input_names == (None if names is None else tuple(map(str, names)))


def _by_classifier(predictor: Any, network: Network, points: Array, output_type: OutputType) -> Array:
    if output_type != "classification":
        probabilities = np.asarray(_call(predictor.predict_proba, network, points))
        return probabilities[:, 1:] if network.num_outputs == 1 else probabilities
    labels = np.asarray(_call(predictor.predict, network, points))
    if labels.ndim == 2:
        return labels.astype(np.float64)
    chosen: Array = (labels[:, None] == np.asarray(predictor.classes_)[None, :]).astype(np.float64)
    return chosen[:, 1:] if network.num_outputs == 1 else chosen


def _call(function: Any, network: Network, points: Array) -> Any:
    """With the names of the features, where the model was fitted with names."""
    if network.input_names is None:
        return function(points)
    try:
        import pandas

        return function(pandas.DataFrame(points, columns=list(network.input_names)))
    except ModuleNotFoundError:
        with warnings.catch_warnings():
            # Fitted on a data frame of another package: scikit-learn warns when it is given an array.
            warnings.simplefilter("ignore")
            return function(points)
