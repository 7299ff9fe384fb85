"""Lines that may be chosen: below an open ReLU all through the origin, elsewhere the tangents on the side where units bend towards the line.

Which one is best depends on what goes back through the unit, so each of the functions that are bounded on a box may take its own. Every line
has a number in [0, 1]: the slope of a ReLU's, the share of the interval at which a tangent touches. All of them are below (or above) the
unit on its whole interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.network.activations import RELU, Activation
from dcembed.network.activations.lines import WIDEST, Band
from dcembed.network.rounding import EPS


@dataclass(frozen=True, eq=False)
class FreeLines:
    """The lines of one stage among which is chosen; shapes (k, width).

    Parameters
    ----------
    band
        The lines to begin with, and those where there is no choice.
    low, high
        Bounds of the pre-activations.
    is_below, is_above
        Where the line below and where the line above may be chosen.
    """

    activation: Activation
    band: Band
    low: Array
    high: Array
    is_below: Array
    is_above: Array

    @property
    def start(self) -> Array:
        """The numbers of the lines to begin with."""
        return self.band.lower if self.activation is RELU else np.full_like(self.low, 0.5)


def free_lines(activation: Activation, band: Band, low: Array, high: Array) -> FreeLines:
    """Where lines may be chosen for units whose pre-activations are in [low, high]."""
    if activation is RELU:
        return FreeLines(activation, band, low, high, (low < 0) & (high > 0), np.zeros_like(low, dtype=bool))
    usual = (low < high) & (high - low <= WIDEST)
    if activation.is_convex:
        return FreeLines(activation, band, low, high, usual, np.zeros_like(usual))
    if activation.period is not None:
        usual &= False
    breaks = np.array(activation.breaks)
    first, last = np.searchsorted(breaks, low, side="right"), np.searchsorted(breaks, high, side="left")
    sign = np.where(usual & (first >= last), np.array(activation.signs)[np.minimum(first, last)], 0)
    return FreeLines(activation, band, low, high, sign > 0, sign < 0)


def lines_of(free: FreeLines, number: Array) -> Band:
    """The lines that have these numbers, shape (k, width)."""
    band = free.band
    if free.activation is RELU:
        return Band(np.where(free.is_below, number, band.lower), None, band.upper, band.lift)
    place = _touched(free, number)
    slope, value = free.activation.slope(place), free.activation.value(place)
    constant = value - slope * place
    room = 8.0 * EPS * (np.abs(value) + np.abs(slope * place)) + free.activation.margin
    is_below, is_above = (where & np.isfinite(slope) & np.isfinite(constant) for where in (free.is_below, free.is_above))
    drop = np.zeros_like(place) if band.drop is None else band.drop
    return Band(
        np.where(is_below, slope, band.lower),
        np.where(is_below, constant - room, drop),
        np.where(is_above, slope, band.upper),
        np.where(is_above, constant + room, band.lift),
    )


def rise(free: FreeLines, number: Array, weight: Array, place: Array) -> Array:
    """By how much weight times line rises at `place`, to first order, with the number of the line; units take it by the sign of their weight."""
    taken = np.where(free.is_below, np.maximum(weight, 0.0), 0.0) + np.where(free.is_above, np.minimum(weight, 0.0), 0.0)
    if free.activation is RELU:
        return taken * place
    touched = _touched(free, number)
    bend = np.where(taken != 0, free.activation.curvature(touched) * (place - touched) * (free.high - free.low), 0.0)
    return np.where(np.isfinite(bend), taken * bend, 0.0)


def _touched(free: FreeLines, number: Array) -> Array:
    """The places that belong to numbers; where there is no choice, zero, where all activations are known."""
    is_free = free.is_below | free.is_above
    low, high = np.where(is_free, free.low, 0.0), np.where(is_free, free.high, 0.0)
    places: Array = np.clip(low + number * (high - low), low, high)
    return places
