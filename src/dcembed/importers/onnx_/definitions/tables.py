"""Linear models of ai.onnx.ml in plain numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from dcembed.arrays import Array


def linear_regressor(x: Array, coefficients: Any, intercepts: Any = None, targets: int = 1, post_transform: str = "NONE") -> Array:
    """The reference makes NaN of intercepts that are not there."""
    if post_transform != "NONE":
        raise NotImplementedError(f"LinearRegressor with the post_transform {post_transform}")
    value: Array = x @ np.reshape(coefficients, (targets, -1)).T + (0.0 if intercepts is None else np.asarray(intercepts))
    return value


def linear_classifier(
    x: Array,
    coefficients: Any,
    intercepts: Any = None,
    classlabels_ints: Any = None,
    classlabels_strings: Any = None,
    multi_class: int = 0,
    post_transform: str = "NONE",
) -> tuple[Array, Array]:
    """The reference rounds to single precision. The labels, which nobody asks for, are places."""
    scores = x @ np.reshape(coefficients, (-1, x.shape[1])).T + (0.0 if intercepts is None else np.asarray(intercepts))
    if scores.shape[1] == 1 and max(len(classlabels_ints or ()), len(classlabels_strings or ())) == 2:
        scores = np.hstack([-scores, scores])
    kinds: dict[str, Callable[[Array], Array]] = {
        "NONE": lambda a: a,
        "LOGISTIC": scipy.special.expit,
        "SOFTMAX": lambda a: scipy.special.softmax(a, axis=1),
    }
    values = kinds[post_transform](scores)
    return values.argmax(axis=1), values
