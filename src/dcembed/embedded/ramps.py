"""Sums of many ramps, phi(t) = sum_s scale_s max(t + c_s, 0), whose values and slopes do not cost a pass over s.

Such a function is convex, nondecreasing and piecewise linear. Its ramps are put into cells by where their kinks are, once; what lies
above a threshold is then a cumulative sum over cells and a look into one of them. The order of the ramps takes four bytes each: the
constants c_s themselves are computed again for the few ramps that are looked at, so that a million of them for each of 64 units fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array

# Ramps in a cell on average, and cells at most: their numbers are sorted as 16-bit ones, which takes a tenth of the time.
CELL_RAMPS, MAX_CELLS = 64, 60_000
# The cells are equally wide between these shares of a sample; what lies beyond is in two more, so that outliers do no harm.
SAMPLE, TAIL = 4096, 1e-3


@dataclass(frozen=True, eq=False)
class Ramps:
    """The ramps of g groups of evaluations at each of `width` units; c = weights @ offset + bias.

    Parameters
    ----------
    weights, constant
        Of the units on the columns of the offsets that differ, shape (width, v), and all the rest of c, shape (width,).
    offset, scale
        Those columns of the offsets, shape (t, v), and the scale of each term, shape (t,), group after group.
    order
        The terms of each group and unit, cell after cell; those of one group and unit are contiguous.
    begin
        Where each cell begins in `order`, with one more entry for the end of the last.
    mass, moment
        Sums of scale and of scale * c over a cell and all above it in its group and unit, zero at the end; as long as `begin`.
    first, num_cells
        Where the cells of each group and unit begin, shape (g, width), and how many each group has, shape (g, 1).
    low, rate
        Lower end of the second cell, and cells by unit of c: shapes (g, width).
    least, most
        The smallest and the largest c, shapes (g, width).
    """

    weights: Array
    constant: Array
    offset: Array
    scale: Array
    order: Array
    begin: Array
    mass: Array
    moment: Array
    first: Array
    num_cells: Array
    low: Array
    rate: Array
    least: Array
    most: Array


def build_ramps(weights: Array, bias: Array, offset: Array, scale: Array, edges: Array) -> Ramps:
    """Sort the ramps of terms with these offsets (t, n_in) and scales into cells; group i has those from edges[i] to edges[i + 1]."""
    width, num_groups = bias.size, edges.size - 1
    differs = (offset != offset[0]).any(axis=0)
    weights, constant = np.ascontiguousarray(weights[:, differs]), bias + weights[:, ~differs] @ offset[0, ~differs]
    offset = offset if differs.all() else np.ascontiguousarray(offset[:, differs])
    sizes = np.diff(edges)
    num_cells = np.clip(sizes // CELL_RAMPS, 1, MAX_CELLS) + 2
    # Each group and unit has one more entry than cells, for the end of the last.
    first = np.cumsum(np.concatenate([[0], np.repeat(num_cells + 1, width)]))
    size = int(first[-1])
    first = first[:-1].reshape(num_groups, width)
    order, begin = np.empty(width * edges[-1], dtype=np.int32), np.empty(size, dtype=np.int64)
    mass, moment = np.empty(size), np.empty(size)
    low, rate, least, most = (np.empty((num_groups, width)) for _ in range(4))
    place = 0
    for group, (start, stop, cells) in enumerate(zip(edges[:-1], edges[1:], num_cells, strict=True)):
        terms = slice(start, stop)
        for unit in range(width):
            c = offset[terms] @ weights[unit] + constant[unit]
            ends = low[group, unit], rate[group, unit] = _scale_cells(c, int(cells))
            least[group, unit], most[group, unit] = c.min(), c.max()
            cell = _cells(c, *ends, cells).astype(np.uint16)
            order[place : place + c.size] = np.argsort(cell, kind="stable") + start
            own_cells = slice(first[group, unit], first[group, unit] + cells + 1)
            begin[own_cells] = place + np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=cells))])
            mass[own_cells] = _from_above(np.bincount(cell, scale[terms], cells))
            moment[own_cells] = _from_above(np.bincount(cell, scale[terms] * c, cells))
            place += c.size
    return Ramps(weights, constant, offset, scale, order, begin, mass, moment, first, num_cells[:, None], low, rate, least, most)


def ramp_values(ramps: Ramps, t: Array) -> Array:
    """phi at t, shape (..., g, width)."""
    mass, moment = _above(ramps, -t)
    # Where no ramp is on, the value is zero, however far below t is.
    return np.where(mass > 0, np.where(mass > 0, t, 0.0) * mass + moment, 0.0)


def ramp_slopes(ramps: Ramps, t: Array, least: float = 0.0, is_strict: bool = True) -> Array:
    """Slopes of phi at t, shape (..., g, width): ramps count whose t + c is at least (strict: above) `least`."""
    threshold = least - t
    mass, _ = _above(ramps, np.nextafter(threshold, np.inf) if is_strict else threshold)
    return mass


def _above(ramps: Ramps, threshold: Array) -> tuple[Array, Array]:
    """Sums of scale and of scale * c over the ramps with c >= threshold, shapes (..., g, width)."""
    is_inside = (threshold > ramps.least) & (threshold <= ramps.most)
    outside = np.where(threshold <= ramps.least, -1, ramps.num_cells - 1)
    within = np.where(is_inside, threshold, ramps.least)
    cell = np.where(is_inside, _cells(within, ramps.low, ramps.rate, ramps.num_cells), outside)
    place = ramps.first + cell
    mass, moment = ramps.mass[place + 1], ramps.moment[place + 1]
    query = np.flatnonzero(is_inside)
    if query.size:
        partly = _above_in_cell(ramps, place.reshape(-1)[query], query % ramps.weights.shape[0], threshold.reshape(-1)[query])
        mass.reshape(-1)[query] += partly[0]
        moment.reshape(-1)[query] += partly[1]
    return mass, moment


def _above_in_cell(ramps: Ramps, cell: Array, unit: Array, threshold: Array) -> tuple[Array, Array]:
    """The same over the ramps of one cell for each of q thresholds, shapes (q,)."""
    start, size = ramps.begin[cell], ramps.begin[cell + 1] - ramps.begin[cell]
    query = np.repeat(np.arange(cell.size), size)
    term = ramps.order[np.arange(query.size) + np.repeat(start - (np.cumsum(size) - size), size)]
    c = np.einsum("tv,tv->t", ramps.offset[term], ramps.weights[unit[query]]) + ramps.constant[unit[query]]
    weight = np.where(c >= threshold[query], ramps.scale[term], 0.0)
    return np.bincount(query, weight, cell.size), np.bincount(query, weight * c, cell.size)


def _scale_cells(c: Array, num_cells: int) -> tuple[float, float]:
    """Where the second cell begins, and how many cells there are by unit of c."""
    sample = np.sort(c if c.size <= SAMPLE else np.random.default_rng(0).choice(c, SAMPLE))
    tail = int(TAIL * sample.size)
    low, high = float(sample[tail]), float(sample[-1 - tail])
    with np.errstate(over="ignore"):
        rate = np.float64(num_cells - 2) / (high - low) if high > low else 0.0
    return low, float(rate) if np.isfinite(rate) else 0.0


def _cells(c: Array, low: Array | float, rate: Array | float, num_cells: Array | int) -> Array:
    """The cell of each c: 0 below `low`, then equally wide ones, and the last for what is beyond. A larger c is never in a lower cell."""
    cells: Array = np.floor(np.clip((c - low) * rate + 1.0, 0.0, num_cells - 1)).astype(np.int64)
    return cells


def _from_above(sums: Array) -> Array:
    """Sums from each entry on, and zero at the end."""
    return np.concatenate([np.cumsum(sums[::-1])[::-1], [0.0]])
