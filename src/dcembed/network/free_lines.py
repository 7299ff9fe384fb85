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
    """The lines of one stage among which is chosen, for m of its units on k boxes.

    Parameters
    ----------
    band
        The lines of all units to begin with, shape (k, width).
    places
        Which of k * width units these m are.
    low, high
        Bounds of their pre-activations, shape (m,).
    is_below
        Whether it is the line below that may be chosen, or that above; shape (m,).
    """

    activation: Activation
    band: Band
    places: Array
    low: Array
    high: Array
    is_below: Array

    @property
    def start(self) -> Array:
        """The numbers of the lines to begin with, shape (m,)."""
        return at(self.band.lower, self.places) if self.activation is RELU else np.full(self.places.size, 0.5)

    @property
    def steepest(self) -> Array:
        """The largest slope of all lines that may be chosen: tangents become steeper towards one of the ends."""
        if self.activation is RELU:
            return np.ones(self.places.size)
        slopes: Array = np.maximum(np.abs(self.activation.slope(self.low)), np.abs(self.activation.slope(self.high)))
        return slopes


def at(values: Array, places: Array) -> Array:
    """Of an array over k boxes and the units of a stage those in these places."""
    return values.reshape(-1)[places]


def free_lines(activation: Activation, band: Band, low: Array, high: Array) -> FreeLines:
    """Where lines may be chosen for units whose pre-activations are in [low, high], (k, width)."""
    bend = _bend(activation, low, high)
    places = np.flatnonzero(bend)
    return FreeLines(activation, band, places, at(low, places), at(high, places), at(bend, places) > 0)


def _bend(activation: Activation, low: Array, high: Array) -> Array:
    """1 where a line below may be chosen, -1 where one above may, 0 where none may."""
    if activation is RELU:
        return (low < 0) & (high > 0)
    usual = (low < high) & (high - low <= WIDEST)
    if activation.is_convex:
        return usual
    if activation.period is not None:
        return np.zeros_like(usual)
    breaks = np.array(activation.breaks)
    first, last = np.searchsorted(breaks, low, side="right"), np.searchsorted(breaks, high, side="left")
    return np.where(usual & (first >= last), np.array(activation.signs)[np.minimum(first, last)], 0)


def lines_of(free: FreeLines, number: Array) -> Band:
    """The lines of all units, those that are chosen by their numbers (m,)."""
    band = free.band
    if free.activation is RELU:
        return Band(_put(band.lower, free.places, number), None, band.upper, band.lift)
    place = _touched(free, number)
    slope, value = free.activation.slope(place), free.activation.value(place)
    constant = value - slope * place
    room = 8.0 * EPS * (np.abs(value) + np.abs(slope * place)) + free.activation.margin
    is_known = np.isfinite(slope) & np.isfinite(constant)
    below, above = free.is_below & is_known, ~free.is_below & is_known
    drop = np.zeros_like(band.lower) if band.drop is None else band.drop
    return Band(
        _put(band.lower, free.places[below], slope[below]),
        _put(drop, free.places[below], (constant - room)[below]),
        _put(band.upper, free.places[above], slope[above]),
        _put(band.lift, free.places[above], (constant + room)[above]),
    )


def _put(values: Array, places: Array, new: Array) -> Array:
    """The values, with new ones in some places."""
    changed = np.array(values, order="C")
    changed.reshape(-1)[places] = new
    return changed


def rise(free: FreeLines, number: Array, weight: Array, place: Array) -> Array:
    """By how much weight times line rises at `place`, to first order, with the number of the line: shapes (m,).

    A unit takes the line below it where its weight is positive, that above it where it is negative.
    """
    taken = np.where(free.is_below, np.maximum(weight, 0.0), np.minimum(weight, 0.0))
    if free.activation is RELU:
        return taken * place
    touched = _touched(free, number)
    up = taken * free.activation.curvature(touched) * (place - touched) * (free.high - free.low)
    return np.where(np.isfinite(up), up, 0.0)


def _touched(free: FreeLines, number: Array) -> Array:
    """The places that belong to numbers."""
    places: Array = np.clip(free.low + number * (free.high - free.low), free.low, free.high)
    return places
