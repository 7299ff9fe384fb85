"""The values and the slopes of an activation on intervals."""

from __future__ import annotations

import numpy as np

from dcembed.arrays import Array
from dcembed.network.activations.activation import Activation
from dcembed.network.activations.relu import RELU

LARGEST = float(np.finfo(np.float64).max)


def value_range(activation: Activation, low: Array, high: Array) -> tuple[Array, Array]:
    """The smallest and the largest value on [low, high]; ends may be infinite.

    Examples
    --------
    >>> from dcembed.network.activations import find_activation
    >>> value_range(find_activation("square"), np.array([-1.0]), np.array([2.0]))
    (array([0.]), array([4.]))
    """
    if activation is RELU:
        return np.maximum(np.where(np.isnan(low), 0.0, low), 0.0), np.maximum(np.where(np.isnan(high), np.inf, high), 0.0)
    one, other = _values(activation, low), _values(activation, high)
    least, most = np.minimum(one, other), np.maximum(one, other)
    for place in activation.extremes:
        is_in, value = holds(activation, place, low, high), activation.value(np.array([place]))[0]
        least, most = np.where(is_in, np.minimum(least, value), least), np.where(is_in, np.maximum(most, value), most)
    least, most = least - activation.margin, most + activation.margin
    # An end that is not a number bounds nothing, and what overflows is as large as numbers are.
    is_known = ~(np.isnan(low) | np.isnan(high))
    return np.where(is_known, np.minimum(least, LARGEST), -np.inf), np.where(is_known, np.maximum(most, -LARGEST), np.inf)


def slope_range(activation: Activation, low: Array, high: Array) -> tuple[Array, Array]:
    """The smallest and the largest slope on [low, high]; ends may be infinite.

    Slopes rise where the activation is convex and fall where it is concave, so that none is outside of those at the ends and at breaks.

    Examples
    --------
    >>> from dcembed.network.activations import find_activation
    >>> slope_range(find_activation("tanh"), np.array([-1.0]), np.array([np.inf]))
    (array([0.]), array([1.]))
    """
    one, other = _slopes(activation, low), _slopes(activation, _left_of_breaks(activation, high))
    least, most = np.minimum(one, other), np.maximum(one, other)
    for place in activation.breaks:
        left, right = activation.slope(np.array([np.nextafter(place, -np.inf), place]))
        is_in = holds(activation, place, low, high)
        # A jump at the upper end lies outside, one at the lower end is the slope there already.
        is_left_in = is_in & (place > low) if activation.period is None else is_in
        is_right_in = is_in & (place < high) if activation.period is None else is_in
        for inside, slope in ((is_left_in, left), (is_right_in, right)):
            least, most = np.where(inside, np.minimum(least, slope), least), np.where(inside, np.maximum(most, slope), most)
    return (least, most) if activation.margin == 0.0 else (least - activation.margin, most + activation.margin)


def _left_of_breaks(activation: Activation, a: Array) -> Array:
    """A little less where the slope may jump."""
    for place in activation.breaks:
        a = np.where(a == place, np.nextafter(place, -np.inf), a)
    return a


def holds(activation: Activation, place: float, low: Array, high: Array) -> Array:
    """Whether a place, or one a number of periods from it, lies in [low, high]."""
    if activation.period is None:
        return (low <= place) & (place <= high)
    with np.errstate(invalid="ignore"):
        nearest = place + np.ceil((low - place) / activation.period) * activation.period
        inside: Array = (nearest <= high) | np.isneginf(low)
    return inside


def _values(activation: Activation, a: Array) -> Array:
    """Also where a is infinite."""
    at, below, above = _finite(a), *activation.values_at_infinity
    return np.where(np.isneginf(a), below, np.where(np.isposinf(a), above, activation.value(at)))


def _slopes(activation: Activation, a: Array) -> Array:
    """Also where a is infinite."""
    at, below, above = _finite(a), *activation.slopes_at_infinity
    return np.where(np.isneginf(a), below, np.where(np.isposinf(a), above, activation.slope(at)))


def _finite(a: Array) -> Array:
    return np.where(np.isfinite(a), a, 0.0)
