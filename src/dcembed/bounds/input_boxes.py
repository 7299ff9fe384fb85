"""Boxes of the inputs of a piece, each with affine functions below what is measured there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dcembed.arrays import Array
from dcembed.bounds.pieces import Piece
from dcembed.network.planes import Planes

# Lower and upper ends of a box, shapes (n_in,).
Sides = tuple[Array, Array]

# Relative margin for the rounding of sums over inputs.
MARGIN = 1e-12
# A pile that is full gets room for so many times as many boxes.
GROWTH = 1.5


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes of inputs (L, n_in), with planes below the functions (L, k, n_in), (L, k) and below what the restrictions limit (L, r, ...)."""

    low: Array
    high: Array
    slope: Array
    constant: Array
    own_slope: Array
    own_constant: Array

    @property
    def number(self) -> int:
        """How many."""
        return int(self.low.shape[0])

    def at(self, chosen: Array | slice) -> Boxes:
        """Some of them."""
        return Boxes(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


class Pile:
    """Boxes of which some are replaced by others again and again; what is replaced is overwritten, so that no box is moved without need."""

    def __init__(self, boxes: Boxes) -> None:
        self._room, self._number = boxes, boxes.number

    @property
    def boxes(self) -> Boxes:
        """The boxes as they are now: valid until the next change."""
        return self._room.at(slice(0, self._number))

    def put(self, chosen: Array, others: Boxes, value: Array, other_value: Array) -> Array:
        """Put others in the places of some; gives the values of all boxes then, given those of all before and of the others."""
        excess = others.number - chosen.size
        before, after = self._number, self._number + excess
        self._room = _with_room(self._room, before, after)
        values = np.concatenate([value, np.zeros(max(0, excess))])
        places = np.concatenate([chosen, np.arange(before, after)])[: others.number]
        _write(self._room, places, others)
        values[places] = other_value
        if excess < 0:
            # The last boxes go where nothing was put.
            empty = chosen[others.number :]
            last = np.setdiff1d(np.arange(after, before), empty)
            gaps = empty[empty < after]
            _write(self._room, gaps, self._room.at(last))
            values[gaps] = values[last]
        self._number = after
        return values[:after]


def _with_room(room: Boxes, number: int, needed: int) -> Boxes:
    if needed <= room.number:
        return room
    size = max(needed, int(GROWTH * room.number) + 1)
    wider = Boxes(*(np.empty((size, *getattr(room, name).shape[1:])) for name in Boxes.__dataclass_fields__))
    _write(wider, slice(0, number), room.at(slice(0, number)))
    return wider


def _write(room: Boxes, places: Array | slice, boxes: Boxes) -> None:
    for name in Boxes.__dataclass_fields__:
        getattr(room, name)[places] = getattr(boxes, name)


def with_planes(piece: Piece, low: Array, high: Array, planes: Planes) -> Boxes:
    """Boxes with the planes below the functions of a piece and below what its own restrictions have of the network, in this order."""
    k, own = piece.weights.shape[0], piece.own
    return Boxes(low, high, planes.slope[:, :k], planes.constant[:, :k], planes.slope[:, k:] + own.slope, planes.constant[:, k:] - own.rhs)


def clipped(boxes: Boxes, within: Sides | None) -> Boxes:
    """The parts of boxes that are within one."""
    if within is None:
        return boxes
    return replace(boxes, low=np.maximum(boxes.low, within[0]), high=np.minimum(boxes.high, within[1]))


def least_values(boxes: Boxes) -> Array:
    """What the restrictions are at least in each box, lowered by rounding: shape (L, r)."""
    slope, constant = boxes.own_slope, boxes.own_constant
    low, high = boxes.low[:, None], boxes.high[:, None]
    least = np.minimum(slope * low, slope * high).sum(axis=2) + constant
    size = (np.abs(slope) * np.maximum(np.abs(low), np.abs(high))).sum(axis=2) + np.abs(constant)
    return np.asarray(least - MARGIN * size)
