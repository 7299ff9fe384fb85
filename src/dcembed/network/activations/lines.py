"""Lines above and below an activation on intervals, as tight in the middle of each as lines can be.

On a piece where phi is convex its tangent in the middle lies below and its chord above; where it is concave the other way round. Across
breaks the slope of the convex envelope in the middle is found on a grid, and the line is moved to where it is below phi everywhere:
between two points of the grid phi lies above its chord where it is concave, and above both tangents where it is convex.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.network.activations.activation import Activation
from dcembed.network.activations.ranges import value_range
from dcembed.network.activations.relu import RELU

# Cells of the grid, an even number, how often ends of chords are looked for on finer ones, and those in cells of the one before.
CELLS = 16
REFINEMENTS = 3
FINER = np.linspace(-1.0, 1.0, 5)
# How often the place where a line touches is halved further.
HALVINGS = 12
# Relative to the numbers that are added up: more than their rounding.
MARGIN = 1e-15
# Intervals beyond this have lines without slope: what is lost there matters to nobody.
WIDEST = 1e6


@dataclass(frozen=True, eq=False)
class Band:
    """lower * a + drop <= phi(a) <= upper * a + lift on each of some intervals; a drop of None is zero everywhere."""

    lower: Array
    drop: Array | None
    upper: Array
    lift: Array


def enclose(activation: Activation, low: Array, high: Array) -> Band:
    """Lines around the activation on [low, high].

    Examples
    --------
    >>> from dcembed.network.activations import find_activation
    >>> band = enclose(find_activation("square"), np.array([-1.0]), np.array([3.0]))
    >>> band.lower, band.drop, band.upper, band.lift
    (array([2.]), array([-1.]), array([2.]), array([3.]))
    """
    if activation is RELU:
        return _enclose_relu(low, high)
    with np.errstate(invalid="ignore", over="ignore"):
        usual = high - low <= WIDEST
        inside = np.where(usual, low, 0.0), np.where(usual, high, 1.0)
        lower, drop = _line_below(activation, *inside, 1.0)
        upper, lift = _line_below(activation, *inside, -1.0)
    if activation.margin:
        drop, lift = drop - activation.margin, lift - activation.margin
    # Lines along huge values overflow.
    usual &= np.isfinite(lower) & np.isfinite(drop) & np.isfinite(upper) & np.isfinite(lift)
    if usual.all():
        return Band(lower, drop, -upper, -lift)
    least, most = value_range(activation, low, high)
    return Band(np.where(usual, lower, 0.0), np.where(usual, drop, least), np.where(usual, -upper, 0.0), np.where(usual, -lift, most))


def _enclose_relu(low: Array, high: Array) -> Band:
    open_ = (low < 0) & (high > 0)
    lower = np.where(open_, (high > -low).astype(np.float64), (low >= 0).astype(np.float64))
    with np.errstate(invalid="ignore", over="ignore"):
        width = np.where(open_, high - low, 1.0)
        upper = np.where(open_, high / width, (low >= 0).astype(np.float64))
        lift = np.where(open_, -upper * low, 0.0)
    if np.isfinite(upper).all() and np.isfinite(lift).all():
        return Band(lower, None, upper, lift)
    # Without an end above the identity is below the line, without one below alone the largest value is.
    upper = np.where(open_ & np.isposinf(high), 1.0, upper)
    return Band(lower, None, upper, np.where(open_, np.where(np.isposinf(high), -low, np.where(np.isneginf(low), high, lift)), 0.0))


def _line_below(activation: Activation, low: Array, high: Array, sign: float) -> tuple[Array, Array]:
    """Slope and constant of a line below sign * phi."""
    if activation.period is not None:
        return _below_periodic(activation, low, high, sign)
    if activation.is_convex:
        return _tangent(activation, low, high, sign) if sign > 0 else _chord(activation, low, high, sign)
    flat = low.reshape(-1), high.reshape(-1)
    slope, constant = _across_breaks(activation, *flat, sign)
    return slope.reshape(low.shape), constant.reshape(low.shape)


def _tangent(activation: Activation, low: Array, high: Array, sign: float) -> tuple[Array, Array]:
    middle = 0.5 * (low + high)
    slope, value = sign * activation.slope(middle), sign * activation.value(middle)
    return slope, _outward(value - slope * middle, value, slope * middle)


def _chord(activation: Activation, low: Array, high: Array, sign: float) -> tuple[Array, Array]:
    one, other = sign * activation.value(low), sign * activation.value(high)
    width = high - low
    slope = np.where(width > 0, (other - one) / np.where(width > 0, width, 1.0), 0.0)
    # The lower of both ends: what a division by a tiny width gets wrong is made good.
    return slope, _outward(np.minimum(one - slope * low, other - slope * high), one, slope * np.maximum(np.abs(low), np.abs(high)))


def _outward(constant: Array, *terms: Array) -> Array:
    lowered: Array = constant - MARGIN * sum(np.abs(term) for term in terms)
    return lowered


def _below_periodic(activation: Activation, low: Array, high: Array, sign: float) -> tuple[Array, Array]:
    """Moved to the first period; over a whole period a line without slope."""
    period = activation.period or 1.0
    shift = np.floor(low / period) * period
    first, last = low - shift, np.minimum(high - shift, low - shift + period)
    breaks = tuple(place + number * period for number in range(3) for place in activation.breaks)
    signs = (activation.signs[-1], *(activation.signs[1 : len(activation.breaks) + 1] * 3))
    unrolled = Activation(activation.name, activation.value, activation.slope, activation.curvature, breaks, signs)
    slope, constant = _across_breaks(unrolled, first.reshape(-1), last.reshape(-1), sign)
    slope, constant = slope.reshape(low.shape), constant.reshape(low.shape)
    least, most = value_range(activation, low, high)
    is_short = high - low < period
    # Arguments are reduced to a period to about this precision.
    moved = constant - slope * shift - 4.0 * np.finfo(np.float64).eps * (np.abs(low) + np.abs(high))
    return np.where(is_short, slope, 0.0), np.where(is_short, moved, least if sign > 0 else -most)


def _across_breaks(activation: Activation, low: Array, high: Array, sign: float) -> tuple[Array, Array]:
    """For intervals (n,) that may have breaks inside; those that have none are on one piece."""
    at = np.array(activation.breaks)
    first, last = np.searchsorted(at, low, side="right"), np.searchsorted(at, high, side="left")
    bend = sign * np.array(activation.signs)[np.minimum(first, len(activation.signs) - 1)]
    slope, constant = _chord(activation, low, high, sign)
    tangent = np.flatnonzero((first == last) & (bend > 0))
    slope[tangent], constant[tangent] = _tangent(activation, low[tangent], high[tangent], sign)
    mixed = np.flatnonzero(first < last)
    if mixed.size:
        slope[mixed] = _envelope_slope(activation, low[mixed], high[mixed], sign)
        constant[mixed] = _least_gap(activation, low[mixed], high[mixed], sign, slope[mixed])
    return slope, constant


def _envelope_slope(activation: Activation, low: Array, high: Array, sign: float) -> Array:
    """The slope in the middle of the convex envelope of sign * phi: of the chord that is lowest there, or of the tangent if none is below phi.

    The ends of the chord are found on a grid, and then on finer ones around them.
    """
    middle = 0.5 * (low + high)
    slope, height = sign * activation.slope(middle), sign * activation.value(middle)
    share = np.linspace(0.0, 1.0, CELLS // 2 + 1)[:-1]
    left = low[:, None] + (middle - low)[:, None] * share
    right = high[:, None] + (middle - high)[:, None] * share
    step = (high - low) / CELLS
    for _ in range(REFINEMENTS):
        lowest, start, end, steep = _lowest_chord(activation, left, right, middle, sign)
        is_below = (lowest < height) & (high > low)
        slope, height = np.where(is_below, steep, slope), np.where(is_below, lowest, height)
        left = np.clip(start[:, None] + step[:, None] * FINER, low[:, None], middle[:, None] - 0.1 * step[:, None])
        right = np.clip(end[:, None] + step[:, None] * FINER, middle[:, None] + 0.1 * step[:, None], high[:, None])
        step = step * (FINER[1] - FINER[0])
    return slope


def _lowest_chord(activation: Activation, left: Array, right: Array, middle: Array, sign: float) -> tuple[Array, Array, Array, Array]:
    """Of all chords between points to the left and to the right (n, m) of the middle, the lowest there: its height, its ends and its slope."""
    one, other = sign * activation.value(left), sign * activation.value(right)
    width = right[:, None, :] - left[:, :, None]
    weight = (right - middle[:, None])[:, None, :] / np.where(width > 0, width, 1.0)
    heights = (weight * one[:, :, None] + (1.0 - weight) * other[:, None, :]).reshape(middle.size, -1)
    lowest, row = heights.argmin(axis=1), np.arange(middle.size)
    start, end = np.divmod(lowest, right.shape[1])
    steep = (other[row, end] - one[row, start]) / np.where(
        width.reshape(middle.size, -1)[row, lowest] > 0, right[row, end] - left[row, start], 1.0
    )
    return heights[row, lowest], left[row, start], right[row, end], steep


def _least_gap(activation: Activation, low: Array, high: Array, sign: float, slope: Array) -> Array:
    """A lower bound of sign * phi(a) - slope * a on each interval, tight to rounding."""
    at_breaks = np.clip(np.array(activation.breaks)[None, :], low[:, None], high[:, None])
    grid = np.sort(np.concatenate([low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, CELLS + 1), at_breaks], axis=1), axis=1)
    grid = np.clip(grid, low[:, None], high[:, None])
    values = sign * activation.value(grid)
    least: Array = (values - slope[:, None] * grid).min(axis=1)
    size: Array = np.abs(values).max(axis=1) + np.abs(slope) * np.maximum(np.abs(low), np.abs(high))
    left, right = grid[:, :-1], grid[:, 1:]
    piece = np.searchsorted(np.array(activation.breaks), 0.5 * (left + right))
    is_convex = sign * np.array(activation.signs)[piece] > 0
    falls, rises = _gap_slope(activation, left, sign, slope), _gap_slope(activation, np.nextafter(right, left), sign, slope)
    row, cell = np.nonzero(is_convex & (falls < 0) & (rises > 0))
    if row.size:
        inside = _least_in_cells(activation, left[row, cell], right[row, cell], sign, slope[row])
        np.minimum.at(least, row, inside)
    return _outward(least, size)


def _gap_slope(activation: Activation, a: Array, sign: float, slope: Array) -> Array:
    steep: Array = sign * activation.slope(a) - slope.reshape(-1, *(1,) * (a.ndim - 1))
    return steep


def _least_in_cells(activation: Activation, left: Array, right: Array, sign: float, slope: Array) -> Array:
    """Below the least gap in cells on which it is convex, falls at the left end and rises at the right one."""
    for _ in range(HALVINGS):
        middle = 0.5 * (left + right)
        falls = _gap_slope(activation, middle, sign, slope) < 0
        left, right = np.where(falls, middle, left), np.where(falls, right, middle)
    one, other = (sign * activation.value(a) - slope * a for a in (left, right))
    down = np.minimum(_gap_slope(activation, left, sign, slope), 0.0)
    # The tangent at the left end, at the right one at the latest.
    least: Array = np.minimum(one + down * (right - left), np.minimum(one, other))
    return least
