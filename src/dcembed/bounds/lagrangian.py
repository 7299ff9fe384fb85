"""The least of a price over boxes, from below: the Lagrangian of their planes, at the best multipliers of the restrictions.

On a box the price of the inputs, the priced planes and the restrictions' planes at any multipliers add up to something whose least value is
seen input by input. Where it is taken is also where planes are worth lifting.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.bounds.input_boxes import MARGIN, Boxes
from dcembed.bounds.pieces import Piece

# Passes over several restrictions.
NUM_PASSES = 3
# A side of a box that is no longer than this has no slope of its own.
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Aim:
    """Where planes are worth lifting: a plane that is lifted where the sum of it and of its tilt is lowest lifts the bound of the price.

    Parameters
    ----------
    tilt
        The slope of all else that counts on a box, in units of each plane, those of functions first: (L, k + r, n_in); zero for planes that do not count.
    counts
        Which planes count on any of the boxes, mask of shape (k + r,).
    """

    tilt: Array
    counts: Array

    def for_halves(self) -> Aim:
        """The same for the first halves of all boxes, then for the second."""
        return Aim(np.tile(self.tilt, (2, 1, 1)), self.counts)


@dataclass(frozen=True, eq=False)
class Price:
    """Prices of a piece: of its inputs, as convex piecewise-linear functions, and of its functions.

    Parameters
    ----------
    kinks, values
        Where the functions of the inputs bend, and their values there: shapes (n_in, K), kinks in increasing order.
    functions
        Prices of the functions, shape (k,), not negative.
    """

    kinks: Array
    values: Array
    functions: Array


def price_of(piece: Piece, columns: Array, functions: Array) -> Price:
    """The price of inputs that prices of columns (c,) make: the cheapest way to feed each input."""
    size, most = piece.offset.size, int(np.bincount(piece.place, minlength=1).max(initial=1))
    kinks, values = np.empty((size, most + 1)), np.zeros((size, most + 1))
    kinks[:] = piece.offset[:, None]
    for place in range(size):
        fed = np.flatnonzero(piece.place == place)
        if fed.size == 0:
            continue
        factor, price = piece.factor[fed], columns[fed]
        order = np.argsort(price / factor)
        start = np.where(factor > 0, piece.lb[fed], piece.ub[fed])
        length = (np.abs(factor) * (piece.ub[fed] - piece.lb[fed]))[order]
        steps = np.concatenate([[0.0], np.cumsum(length)])
        rise = np.concatenate([[0.0], np.cumsum(length * (price / factor)[order])])
        own = slice(0, fed.size + 1)
        kinks[place, own] = piece.offset[place] + factor @ start + steps
        values[place, own] = price @ start + rise
        kinks[place, fed.size + 1 :], values[place, fed.size + 1 :] = kinks[place, fed.size], values[place, fed.size]
    return Price(kinks, values, np.maximum(functions, 0.0))


def priced(boxes: Boxes, price: Price) -> tuple[Array, Array]:
    """Slope (L, n_in) and constant (L,) of the planes below the priced functions."""
    if not price.functions.any():
        return np.zeros_like(boxes.low), np.zeros(boxes.number)
    return np.einsum("k,lki->li", price.functions, boxes.slope), boxes.constant @ price.functions


def least_of_price(boxes: Boxes, price: Price, enough: float, is_restricted: bool) -> Array:
    """Lower bounds (L,) of a price over boxes; restrictions are left out where the bound is good enough without."""
    at, worth = candidates(boxes, price)
    slope, constant = priced(boxes, price)
    best = lagrangian(at, worth, slope, constant)
    low = np.flatnonzero(best < enough) if is_restricted else np.zeros(0, dtype=np.int64)
    if low.size:
        _, value = _restricted(boxes.at(low), at[low], worth[low], slope[low], constant[low])
        best[low] = np.maximum(best[low], value)
    return best


def aim(boxes: Boxes, price: Price, is_restricted: bool) -> Aim:
    """Where the price and what else counts leave the planes of each box lowest."""
    at, worth = candidates(boxes, price)
    slope, constant = priced(boxes, price)
    multiplier = np.zeros(boxes.own_constant.shape)
    if is_restricted:
        multiplier, _ = _restricted(boxes, at, worth, slope, constant)
    chord = (worth[:, :, -1] - worth[:, :, 0]) / np.maximum(at[:, :, -1] - at[:, :, 0], TINY)
    total = chord + slope + np.einsum("lr,lri->li", multiplier, boxes.own_slope)
    weight = np.concatenate([np.broadcast_to(price.functions, boxes.constant.shape), multiplier], axis=1)
    each = np.concatenate([boxes.slope, boxes.own_slope], axis=1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        others = (total[:, None] - weight[:, :, None] * each) / weight[:, :, None]
    counts = np.asarray((weight > 0).any(axis=0))
    return Aim(np.where((weight[:, :, None] > 0) & np.isfinite(others), others, 0.0), counts)


def _restricted(boxes: Boxes, at: Array, worth: Array, slope: Array, constant: Array) -> tuple[Array, Array]:
    """Multipliers (L, r) of the restrictions, the best one after the other, and the largest Lagrangian that was met."""
    size = boxes.own_constant.shape[1]
    multiplier, best = np.zeros((boxes.number, size)), np.full(boxes.number, -np.inf)
    for number in [*range(size)] * (1 if size == 1 else NUM_PASSES):
        others = np.delete(np.arange(size), number)
        there = slope + np.einsum("lr,lri->li", multiplier[:, others], boxes.own_slope[:, others])
        rest = constant + np.einsum("lr,lr->l", multiplier[:, others], boxes.own_constant[:, others])
        own = boxes.own_slope[:, number], boxes.own_constant[:, number]
        multiplier[:, number], value = best_multiplier(at, worth, there, rest, *own)
        best = np.maximum(best, value)
    return multiplier, best


def candidates(boxes: Boxes, price: Price) -> tuple[Array, Array]:
    """Places in which the price of an input can be least in a box, whatever is added to its slope, and its values there: (L, n_in, K)."""
    low, high = boxes.low[:, :, None], boxes.high[:, :, None]
    at = np.concatenate([low, np.clip(price.kinks[None, :, 1:-1], low, high), high], axis=2)
    return at, np.stack([np.interp(at[:, i], price.kinks[i], price.values[i]) for i in range(at.shape[1])], axis=1)


def lagrangian(at: Array, worth: Array, slope: Array, constant: Array) -> Array:
    """sum_i min over the candidates of worth + slope * at, plus the constant: shape (L,), lowered by rounding."""
    linear = slope[:, :, None] * at
    value: Array = (worth + linear).min(axis=2).sum(axis=1) + constant
    size = np.abs(worth).max(axis=2).sum(axis=1) + np.abs(linear).max(axis=2).sum(axis=1) + np.abs(constant)
    return np.asarray(value - MARGIN * size)


def best_multiplier(at: Array, worth: Array, slope: Array, constant: Array, own_slope: Array, own_constant: Array) -> tuple[Array, Array]:
    """The multiplier of one restriction with the largest Lagrangian, and that.

    The Lagrangian bends where an input goes on to its next place, which takes as much from the restriction as the input moves; it is largest
    where the restriction is met. Any multiplier gives a bound.
    """
    length, size = np.diff(at, axis=2), at.shape[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        bend = -(np.diff(worth, axis=2) / length + slope[:, :, None]) / own_slope[:, :, None]
    bends = (length > 0) & np.isfinite(bend) & (bend > 0)
    bend = np.where(bends, bend, 0.0).reshape(size, -1)
    taken = np.where(bends, np.abs(own_slope)[:, :, None] * length, 0.0).reshape(size, -1)
    order = np.argsort(-bend, axis=1, kind="stable")
    bend, taken = np.take_along_axis(bend, order, axis=1), np.take_along_axis(taken, order, axis=1)
    # What is left of the restriction behind each bend, from the largest multiplier down.
    least = np.minimum(own_slope * at[:, :, 0], own_slope * at[:, :, -1]).sum(axis=1) + own_constant
    left = least[:, None] + np.cumsum(taken, axis=1)
    place = np.maximum((left - taken <= 0).sum(axis=1) - 1, 0)
    chosen = np.where(left[:, -1] <= 0, 0.0, bend[np.arange(size), place])
    return chosen, lagrangian(at, worth, slope + chosen[:, None] * own_slope, constant + chosen * own_constant)
