"""Operators of ai.onnx.ml, as converters of scikit-learn write them. Handlers take attributes by their ONNX names."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcembed.importers import operations as ops
from dcembed.importers.lowering import UNKNOWN
from dcembed.importers.onnx_.operators.normalization import over_norm
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.builder import NetworkBuilder


def scaler(builder: NetworkBuilder, x: Value, offset: Any = (0.0,), scale: Any = (1.0,)) -> Value:
    """(x - offset) * scale."""
    centred = ops.subtract(builder, x, np.asarray(offset, dtype=np.float64))
    return ops.multiply(builder, centred, np.asarray(scale, dtype=np.float64))


def normalizer(builder: NetworkBuilder, x: Value, norm: str = "MAX") -> Value:
    """Rows over their sums, as probabilities are; other rows and norms are refused."""
    return over_norm(builder, x, {"L1": 1.0, "L2": 2.0}.get(norm, np.inf), 1)


def linear_regressor(
    builder: NetworkBuilder, x: Value, coefficients: Any, intercepts: Any = None, targets: int = 1, post_transform: str = "NONE"
) -> Value:
    """A matrix and a shift."""
    if post_transform != "NONE":
        raise Unsupported(f"has the post_transform '{post_transform}'; NONE is accepted")
    return _affine(builder, x, np.reshape(coefficients, (targets, -1)), intercepts)


def linear_classifier(
    builder: NetworkBuilder,
    x: Value,
    coefficients: Any,
    intercepts: Any = None,
    classlabels_ints: Any = None,
    classlabels_strings: Any = None,
    multi_class: int = 0,
    post_transform: str = "NONE",
) -> tuple[Any, Value]:
    """The scores, or the probabilities that are made of them; labels are not given."""
    scores = _affine(builder, x, np.reshape(coefficients, (-1, ops.shape_of(x)[1])), intercepts)
    links: dict[str, Any] = {"NONE": lambda b, v: v, "LOGISTIC": ops.sigmoid, "SOFTMAX": ops.softmax}
    if post_transform not in links:
        raise Unsupported(f"has the post_transform '{post_transform}'; accepted are {', '.join(links)}")
    if ops.shape_of(scores)[1] > 1 or max(len(classlabels_ints or ()), len(classlabels_strings or ())) != 2:
        return UNKNOWN, links[post_transform](builder, scores)
    return UNKNOWN, _two_classes(builder, scores, post_transform)


def _two_classes(builder: NetworkBuilder, score: Value, post_transform: str) -> Value:
    """One score stands for the second class, and its opposite for the first."""
    if post_transform == "LOGISTIC":
        second = ops.sigmoid(builder, score)
        return ops.concat(builder, [ops.subtract(builder, np.asarray(1.0), second), second], 1)
    both = ops.concat(builder, [ops.negate(builder, score), score], 1)
    return ops.softmax(builder, both) if post_transform == "SOFTMAX" else both


def _affine(builder: NetworkBuilder, x: Value, matrix: Any, intercepts: Any) -> Value:
    product = ops.matmul(builder, x, np.asarray(matrix, dtype=np.float64).T)
    return product if intercepts is None else ops.add(builder, product, np.asarray(intercepts, dtype=np.float64))


def imputer(
    builder: NetworkBuilder,
    x: Value,
    imputed_value_floats: Any = None,
    imputed_value_int64s: Any = None,
    replaced_value_float: float = 0.0,
    replaced_value_int64: int = 0,
) -> Value:
    """x: what comes from an optimization model is never missing."""
    if imputed_value_floats is None or not np.isnan(replaced_value_float):
        raise Unsupported("replaces a number by another, which jumps; missing values (NaN) are accepted")
    return x


def feature_vectorizer(builder: NetworkBuilder, *values: Value, inputdimensions: Any = None) -> Value:
    """Columns side by side."""
    columns = [ops.reshape(builder, value, (-1, 1)) if len(ops.shape_of(value)) == 1 else value for value in values]
    widths = [ops.shape_of(column)[1] for column in columns]
    if inputdimensions is not None and list(inputdimensions) != widths:
        raise Unsupported(f"takes {list(inputdimensions)} columns of values that have {widths}")
    return ops.concat(builder, columns, 1)
