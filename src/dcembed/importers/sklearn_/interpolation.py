"""Piecewise linear functions of one column: isotonic regression and quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.importers import operations as ops
from dcembed.importers.operations import Unsupported
from dcembed.network.builder import NetworkBuilder, Tensor


def interpolate(builder: NetworkBuilder, value: Tensor, knots: list[Array], heights: list[Array]) -> Tensor:
    """For every column, shape (1, n), the lines between its knots, constant before the first and after the last.

    f(x) = y_1 + sum over knots t_k of the change of the slope there times relu(x - t_k), in one stage for all columns.
    """
    sizes = [len(column) for column in knots]
    columns = np.repeat(np.arange(len(knots)), sizes)
    ramps = builder.relu(builder.shift(ops.select(builder, value, lambda a: a[:, columns]), -np.concatenate(knots)))
    changes = np.concatenate([np.diff(np.diff(y) / np.diff(t), prepend=0.0, append=0.0) for t, y in zip(knots, heights, strict=True)])
    matrix = sp.csr_array((changes, (columns, np.arange(columns.size))), shape=(len(knots), columns.size))
    return builder.linear(ramps, matrix, np.array([y[0] for y in heights]))


def isotonic(builder: NetworkBuilder, model: Any, value: Tensor) -> Tensor:
    """An isotonic regression; outside of its thresholds it is constant, also where scikit-learn would give NaN or raise."""
    return interpolate(builder, value, [np.asarray(model.X_thresholds_)], [np.asarray(model.y_thresholds_)])


def quantiles(builder: NetworkBuilder, model: Any, value: Tensor) -> Tensor:
    """A transformation to the uniform distribution, for columns without repeated quantiles."""
    if model.output_distribution != "uniform":
        raise Unsupported(
            f"output_distribution='{model.output_distribution}' has no form that can be embedded; accepted is 'uniform', and "
            "PowerTransformer is a smooth way to distributions that are nearly normal"
        )
    knots = list(np.asarray(model.quantiles_, dtype=np.float64).T)
    for number, column in enumerate(knots):
        if (np.diff(column) <= 0).any():
            raise Unsupported(f"jumps where values of column {number} are repeated; leave this column out of it, or use PowerTransformer")
    return interpolate(builder, value, knots, [np.asarray(model.references_)] * len(knots))


def undo_quantiles(builder: NetworkBuilder, model: Any, value: Tensor) -> Tensor:
    """The inverse, which does not mind repeated quantiles."""
    if model.output_distribution != "uniform":
        raise Unsupported(f"output_distribution='{model.output_distribution}' has no form that can be embedded; accepted is 'uniform'")
    heights = list(np.asarray(model.quantiles_, dtype=np.float64).T)
    return interpolate(builder, value, [np.asarray(model.references_)] * len(heights), heights)


PREDICT = {"IsotonicRegression": isotonic}
TRANSFORM = {"IsotonicRegression": isotonic, "QuantileTransformer": quantiles}
INVERSE = {"QuantileTransformer": undo_quantiles}
