"""Around numbers that depend on the input: an affine function of the input and of what is not known of open units.

On a box x = middle + radius * s with s in [-1, 1]^d. A unit whose pre-activation is a lies between two parallel lines, so that it is
slope * a + shift + half * e with a new e in [-1, 1], the same wherever the unit goes from there; what is small or rounded goes to a
radius of its own. Boxes are the last axis, so that all of them go through a stage in one product.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.network.affine import Affine
from dcembed.network.rounding import EPS, TINY

# Of one stage so many units in each box are remembered, those of which least is known; measured on boxes in which half of 64 units are open.
REMEMBERED = 32


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


def push(affine: Affine, sources: list[Zonotope], share: float) -> Zonotope:
    """Around an affine map of the sources; what is rounded, at most `share` of what is added up, goes to the radius."""
    k = sources[0].radius.shape[1]
    num_terms = max((sources[source].terms.shape[1] for source in affine.weights), default=1)
    terms = None
    radius = np.tile(share * np.abs(affine.bias)[:, None] + TINY, (1, k))
    for source, block in sorted(affine.weights.items(), reverse=True):
        own = sources[source]
        n, t, _ = own.terms.shape
        part = np.asarray(block @ own.terms.reshape(n, t * k)).reshape(affine.num_rows, t, k)
        radius += abs(block) @ (own.radius * (1.0 + share) + share * own.added + TINY)
        # Later sources have the terms of earlier ones and more.
        if terms is None:
            terms = part if t == num_terms else np.concatenate([part, np.zeros((affine.num_rows, num_terms - t, k))], axis=1)
        else:
            terms[:, :t] += part
    if terms is None:
        terms = np.zeros((affine.num_rows, 1, k))
    terms[:, 0] += affine.bias[:, None]
    return Zonotope(terms, radius, np.abs(terms).sum(axis=1))


def ends(zonotope: Zonotope) -> tuple[Array, Array]:
    """Bounds (k, n) of the numbers it is around."""
    middle = zonotope.terms[:, 0]
    reach = zonotope.added - np.abs(middle)
    room = reach + zonotope.radius + EPS * (zonotope.terms.shape[1] + 8) * (zonotope.added + zonotope.radius)
    low, high = np.ascontiguousarray((middle - room).T), np.ascontiguousarray((middle + room).T)
    is_known = np.isfinite(low) & np.isfinite(high)
    # What overflows bounds nothing.
    return (low, high) if is_known.all() else (np.where(is_known, low, -np.inf), np.where(is_known, high, np.inf))


def relax(zonotope: Zonotope, slope: Array, bottom: Array, top: Array, remembered: int) -> Zonotope:
    """Around units between the lines slope * a + bottom and slope * a + top, shapes (k, n), of numbers a that `zonotope` is around.

    The terms of `zonotope` are overwritten.
    """
    shift, half = 0.5 * (top + bottom), 0.5 * (top - bottom)
    half = half + 4.0 * EPS * (np.abs(top) + np.abs(bottom))
    boxes, units, slots, num_slots = _slots(half, remembered)
    flat = np.ascontiguousarray(slope.T)
    steep, rest = np.abs(flat), np.ascontiguousarray(half.T)
    terms = zonotope.terms
    terms *= flat[:, None, :]
    terms[:, 0] += shift.T
    radius, added = zonotope.radius * steep, zonotope.added * steep + np.abs(shift).T + rest
    if num_slots:
        known = terms.shape[1]
        terms = np.concatenate([terms, np.zeros((terms.shape[0], num_slots, terms.shape[2]))], axis=1)
        terms[units, known + slots, boxes] = half[boxes, units]
        rest[units, boxes] = 0.0
    return Zonotope(terms, radius + rest + 4.0 * EPS * added, added)


def _slots(half: Array, remembered: int) -> tuple[Array, Array, Array, int]:
    """Boxes and units that are remembered, the slot of each in its box, and how many slots there are."""
    is_open = half > 0
    counts = is_open.sum(axis=1)
    if remembered and counts.max(initial=0) > remembered:
        # Those that are as large as the last one that still has a place.
        last = np.partition(half, half.shape[1] - remembered, axis=1)[:, -remembered]
        is_open &= half >= last[:, None]
    slots = np.cumsum(is_open, axis=1) - 1
    is_open &= slots < remembered
    boxes, units = np.nonzero(is_open)
    own = slots[boxes, units]
    return boxes, units, own, int(own.max(initial=-1)) + 1
