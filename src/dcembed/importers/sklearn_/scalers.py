"""Scalers, forwards and, for the targets of a TransformedTargetRegressor, backwards."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.importers.operations import Unsupported
from dcembed.network.builder import NetworkBuilder, Tensor


def _center_and_scale(scaler: Any) -> tuple[Array | float, Array | float]:
    """What is subtracted, and what it is then divided by."""
    if type(scaler).__name__ == "StandardScaler":
        center = scaler.mean_ if scaler.with_mean else None
    elif type(scaler).__name__ == "RobustScaler":
        center = scaler.center_
    else:
        center = None
    return 0.0 if center is None else center, 1.0 if scaler.scale_ is None else np.asarray(scaler.scale_, dtype=np.float64)


def standardize(builder: NetworkBuilder, scaler: Any, value: Tensor) -> Tensor:
    """(x - center) / scale; MaxAbsScaler may clip to [-1, 1]."""
    center, scale = _center_and_scale(scaler)
    scaled = builder.scale(builder.shift(value, -np.asarray(center)), 1.0 / np.asarray(scale))
    return builder.clip(scaled, -1.0, 1.0) if getattr(scaler, "clip", False) else scaled


def unstandardize(builder: NetworkBuilder, scaler: Any, value: Tensor) -> Tensor:
    """The inverse of `standardize`."""
    center, scale = _center_and_scale(scaler)
    return builder.shift(builder.scale(value, scale), center)


def min_max(builder: NetworkBuilder, scaler: Any, value: Tensor) -> Tensor:
    """x * scale_ + min_, clipped to `feature_range` where the scaler does so."""
    scaled = builder.shift(builder.scale(value, scaler.scale_), scaler.min_)
    return builder.clip(scaled, *scaler.feature_range) if scaler.clip else scaled


def undo_min_max(builder: NetworkBuilder, scaler: Any, value: Tensor) -> Tensor:
    """The inverse of `min_max`."""
    return builder.scale(builder.shift(value, -np.asarray(scaler.min_)), 1.0 / np.asarray(scaler.scale_))


def normalize(builder: NetworkBuilder, scaler: Any, value: Tensor) -> Tensor:
    """Refused: the norm of a point is zero somewhere, and there the quotient jumps."""
    raise Unsupported(
        f"divides every point by its '{scaler.norm}' norm, which jumps at the origin; scale columns instead, or normalize outside the model"
    )


TRANSFORM = {
    **dict.fromkeys(("StandardScaler", "RobustScaler", "MaxAbsScaler"), standardize),
    "MinMaxScaler": min_max,
    "Normalizer": normalize,
}
INVERSE = {**dict.fromkeys(("StandardScaler", "RobustScaler", "MaxAbsScaler"), unstandardize), "MinMaxScaler": undo_min_max}
