"""Convex units on intervals: the tangent at the lower end, and what a unit gains on it up to the upper end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.network.activations import RELU, Activation

# What a unit gains on its tangent is rounding below this, relative to its value.
STRAIGHT = 1e-14


@dataclass(frozen=True, eq=False)
class Tangent:
    """tilt * a + height touches the units at the lower ends of their intervals; all shapes (k, width).

    Parameters
    ----------
    tilt, height
        The tangents.
    is_open
        Whether a unit gains anything on its tangent.
    steepest, largest
        The largest slope and value of what it gains.
    """

    tilt: Array
    height: Array
    is_open: Array
    steepest: Array
    largest: Array

    def on(self, boxes: slice) -> Tangent:
        """On some of the boxes."""
        return Tangent(self.tilt[boxes], self.height[boxes], self.is_open[boxes], self.steepest[boxes], self.largest[boxes])


def tangent_at(activation: Activation, bounds: tuple[Array, Array]) -> Tangent:
    """The tangents at the lower ends, which may be infinite.

    Examples
    --------
    >>> tangent = tangent_at(RELU, (np.array([[1.0, -1.0, -2.0]]), np.array([[2.0, 3.0, -1.0]])))
    >>> tangent.tilt, tangent.is_open, tangent.largest
    (array([[1., 0., 0.]]), array([[False,  True, False]]), array([[0., 3., 0.]]))
    """
    low, high = bounds
    if activation is RELU:
        is_open = (low < 0) & (high > 0)
        return Tangent((low >= 0).astype(np.float64), np.zeros_like(low), is_open, np.ones_like(low), np.where(is_open, high, 0.0))
    start, end = np.where(np.isneginf(low), 0.0, low), np.where(np.isposinf(high), 0.0, high)
    # A convex unit that goes on for ever to the left rests at zero there.
    tilt = np.where(np.isneginf(low), activation.slopes_at_infinity[0], activation.slope(start))
    height = np.where(np.isneginf(low), activation.values_at_infinity[0], activation.value(start) - tilt * start)
    steep = np.where(np.isposinf(high), activation.slopes_at_infinity[1], activation.slope(end))
    value = np.where(np.isposinf(high), np.inf, activation.value(end))
    with np.errstate(invalid="ignore"):
        gain = np.where(np.isposinf(high), np.where(steep > tilt, np.inf, 0.0), value - tilt * end - height)
    is_open = (steep > tilt) & (gain > STRAIGHT * (1.0 + np.abs(np.where(np.isfinite(value), value, 0.0))))
    return Tangent(tilt, height, is_open, steep - tilt, np.maximum(gain, 0.0))
