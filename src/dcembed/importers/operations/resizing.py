"""Resizing of the last axes: every new entry is a sum of a few old ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.importers.operations.values import Unsupported, Value, map_last_axes, shape_of
from dcembed.network.builder import NetworkBuilder

# (new positions, old size, new size, scale) -> old positions. The scale is new over old size.
_COORDINATES: dict[str, Callable[[Array, int, int, float], Array]] = {
    "half_pixel": lambda at, old, new, scale: (at + 0.5) / scale - 0.5,
    "pytorch_half_pixel": lambda at, old, new, scale: (at + 0.5) / scale - 0.5 if new > 1 else 0.0 * at,
    "half_pixel_symmetric": lambda at, old, new, scale: 0.5 * old * (1.0 - new / (scale * old)) + (at + 0.5) / scale - 0.5,
    "align_corners": lambda at, old, new, scale: at * ((old - 1) / (new - 1)) if new > 1 else 0.0 * at,
    "asymmetric": lambda at, old, new, scale: at / scale,
}
_ROUNDING: dict[str, Callable[[Array], Array]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "round_prefer_floor": lambda at: np.ceil(at - 0.5),
    "round_prefer_ceil": lambda at: np.floor(at + 0.5),
}


def resize(
    builder: NetworkBuilder,
    value: Value,
    sizes: Sequence[int],
    *,
    mode: str = "nearest",
    coordinates: str = "half_pixel",
    scales: Sequence[float | None] | None = None,
    rounding: str = "floor",
    cubic: float = -0.75,
    exclude_outside: bool = False,
) -> Value:
    """The last axes in new sizes.

    Parameters
    ----------
    sizes
        New sizes of as many last axes.
    mode
        nearest, linear or cubic.
    coordinates
        Where the new entries lie between the old ones, in the words of ONNX: half_pixel, pytorch_half_pixel, half_pixel_symmetric,
        align_corners or asymmetric.
    scales
        New over old size, where the model says it and it is not just that.
    rounding
        Of nearest: floor, ceil, round_prefer_floor or round_prefer_ceil.
    cubic
        The coefficient a of the cubic kernel.
    exclude_outside
        Whether cubic weights of places outside of the value are spread over the others.
    """
    if mode not in ("nearest", "linear", "cubic"):
        raise Unsupported(f"resizes in the mode '{mode}'; accepted are nearest, linear and cubic")
    if coordinates not in _COORDINATES or rounding not in _ROUNDING:
        raise Unsupported(f"resizes with the coordinates '{coordinates}' and the rounding '{rounding}', which are not known")
    matrices = []
    for old, new, scale in zip(shape_of(value)[-len(sizes) :], sizes, scales or [None] * len(sizes), strict=True):
        at = _COORDINATES[coordinates](np.arange(new, dtype=np.float64), old, new, new / old if scale is None else scale)
        places, weights = _taps(at, mode, rounding, cubic)
        matrices.append(_matrix(places, _without_outside(places, weights, old) if exclude_outside else weights, old))
    return map_last_axes(builder, value, matrices)


def _taps(at: Array, mode: str, rounding: str, cubic: float) -> tuple[Array, Array]:
    """Old places and their weights, shape (new size, taps) each."""
    if mode == "nearest":
        return _ROUNDING[rounding](at).astype(np.int64)[:, None], np.ones((len(at), 1))
    low = np.floor(at)
    part = at - low
    if mode == "linear":
        return low.astype(np.int64)[:, None] + np.arange(2), np.stack([1.0 - part, part], axis=1)
    distances = np.stack([1.0 + part, part, 1.0 - part, 2.0 - part], axis=1)
    return low.astype(np.int64)[:, None] + np.arange(-1, 3), _cubic(distances, cubic)


def _cubic(distance: Array, a: float) -> Array:
    near = ((a + 2.0) * distance - (a + 3.0)) * distance**2 + 1.0
    far = a * (((distance - 5.0) * distance + 8.0) * distance - 4.0)
    return np.where(distance <= 1.0, near, far)


def _without_outside(places: Array, weights: Array, size: int) -> Array:
    inside = np.where((places >= 0) & (places < size), weights, 0.0)
    shares: Array = inside / inside.sum(axis=1, keepdims=True)
    return shares


def _matrix(places: Array, weights: Array, size: int) -> sp.csr_array:
    """Places beyond the ends stand for the ends."""
    rows = np.repeat(np.arange(len(places)), places.shape[1])
    columns = np.clip(places, 0, size - 1).reshape(-1)
    return sp.csr_array((weights.reshape(-1), (rows, columns)), shape=(len(places), size))
