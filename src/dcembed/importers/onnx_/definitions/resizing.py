"""Resizing in plain numpy. The reference rounds factors that come from sizes, and has no linear mode of Upsample."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dcembed.arrays import Array


def resize(
    x: Array,
    roi: Any = None,
    scales: Any = None,
    sizes: Any = None,
    axes: Any = None,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
    **others: Any,
) -> Array:
    """Axis by axis, by weights of all old entries for every new one."""
    if others.get("antialias") or others.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise NotImplementedError(f"Resize with {others}")
    given = scales if scales is not None and np.size(scales) else sizes
    for axis, number in zip(range(x.ndim) if axes is None else axes, np.asarray(given), strict=True):
        old = x.shape[axis]
        new, factor = (math.floor(old * number), number) if given is scales else (int(number), number / old)
        at = _old_places(np.arange(new), coordinate_transformation_mode, old, new, factor)
        weights = _weights(at, old, mode, nearest_mode, cubic_coeff_a, bool(exclude_outside))
        x = np.moveaxis(np.tensordot(weights, x, (1, axis)), 0, axis)
    return x


def _old_places(index: Array, transformation: str, old: int, new: int, factor: float) -> Array:
    if transformation == "align_corners":
        return index * (old - 1) / (new - 1) if new > 1 else np.zeros(new)
    if transformation == "asymmetric":
        return index / factor
    if transformation == "pytorch_half_pixel" and new == 1:
        return np.zeros(1)
    if transformation == "half_pixel_symmetric":
        return old / 2 * (1 - new / (factor * old)) + (index + 0.5) / factor - 0.5
    if transformation in ("half_pixel", "pytorch_half_pixel"):
        return (index + 0.5) / factor - 0.5
    raise NotImplementedError(f"Resize with the coordinates {transformation}")


def _weights(at: Array, old: int, mode: str, rounding: str, a: float, only_inside: bool) -> Array:
    """Shape (new size, old size)."""
    rounded = {
        "round_prefer_floor": np.ceil(at - 0.5),
        "round_prefer_ceil": np.floor(at + 0.5),
        "floor": np.floor(at),
        "ceil": np.ceil(at),
    }
    total = np.zeros((len(at), old))
    for place in range(-2, old + 2):
        gap = np.abs(at - place)
        if mode == "nearest":
            share = 1.0 * (np.clip(rounded[rounding], 0, old - 1) == place)
        elif mode == "linear":
            share = np.maximum(1.0 - gap, 0.0)
        else:
            inner = (a + 2) * gap**3 - (a + 3) * gap**2 + 1
            outer = a * gap**3 - 5 * a * gap**2 + 8 * a * gap - 4 * a
            share = np.where(gap <= 1, inner, np.where(gap < 2, outer, 0.0))
        if 0 <= place < old or not only_inside:
            total[:, min(max(place, 0), old - 1)] += share
    shares: Array = total / total.sum(axis=1, keepdims=True)
    return shares


def upsample(x: Array, scales: Any, mode: str = "nearest") -> Array:
    """Entry i of an axis lies at i over its factor. The reference has no linear mode, and no factors as attributes."""
    for axis, factor in enumerate(np.asarray(scales, dtype=np.float64)):
        size = x.shape[axis]
        at = np.arange(math.floor(size * factor)) / factor
        low = np.minimum(np.floor(at).astype(int), size - 1)
        high, share = np.minimum(low + 1, size - 1), (at - low) * (mode != "nearest")
        shape = [-1 if place == axis else 1 for place in range(x.ndim)]
        x = np.take(x, low, axis) * (1.0 - share).reshape(shape) + np.take(x, high, axis) * share.reshape(shape)
    return x
