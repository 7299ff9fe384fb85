"""Around numbers that depend on the input: an affine function of the input and of what is not known of open units.

On a box x = middle + radius * s with s in [-1, 1]^d. A unit whose pre-activation is a lies between two parallel lines, so that it is
slope * a + shift + half * e with a new e in [-1, 1], the same wherever the unit goes from there; what is small or rounded goes to a
radius of its own. Boxes are the last axis, so that all of them go through a stage in one product.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from dcembed.arrays import Array, Matrix
from dcembed.network.affine import Affine
from dcembed.network.rounding import EPS, TINY

# Of one stage so many units in each box are remembered, those of which least is known; measured on boxes in which half of 64 units are open.
REMEMBERED = 32
# So many numbers in all, 32 MB, are kept for the next call.
HELD_ENTRIES = 4_000_000


class Scratch(threading.local):
    """Memory that is used again and again, by each thread its own: to get fresh one for every product takes longer than the product."""

    def __init__(self) -> None:
        self.held: dict[str, Array] = {}

    def array(self, name: str, shape: tuple[int, ...]) -> Array:
        """An array of this shape, with anything in it; the one before of the same name is gone."""
        size = math.prod(shape)
        if name not in self.held or self.held[name].size < size:
            self.held.pop(name, None)
            if size + sum(array.size for array in self.held.values()) > HELD_ENTRIES:
                return np.empty(shape)
            self.held[name] = np.empty(size)
        return self.held[name][:size].reshape(shape)


@dataclass(frozen=True, eq=False)
class Zonotope:
    """terms[:, 0] + sum_j terms[:, j] e_j +- radius with all e in [-1, 1], around each of n numbers on k boxes.

    Parameters
    ----------
    terms
        Shape (n, 1 + number of terms, k): the middle, the slopes in s, and those in what is not known of earlier units.
    radius
        Shape (n, k).
    added
        The sum of the magnitudes of all terms, shape (n, k).
    """

    terms: Array
    radius: Array
    added: Array


@dataclass(frozen=True, eq=False)
class Places:
    """Which terms are in use: in each of k boxes the first `taken`, shape (k,). A place is given once, whatever branch of the network asks."""

    taken: Array
    a_stage: int


def around_input(lb: Array, ub: Array, carries: bool) -> Zonotope:
    """The inputs in boxes (k, d); where they are too many to be carried along they are numbers that are not known exactly."""
    k, d = lb.shape
    middle, reach = 0.5 * (lb + ub), np.maximum(np.abs(lb), np.abs(ub))
    radius = (0.5 * (ub - lb) + 2.0 * EPS * reach).T
    if not carries:
        return Zonotope(middle.T[:, None, :], radius, np.abs(middle).T)
    terms = np.zeros((d, 1 + d, k))
    terms[:, 0] = middle.T
    terms[np.arange(d), 1 + np.arange(d)] = radius
    return Zonotope(terms, np.zeros((d, k)), np.abs(middle).T + radius)


def push(affine: Affine, sizes: Mapping[int, Matrix], sources: list[Zonotope], share: float, scratch: Scratch) -> Zonotope:
    """Around an affine map of the sources; what is rounded, at most `share` of what is added up, goes to the radius.

    `sizes` are the magnitudes of its weights. The terms are in `scratch`, until the next stage is pushed.
    """
    k = sources[0].radius.shape[1]
    num_terms = max((sources[source].terms.shape[1] for source in affine.weights), default=1)
    terms = scratch.array("terms", (affine.num_rows, num_terms, k))
    radius = np.tile(share * np.abs(affine.bias)[:, None] + TINY, (1, k))
    filled = 0
    # Later sources have the terms of earlier ones and more.
    for source, block in sorted(affine.weights.items(), reverse=True):
        own = sources[source]
        part = _product(block, own.terms, terms if not filled and own.terms.shape[1] == num_terms else None)
        radius += sizes[source] @ (own.radius * (1.0 + share) + share * own.added + TINY)
        if part is not terms:
            _add(terms, part, filled)
        filled = max(filled, part.shape[1])
    terms[:, filled:] = 0.0
    terms[:, 0] += affine.bias[:, None]
    magnitudes = np.abs(terms, out=scratch.array("magnitudes", terms.shape))
    return Zonotope(terms, radius, np.einsum("ntk->nk", magnitudes))


def _product(block: Matrix, terms: Array, out: Array | None) -> Array:
    n, t, k = terms.shape
    flat = terms.reshape(n, t * k)
    if out is None or not isinstance(block, np.ndarray):
        return np.asarray(block @ flat).reshape(block.shape[0], t, k)
    np.matmul(block, flat, out=out.reshape(block.shape[0], t * k))
    return out


def _add(terms: Array, part: Array, filled: int) -> None:
    """Add a part to what is there of the terms, and write it where there is nothing yet."""
    t = part.shape[1]
    terms[:, : min(t, filled)] += part[:, :filled]
    terms[:, filled:t] = part[:, filled:]


def ends(zonotope: Zonotope) -> tuple[Array, Array]:
    """Bounds (k, n) of the numbers it is around."""
    middle = zonotope.terms[:, 0]
    reach = zonotope.added - np.abs(middle)
    room = reach + zonotope.radius + EPS * (zonotope.terms.shape[1] + 8) * (zonotope.added + zonotope.radius)
    low, high = np.ascontiguousarray((middle - room).T), np.ascontiguousarray((middle + room).T)
    is_known = np.isfinite(low) & np.isfinite(high)
    # What overflows bounds nothing.
    return (low, high) if is_known.all() else (np.where(is_known, low, -np.inf), np.where(is_known, high, np.inf))


def relax(
    zonotope: Zonotope, slope: Array, bottom: Array, top: Array, places: Places, scratch: Scratch, name: str
) -> tuple[Zonotope, Places]:
    """Around units between the lines slope * a + bottom and slope * a + top, shapes (k, n), of numbers a that `zonotope` is around.

    Also the places that are left. The terms are in `scratch` under this name.
    """
    shift, half = 0.5 * (top + bottom), 0.5 * (top - bottom)
    half = half + 4.0 * EPS * (np.abs(top) + np.abs(bottom))
    boxes, units, slots, places = _take(half, places)
    across, rest = np.ascontiguousarray(slope.T), np.ascontiguousarray(half.T)
    steep = np.abs(across)
    n, known, k = zonotope.terms.shape
    terms = scratch.array(name, (n, max(known, int(places.taken.max(initial=0))), k))
    np.multiply(zonotope.terms, across[:, None, :], out=terms[:, :known])
    terms[:, 0] += shift.T
    radius, added = zonotope.radius * steep, zonotope.added * steep + np.abs(shift).T + rest
    terms[:, known:] = 0.0
    terms[units, slots, boxes] = half[boxes, units]
    rest[units, boxes] = 0.0
    return Zonotope(terms, radius + rest + 4.0 * EPS * added, added), places


def _take(half: Array, places: Places) -> tuple[Array, Array, Array, Places]:
    """Boxes and units that are remembered, and the place of each; those of which least is known where they are too many."""
    is_open, most = half > 0, places.a_stage
    if most and is_open.sum(axis=1).max(initial=0) > most:
        # As large as the last one that still has a place.
        is_open &= half >= np.partition(half, half.shape[1] - most, axis=1)[:, -most][:, None]
    rank = np.cumsum(is_open, axis=1)
    is_open &= rank <= most
    boxes, units = np.nonzero(is_open)
    slots = places.taken[boxes] + rank[boxes, units] - 1
    return boxes, units, slots, replace(places, taken=places.taken + is_open.sum(axis=1))
