"""Yeo-Johnson and Box-Cox transformations, forwards and backwards: every column has an exponent of its own.

    Yeo-Johnson     ((1 + x)^l - 1) / l for x >= 0,    -((1 - x)^(2 - l) - 1) / (2 - l) for x < 0
    Box-Cox         (x^l - 1) / l

Both have slope 1 where their pieces meet, or where they are 0. So each piece, continued there in a straight line, is a power that ends in
a line, and Yeo-Johnson is the sum of both pieces minus x.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dcembed.importers import operations as ops
from dcembed.importers.sklearn_.scalers import standardize, unstandardize
from dcembed.network.activations import find_activation
from dcembed.network.builder import NetworkBuilder, Tensor

# Below this an exponent is zero, as it is to scikit-learn.
TINY = float(np.spacing(1.0))
# Box-Cox is for positive columns; below this it goes on in a straight line, and so does the inverse of either before a pole.
LEAST = 1e-12


def power_transform(builder: NetworkBuilder, model: Any, value: Tensor) -> Tensor:
    """Every column by its own exponent, then standardized where the transformer does so."""
    piece = _yeo_johnson if model.method == "yeo-johnson" else _box_cox
    result = _each_column(builder, value, model.lambdas_, piece)
    return standardize(builder, model._scaler, result) if model.standardize else result


def undo_power_transform(builder: NetworkBuilder, model: Any, value: Tensor) -> Tensor:
    """The inverse."""
    if model.standardize:
        value = unstandardize(builder, model._scaler, value)
    piece = _undo_yeo_johnson if model.method == "yeo-johnson" else _undo_box_cox
    return _each_column(builder, value, model.lambdas_, piece)


def _each_column(
    builder: NetworkBuilder, value: Tensor, exponents: Any, piece: Callable[[NetworkBuilder, Tensor, float], Tensor]
) -> Tensor:
    columns = [ops.pick(builder, value, np.array([[place]])) for place in range(value.shape[1])]
    return builder.concat([piece(builder, column, float(power)) for column, power in zip(columns, exponents, strict=True)], axis=1)


def _upper(builder: NetworkBuilder, value: Tensor, exponent: float, least: float) -> Tensor:
    """((1 + x)^l - 1) / l down to 1 + x = `least`, and a line below."""
    if exponent == 1.0:
        return value
    shifted = builder.shift(value, 1.0)
    if abs(exponent) < TINY:
        return builder.activate(shifted, find_activation("log", (least,)))
    powers = builder.activate(shifted, find_activation("power", (exponent, least)))
    return builder.scale(builder.shift(powers, -1.0), 1.0 / exponent)


def _yeo_johnson(builder: NetworkBuilder, value: Tensor, exponent: float) -> Tensor:
    minus = builder.scale(value, -1.0)
    lower = builder.scale(_upper(builder, minus, 2.0 - exponent, 1.0), -1.0)
    return builder.add(builder.add(_upper(builder, value, exponent, 1.0), lower), minus)


def _box_cox(builder: NetworkBuilder, value: Tensor, exponent: float) -> Tensor:
    return _upper(builder, builder.shift(value, -1.0), exponent, LEAST)


def _undo_upper(builder: NetworkBuilder, value: Tensor, exponent: float) -> Tensor:
    """(1 + l y)^(1 / l) - 1 of y >= 0; with a negative exponent it has a pole, before which it goes on in a line."""
    if exponent == 1.0:
        return value
    if abs(exponent) < TINY:
        return builder.shift(builder.activate(value, find_activation("exp")), -1.0)
    inner = builder.shift(builder.scale(value, exponent), 1.0)
    return builder.shift(builder.activate(inner, find_activation("power", (1.0 / exponent, LEAST))), -1.0)


def _undo_yeo_johnson(builder: NetworkBuilder, value: Tensor, exponent: float) -> Tensor:
    above, below = builder.relu(value), builder.relu(builder.scale(value, -1.0))
    lower = builder.scale(_undo_upper(builder, below, 2.0 - exponent), -1.0)
    return builder.add(_undo_upper(builder, above, exponent), lower)


def _undo_box_cox(builder: NetworkBuilder, value: Tensor, exponent: float) -> Tensor:
    return builder.shift(_undo_upper(builder, value, exponent), 1.0)


TRANSFORM = {"PowerTransformer": power_transform}
INVERSE = {"PowerTransformer": undo_power_transform}
