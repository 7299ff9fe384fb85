"""Covers of the inputs of a piece by boxes, each with affine functions below what is measured there, and least values over them.

The least of a price over the set of a piece is bounded on every box by the best multiplier of its own restriction, in closed form; boxes
with the least bounds are halved until that is good enough. A cover outlives its price: the next one starts from the same boxes.
"""

from __future__ import annotations

import numpy as np

from dcembed.arrays import Array
from dcembed.bounds.box_parts import Builder
from dcembed.bounds.input_boxes import Boxes, Pile, Sides, clipped, least_values
from dcembed.bounds.lagrangian import Price, aim, candidates, least_of_price, priced
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
# Whether planes are worth lifting is tried on so many boxes; lifting takes this share of the time of a box for each plane.
NUM_TRIED, LIFTING_COST = 64, 0.4
# A number of steps that is so near to a whole one is it.
WHOLE = 1e-9


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
        self._num_batches, self._lifts = 0, False

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
            halves = self._halves(self.boxes.at(chosen), price, enough)
            value = self._pile.put(chosen, halves, value, self._bounds(halves, price, enough, within))

    def _widths(self, boxes: Boxes) -> Array:
        """How far each side of the boxes moves the network; zero for sides that cannot be halved."""
        width, step = boxes.high - boxes.low, self.piece.step
        least = np.where(step > 0, (1.0 - WHOLE) * step, 1e-12 * (1.0 + np.abs(boxes.low)))
        return np.where(width > least, width * self.sensitivity, 0.0)

    def _halves(self, boxes: Boxes, price: Price, enough: float) -> Boxes:
        """The halves of boxes that may hold something; their planes are lifted where the price was least in the whole, if that pays."""
        self._num_batches += 1
        if _is_power_of_two(self._num_batches):
            self._lifts = self._lifting_pays(boxes.at(slice(0, NUM_TRIED)), price, enough)
        low, high = self._sides_of_halves(boxes)
        self.num_boxes += low.shape[0]
        aimed = aim(boxes, price, self.is_restricted).for_halves() if self._lifts else None
        return self._kept(self.builder.build(self.piece, low, high, aimed))

    def _lifting_pays(self, boxes: Boxes, price: Price, enough: float) -> bool:
        """Whether lifted planes raise bounds by more than the halvings that take as long."""
        aimed = aim(boxes, price, self.is_restricted)
        whole, lifted, halves = (
            least_of_price(self.builder.build(self.piece, *sides), price, enough, self.is_restricted)
            for sides in ((boxes.low, boxes.high, None), (boxes.low, boxes.high, aimed), self._sides_of_halves(boxes))
        )
        with np.errstate(invalid="ignore"):
            # No more is gained than what is enough; of planes that nothing is known of nothing is gained.
            by_lifting, by_halving = (
                float(np.nan_to_num(np.minimum(value, enough) - np.minimum(whole, enough)).sum())
                for value in (lifted, halves.reshape(2, -1).min(axis=0))
            )
        return bool(by_lifting > np.log2(1.0 + LIFTING_COST * np.count_nonzero(aimed.counts)) * by_halving)

    def _sides_of_halves(self, boxes: Boxes) -> Sides:
        """The first halves of boxes, then the second."""
        along, row = self._widths(boxes).argmax(axis=1), np.arange(boxes.number)
        middle = 0.5 * (boxes.low[row, along] + boxes.high[row, along])
        first, second = boxes.high.copy(), boxes.low.copy()
        first[row, along], second[row, along] = self._ends(middle, along)
        return np.concatenate([boxes.low, second]), np.concatenate([first, boxes.high])

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
            value[part] = least_of_price(boxes.at(part), price, enough, self.is_restricted)
        return value

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
        at, worth = candidates(boxes, price)
        slope, _ = priced(boxes, price)
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


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0


def inside(points: Array, within: Sides | None) -> Array:
    """Those of some points that are within a box."""
    return points if within is None else points[((points >= within[0]) & (points <= within[1])).all(axis=1)]


def _towards(start: Array, end: Array) -> Array:
    """Points on the ways from starts to ends, shapes (k, n_in)."""
    return np.asarray((start + SHARES[:, None, None] * (end - start)).reshape(-1, start.shape[1]))
