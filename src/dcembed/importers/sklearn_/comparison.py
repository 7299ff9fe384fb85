"""A loaded model beside its own predictions, at points where it has some."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, log_expit, softmax

from dcembed.arrays import Array
from dcembed.errors import NetworkError
from dcembed.importers.check import SEED, check, draw_points
from dcembed.importers.sklearn_.classifiers import find_link
from dcembed.importers.sklearn_.inputs import Inputs, as_model_input, choose_categories
from dcembed.importers.sklearn_.table import as_matrix
from dcembed.importers.sklearn_.walk import Method
from dcembed.importers.sklearn_.wrappers import last_estimator
from dcembed.network.network import Network

# Of so many points, at least, the model has finite predictions.
FEWEST = 8
# How often rounding is looked at, and how many times more it may be.
REPEATS, FEW = 3, 20.0


def compare(network: Network, model: Any, method: Method, inputs: Inputs) -> Network:
    """The network, if it gives what the model does."""
    forward, link = _forward(model, method), None
    if method == "scores" and not hasattr(model, "decision_function"):
        link = _link(model)

    def on_points(points: Array) -> Array:
        return forward(as_model_input(inputs, points))

    points = _points_in_domain(choose_categories(inputs, draw_points(network)), on_points, inputs)
    return check(network, on_points, "scikit-learn model", link=link, points=points, rounding=_rounding(points, on_points))


def _rounding(points: Array, forward: Callable[[Array], Array]) -> Array:
    """What the model's own values are off by, seen where its input changes by nothing but rounding.

    Sums over training points cancel in kernel machines, which an affine kernel that is folded to one matrix does not show.
    """
    rng, values = np.random.default_rng(SEED), forward(points)
    changed = [forward(points * (1.0 + rng.choice([-1.0, 0.0, 1.0], points.shape) * np.finfo(np.float64).eps)) for _ in range(REPEATS)]
    off: Array = np.nan_to_num(np.abs(np.array(changed) - values), nan=0.0, posinf=0.0).max(axis=(0, 2))
    rounding: Array = FEW * np.maximum(off, off.mean())
    return rounding


def _forward(model: Any, method: Method) -> Callable[[Any], Array]:
    names = {"predict": "predict", "transform": "transform", "probabilities": "predict_proba", "scores": "decision_function"}
    name = names[method] if hasattr(model, names[method]) else "predict_proba"

    def forward(table: Any) -> Array:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            # A model fitted on a data frame warns when it is given an array; functions warn where they end.
            warnings.simplefilter("ignore")
            values = as_matrix(getattr(model, name)(table))
        return np.asarray(values.toarray() if sp.issparse(values) else values, dtype=np.float64).reshape(table.shape[0], -1)

    return forward


def _points_in_domain(points: Array, forward: Callable[[Array], Array], inputs: Inputs) -> Array:
    """Those of the points at which the model has finite predictions: logarithms and powers have none everywhere.

    Where that is nowhere, positive points are tried.
    """
    error = ""
    for candidates in (points, choose_categories(inputs, np.abs(points) + 0.01)):
        is_finite, error = _finite_rows(candidates, forward)
        if is_finite.sum() >= FEWEST:
            return candidates[is_finite]
    raise NetworkError(
        f"The scikit-learn model cannot be compared with the import: of {len(points)} points it has finite predictions at fewer than "
        f"{FEWEST}{error}. Standardize its columns, or give them a range in which its functions are finite."
    )


def _finite_rows(points: Array, forward: Callable[[Array], Array]) -> tuple[Array, str]:
    """Where the model has finite values, and what it raised otherwise."""
    try:
        return np.asarray(np.isfinite(forward(points)).all(axis=1)), ""
    except Exception as error:
        if len(points) > 1:
            parts = [_finite_rows(point[None], forward) for point in points]
            return np.concatenate([part for part, _ in parts]), next((text for _, text in parts if text), "")
        return np.zeros(1, dtype=bool), f" ({type(error).__name__}: {error})"


def _link(model: Any) -> Callable[[Array], Array]:
    """From raw scores to what predict_proba shows."""
    kind = find_link(last_estimator(model))
    if kind == "softmax":
        return lambda scores: softmax(scores, axis=1)
    if kind == "normalized":
        return lambda scores: softmax(log_expit(scores), axis=1)
    activate = expit if kind == "logistic" else np.asarray
    return lambda scores: np.hstack([1.0 - activate(scores), activate(scores)]) if scores.shape[1] == 1 else activate(scores)
