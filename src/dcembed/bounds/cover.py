"""Covers of the inputs of a piece by boxes, each with affine functions below what is measured there, and least values over them.

The least of a price over the set of a piece is bounded on every box by the best multiplier of its own restriction, in closed form; boxes
with the least bounds are halved until that is good enough. A cover outlives its price: the next one starts from the same boxes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.bounds.box_parts import Builder
from dcembed.bounds.input_boxes import MARGIN, Boxes, Pile, Sides, clipped, least_values
from dcembed.bounds.pieces import Piece
from dcembed.network.network import evaluate

# Boxes that are halved at a time: so many, or this share of those that are too low.
BATCH, BATCH_SHARE, MAX_BATCH = 256, 0.1, 2048
# Boxes that are bounded at a time: what that takes of memory stays near the processor.
PART = 8192
# Low boxes in which points are looked for, shares of the way from the best point there, points that are kept of them, and of all.
NUM_LOOKED, SHARES, NUM_KEPT, MAX_POINTS = 32, np.array([0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 1.0]), 8, 2000
# Points may violate a restriction by this share of what the piece can stay below it: they end the work, and prove nothing.
NEAR = 1e-5
# Points at which it is measured how far inputs move a network.
NUM_DRAWN = 64
# Passes over several restrictions.
NUM_PASSES = 3
# A number of steps that is so near to a whole one is it.
WHOLE = 1e-9


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


class Cover:
    """Boxes that cover the set of a piece, and points in it."""

    def __init__(self, piece: Piece, is_restricted: bool, builder: Builder) -> None:
        self.piece, self.is_restricted, self.builder = piece, is_restricted and piece.own.rhs.size > 0, builder
        low, high = piece.box
        whole = builder.build(piece, low[None], high[None])
        self._near = NEAR * np.maximum(-least_values(whole)[0], 0.0)
        self._pile = Pile(self._kept(whole))
        self.points = np.zeros((0, low.size))
        self.sensitivity = _sensitivity(piece)
        self.num_boxes = 1

    @property
    def boxes(self) -> Boxes:
        """All boxes, as they are now."""
        return self._pile.boxes

    def hear(self, points: Array) -> None:
        """Keep the points (k, n_in) that are in the set, or as good as that."""
        self.points = np.concatenate([self.points, self._in_set(points)])[-MAX_POINTS:]

    def _in_set(self, points: Array) -> Array:
        """Those of some points, moved to values that inputs can have."""
        low, high = self.piece.box
        step = np.where(self.piece.step > 0, self.piece.step, 1.0)
        points = np.where(self.piece.step > 0, low + step * np.round((points - low) / step), points)
        points = np.clip(points, low, high)
        return points[self._holds(points)] if self.is_restricted else points

    def least(self, price: Price, target: float, tolerance: float, max_boxes: int, within: Sides | None = None) -> float:
        """A lower bound of a price over the set; as soon as it reaches the target, or the price of a point to a tolerance, or after so many boxes.

        Of the set in a box of the inputs only where one is given. inf if the set is empty.
        """
        value = self._bounds(self.boxes, price, min(target, self.best(price, within) - tolerance), within)
        until = self.num_boxes + max_boxes
        while True:
            upper = self.best(price, within)
            enough = min(target, upper - tolerance)
            lowest = float(value.min(initial=np.inf))
            if lowest >= enough or self.num_boxes >= until:
                return lowest
            self.builder.check()
            num_low = int((value < enough).sum())
            number = min(num_low, max(BATCH, min(MAX_BATCH, int(BATCH_SHARE * num_low))))
            chosen = np.argpartition(value, number - 1)[:number]
            chosen = chosen[np.argsort(value[chosen], kind="stable")]
            self._look(clipped(self.boxes.at(chosen[:NUM_LOOKED]), within), price, within)
            splits = self._widths(self.boxes.at(chosen)).max(axis=1) > 0
            if not splits[0]:
                return lowest
            chosen = chosen[splits]
            halves = self._halves(self.boxes.at(chosen))
            value = self._pile.put(chosen, halves, value, self._bounds(halves, price, enough, within))

    def _widths(self, boxes: Boxes) -> Array:
        """How far each side of the boxes moves the network; zero for sides that cannot be halved."""
        width, step = boxes.high - boxes.low, self.piece.step
        least = np.where(step > 0, (1.0 - WHOLE) * step, 1e-12 * (1.0 + np.abs(boxes.low)))
        return np.where(width > least, width * self.sensitivity, 0.0)

    def _halves(self, boxes: Boxes) -> Boxes:
        along, row = self._widths(boxes).argmax(axis=1), np.arange(boxes.number)
        middle = 0.5 * (boxes.low[row, along] + boxes.high[row, along])
        first, second = boxes.high.copy(), boxes.low.copy()
        first[row, along], second[row, along] = self._ends(middle, along)
        low, high = np.concatenate([boxes.low, second]), np.concatenate([first, boxes.high])
        self.num_boxes += low.shape[0]
        return self._kept(self.builder.build(self.piece, low, high))

    def _ends(self, middle: Array, along: Array) -> tuple[Array, Array]:
        """Where the first halves end and the second begin: at values that an input can have, where an integer feeds it."""
        step, start = self.piece.step[along], self.piece.box[0][along]
        whole = step > 0
        safe = np.where(whole, step, 1.0)
        below = start + safe * np.floor((middle - start) / safe + WHOLE)
        return np.where(whole, below, middle), np.where(whole, below + step, middle)

    def _kept(self, boxes: Boxes) -> Boxes:
        """The boxes in which the restrictions may hold."""
        return boxes.at(self._may_hold(boxes))

    def _may_hold(self, boxes: Boxes) -> Array:
        """The numbers of these boxes."""
        if not self.is_restricted:
            return np.arange(boxes.number)
        return np.flatnonzero((least_values(boxes) <= 0.0).all(axis=1))

    def _bounds(self, boxes: Boxes, price: Price, enough: float, within: Sides | None) -> Array:
        """Lower bounds of a price over each of the boxes, as far as they are within a box; inf for those that are not."""
        if within is None:
            return self._bounds_of_all(boxes, price, enough)
        there = np.flatnonzero(((boxes.low <= within[1]) & (boxes.high >= within[0])).all(axis=1))
        parts = clipped(boxes.at(there), within)
        may_hold = self._may_hold(parts)
        value = np.full(boxes.number, np.inf)
        value[there[may_hold]] = self._bounds_of_all(parts.at(may_hold), price, enough)
        return value

    def _bounds_of_all(self, boxes: Boxes, price: Price, enough: float) -> Array:
        """Part by part: covers grow to millions of boxes, and in between the clock is looked at."""
        value = np.empty(boxes.number)
        for first in range(0, boxes.number, PART):
            self.builder.check()
            part = slice(first, first + PART)
            value[part] = self._bounds_of_part(boxes.at(part), price, enough)
        return value

    def _bounds_of_part(self, boxes: Boxes, price: Price, enough: float) -> Array:
        """Restrictions are left out where the bound is good enough without."""
        at, worth = _candidates(boxes, price)
        slope, constant = _priced(boxes, price)
        best = _lagrangian(at, worth, slope, constant)
        low = np.flatnonzero(best < enough) if self.is_restricted else np.zeros(0, dtype=np.int64)
        if low.size:
            best[low] = np.maximum(best[low], _restricted(boxes.at(low), at[low], worth[low], slope[low], constant[low]))
        return best

    def best(self, price: Price, within: Sides | None = None) -> float:
        """The least price of a point that is known, in a box if one is given."""
        return float(self._prices(inside(self.points, within), price).min(initial=np.inf))

    def _prices(self, points: Array, price: Price) -> Array:
        if points.shape[0] == 0:
            return np.zeros(0)
        total = np.zeros(points.shape[0])
        for place in range(points.shape[1]):
            total += np.interp(points[:, place], price.kinks[place], price.values[place])
        if price.functions.size:
            total += evaluate(self.piece.network, points) @ (self.piece.weights.T @ price.functions)
        return total

    def _holds(self, points: Array) -> Array:
        own = self.piece.own
        if points.shape[0] == 0:
            return np.zeros(0, dtype=bool)
        value = points @ own.slope.T + evaluate(self.piece.network, points) @ own.weights.T
        holds: Array = (value <= own.rhs + self._near).all(axis=1)
        return holds

    def _look(self, boxes: Boxes, price: Price, within: Sides | None) -> None:
        """Look for cheaper points: in the middle and in the cheapest corner of low boxes, and on the way there from the best that is known."""
        at, worth = _candidates(boxes, price)
        slope, _ = _priced(boxes, price)
        corner = np.take_along_axis(at, (worth + slope[:, :, None] * at).argmin(axis=2)[:, :, None], axis=2)[:, :, 0]
        tried = np.concatenate([0.5 * (boxes.low + boxes.high), corner])
        known = inside(self.points, within)
        if known.shape[0]:
            best = known[int(self._prices(known, price).argmin())]
            tried = _towards(np.broadcast_to(best, tried.shape), tried)
        if self.is_restricted:
            # Somewhere between the corner that the restrictions like best and the cheapest one is the cheapest that they allow.
            liked = np.where(boxes.own_slope.sum(axis=1) > 0, boxes.low, boxes.high)
            tried = np.concatenate([tried, liked, _towards(liked, corner)])
        found = inside(self._in_set(tried), within)
        order = np.argsort(self._prices(found, price), kind="stable")[:NUM_KEPT]
        self.points = np.concatenate([self.points, found[order]])[-MAX_POINTS:]


def _sensitivity(piece: Piece) -> Array:
    """How far a step of each input moves the first stage; or what is measured, where a later stage looks at inputs, too. Shape (n_in,)."""
    stages = piece.network.stages
    first = stages[0].weights.get(0) if stages else None
    if first is None or any(0 in stage.weights for stage in stages[1:]):
        return _measured_sensitivity(piece)
    block = first if isinstance(first, np.ndarray) else first.toarray()
    return np.asarray(np.sqrt((block**2).sum(axis=0)) + 1e-12)


def _measured_sensitivity(piece: Piece) -> Array:
    """The mean of how far each input moves what is measured when it goes from one end to the other, by the way; at points at random."""
    low, high = piece.box
    points = low + np.random.default_rng(0).random((NUM_DRAWN, low.size)) * (high - low)
    weights = np.concatenate([piece.weights, piece.own.weights])
    size = np.abs(evaluate(piece.network, points) @ weights.T).mean(axis=0) + 1e-300
    moved = np.zeros(low.size)
    for number in range(low.size):
        start, end = points.copy(), points.copy()
        start[:, number], end[:, number] = low[number], high[number]
        change = np.abs((evaluate(piece.network, end) - evaluate(piece.network, start)) @ weights.T) / size
        moved[number] = change.sum(axis=1).mean() / max(high[number] - low[number], 1e-300)
    return moved + 1e-12


def inside(points: Array, within: Sides | None) -> Array:
    """Those of some points that are within a box."""
    return points if within is None else points[((points >= within[0]) & (points <= within[1])).all(axis=1)]


def _towards(start: Array, end: Array) -> Array:
    """Points on the ways from starts to ends, shapes (k, n_in)."""
    return np.asarray((start + SHARES[:, None, None] * (end - start)).reshape(-1, start.shape[1]))


def _priced(boxes: Boxes, price: Price) -> tuple[Array, Array]:
    """Slope (L, n_in) and constant (L,) of the planes below the priced functions."""
    if not price.functions.any():
        return np.zeros_like(boxes.low), np.zeros(boxes.number)
    return np.einsum("k,lki->li", price.functions, boxes.slope), boxes.constant @ price.functions


def _restricted(boxes: Boxes, at: Array, worth: Array, slope: Array, constant: Array) -> Array:
    """The largest Lagrangian over multipliers of the restrictions, one after the other."""
    size = boxes.own_constant.shape[1]
    multiplier, best = np.zeros((boxes.number, size)), np.full(boxes.number, -np.inf)
    for number in [*range(size)] * (1 if size == 1 else NUM_PASSES):
        others = np.delete(np.arange(size), number)
        there = slope + np.einsum("lr,lri->li", multiplier[:, others], boxes.own_slope[:, others])
        rest = constant + np.einsum("lr,lr->l", multiplier[:, others], boxes.own_constant[:, others])
        own = boxes.own_slope[:, number], boxes.own_constant[:, number]
        multiplier[:, number], value = _best_multiplier(at, worth, there, rest, *own)
        best = np.maximum(best, value)
    return best


def _candidates(boxes: Boxes, price: Price) -> tuple[Array, Array]:
    """Places in which the price of an input can be least in a box, whatever is added to its slope, and its values there: (L, n_in, K)."""
    low, high = boxes.low[:, :, None], boxes.high[:, :, None]
    at = np.concatenate([low, np.clip(price.kinks[None, :, 1:-1], low, high), high], axis=2)
    return at, np.stack([np.interp(at[:, i], price.kinks[i], price.values[i]) for i in range(at.shape[1])], axis=1)


def _lagrangian(at: Array, worth: Array, slope: Array, constant: Array) -> Array:
    """sum_i min over the candidates of worth + slope * at, plus the constant: shape (L,), lowered by rounding."""
    linear = slope[:, :, None] * at
    value: Array = (worth + linear).min(axis=2).sum(axis=1) + constant
    size = np.abs(worth).max(axis=2).sum(axis=1) + np.abs(linear).max(axis=2).sum(axis=1) + np.abs(constant)
    return np.asarray(value - MARGIN * size)


def _best_multiplier(at: Array, worth: Array, slope: Array, constant: Array, own_slope: Array, own_constant: Array) -> tuple[Array, Array]:
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
    return chosen, _lagrangian(at, worth, slope + chosen[:, None] * own_slope, constant + chosen * own_constant)
