"""Kernels between the input and the points that a model was trained on, each a sequence of functions of one variable.

    radial          exp(-gamma |x - y|^2): squares, then exponentials
    laplacian       exp(-gamma |x - y|_1)
    polynomial      (gamma x'y + coef0)^degree
    sigmoid         tanh(gamma x'y + coef0)

Squares are of single differences, so that nothing cancels and bounds are exact on boxes; equal entries of training points share one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.importers import operations as ops
from dcembed.importers.operations import Unsupported
from dcembed.network.activations import find_activation
from dcembed.network.builder import NetworkBuilder, Tensor


def pairwise(builder: NetworkBuilder, value: Tensor, points: Any, kind: Any, parameters: dict[str, Any]) -> Tensor:
    """k(x, y) for the rows y of `points`, shape (1, rows). `parameters` may have gamma, coef0 and degree, or None for their defaults."""
    rows = as_dense(points)
    gamma = 1.0 / rows.shape[1] if parameters.get("gamma") is None else float(parameters["gamma"])
    coef0 = 1.0 if parameters.get("coef0") is None else float(parameters["coef0"])
    if kind == "linear":
        return builder.linear(value, rows)
    if kind == "rbf":
        return exponential(builder, squared_distances(builder, value, np.sqrt(gamma) * rows, np.sqrt(gamma)))
    if kind == "laplacian":
        return exponential(builder, builder.scale(_distances(builder, value, rows, "absolute"), gamma))
    if kind in ("poly", "polynomial"):
        degree = 3 if parameters.get("degree") is None else parameters["degree"]
        return ops.as_tensor(ops.power(builder, builder.shift(builder.linear(value, gamma * rows), coef0), degree))
    if kind == "sigmoid":
        return builder.activate(builder.shift(builder.linear(value, gamma * rows), coef0), find_activation("tanh"))
    name = f"'{kind}'" if isinstance(kind, str) else "that is a Python function"
    raise Unsupported(f"has the kernel {name}; accepted are 'linear', 'poly', 'rbf', 'laplacian' and 'sigmoid'")


def exponential(builder: NetworkBuilder, distances: Tensor) -> Tensor:
    """exp(-distances)."""
    return builder.activate(builder.scale(distances, -1.0), find_activation("exp"))


def squared_distances(builder: NetworkBuilder, value: Tensor, rows: Array, scale: Array | float = 1.0) -> Tensor:
    """|scale x - y|^2 for the rows y, shape (1, rows); `scale` may be one number for each column."""
    return _distances(builder, builder.scale(value, scale), rows, "square")


def _distances(builder: NetworkBuilder, value: Tensor, rows: Array, kind: str) -> Tensor:
    """The sum over columns of a function of x - y, for each row y."""
    known = [np.unique(column, return_inverse=True) for column in rows.T]
    sizes = [len(values) for values, _ in known]
    columns = np.repeat(np.arange(len(known)), sizes)
    starts = np.cumsum([0, *sizes[:-1]])
    differences = builder.shift(ops.select(builder, value, lambda a: a[:, columns]), -np.concatenate([values for values, _ in known]))
    terms = builder.activate(differences, find_activation("square")) if kind == "square" else ops.absolute(builder, differences)
    used = np.concatenate([start + np.reshape(places, -1) for start, (_, places) in zip(starts, known, strict=True)])
    owners = np.tile(np.arange(len(rows)), len(known))
    return builder.linear(ops.as_tensor(terms), sp.csr_array((np.ones(used.size), (owners, used)), shape=(len(rows), columns.size)))


def as_dense(points: Any) -> Array:
    """Points that a model may keep in a sparse matrix."""
    return np.asarray(points.toarray() if sp.issparse(points) else points, dtype=np.float64)
