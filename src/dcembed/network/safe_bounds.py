"""Bounds of the pre-activations over many boxes of few inputs, fast and true to rounding.

Forward, every unit is one affine function of the input and a radius around it: half the work of two functions and none of telling the
signs of weights apart, and hardly looser where few units are open. Those that it leaves open are then looked at box by box: backward bounds
of these alone. Units that are settled in a box stay so in the boxes within it, whose bounds begin with those of that box.

Boxes are the last axis here, so that all of them go through a stage in one product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dcembed.arrays import Array, Matrix
from dcembed.network.activations import RELU, Activation
from dcembed.network.activations.ranges import value_range
from dcembed.network.affine import Affine
from dcembed.network.batched_products import chunks_of_boxes
from dcembed.network.bounds import go_on, image, runs_backward
from dcembed.network.going_back import Stage, go_back, lowest, read_stage
from dcembed.network.network import Network
from dcembed.network.rounding import EPS, TINY, magnitude, rounding

Bounds = list[tuple[Array, Array]]


@dataclass(frozen=True, eq=False)
class Line:
    """slopes' s + middle +- radius with s in [-1, 1]^d around each of n numbers on k boxes: shapes (n, d, k), (n, k) and (n, k)."""

    slopes: Array
    middle: Array
    radius: Array


@dataclass(frozen=True, eq=False)
class _Box:
    """k boxes: their ends, and the largest absolute value of each input, shapes (k, num_inputs)."""

    lb: Array
    ub: Array
    reach: Array


def bound_safely(
    network: Network, lb: npt.ArrayLike, ub: npt.ArrayLike, within: Bounds | None = None, check: Callable[[], None] = go_on
) -> Bounds:
    """Lower and upper bounds of a_1..a_L over each box, moved outward by more than what rounding may do.

    Parameters
    ----------
    lb, ub
        Finite boxes, shape (k, num_inputs).
    within
        Bounds that hold already, as of larger boxes around these: a pair of arrays (k, width) for each stage.
    check
        Called before every large product; what it raises ends the computation.

    Returns
    -------
    For each stage a pair of arrays (k, width), not wider than those given.
    """
    lb, ub = np.atleast_2d(np.asarray(lb, dtype=np.float64)), np.atleast_2d(np.asarray(ub, dtype=np.float64))
    k = lb.shape[0]
    result = [(np.empty((k, width)), np.empty((k, width))) for width in network.widths]
    entries = max((network.num_inputs, *network.widths)) * (network.num_inputs + 1)
    with np.errstate(over="ignore", invalid="ignore"):
        for boxes in chunks_of_boxes(k, entries):
            known = None if within is None else [(low[boxes], high[boxes]) for low, high in within]
            part = _bound(network, _Box(lb[boxes], ub[boxes], magnitude(lb[boxes], ub[boxes])), known, check)
            for (low, high), (own_low, own_high) in zip(result, part, strict=True):
                low[boxes], high[boxes] = own_low, own_high
    return result


def _bound(network: Network, box: _Box, within: Bounds | None, check: Callable[[], None]) -> Bounds:
    share, carries = rounding(network), not runs_backward(network)
    lines, ranges = [_input_line(box, carries)], [(box.lb, box.ub)]
    stages: list[Stage] = []
    result: Bounds = []
    for index, (affine, activation) in enumerate(zip(network.stages, network.activations, strict=True)):
        check()
        line = _push(affine, lines, share)
        low, high = _ends(line)
        if activation is not RELU or not carries:
            low, high = _both(low, high, *_intervals(affine, ranges, share))
        if within is not None:
            low, high = _both(low, high, *within[index])
        if index > 0:
            low, high = _refine(network, index, low, high, stages, box, share)
        result.append((low, high))
        stages.append(read_stage(affine, activation, low, high, [box.reach, *(stage.largest for stage in stages)]))
        ranges.append(value_range(activation, low, high))
        lines.append(_relax(line, activation, stages[-1], low, high))
    return result


def _input_line(box: _Box, carries: bool) -> Line:
    """The inputs; where they are too many to be carried along they are numbers that are not known exactly."""
    k, d = box.lb.shape
    middle = 0.5 * (box.lb + box.ub)
    radius = (0.5 * (box.ub - box.lb) + 2.0 * EPS * box.reach).T
    if not carries:
        return Line(np.zeros((d, 0, k)), middle.T, radius)
    slopes = np.zeros((d, d, k))
    slopes[np.arange(d), np.arange(d)] = radius
    return Line(slopes, middle.T, np.zeros((d, k)))


def _push(affine: Affine, lines: list[Line], share: float) -> Line:
    """An affine map of lines; what is rounded goes to the radius."""
    d, k = lines[0].slopes.shape[1:]
    slopes = np.zeros((affine.num_rows, d, k))
    middle = np.tile(affine.bias[:, None], (1, k))
    radius = np.tile(share * np.abs(affine.bias)[:, None] + TINY, (1, k))
    for source, block in affine.weights.items():
        line = lines[source]
        n = line.middle.shape[0]
        slopes += (block @ line.slopes.reshape(n, d * k)).reshape(affine.num_rows, d, k)
        middle += block @ line.middle
        radius += abs(block) @ (line.radius * (1.0 + share) + share * (np.abs(line.middle) + np.abs(line.slopes).sum(axis=1)) + TINY)
    return Line(slopes, middle, radius)


def _ends(line: Line) -> tuple[Array, Array]:
    """Bounds (k, n) of the numbers around which the line is."""
    reach = np.abs(line.slopes).sum(axis=1)
    room = (reach + line.radius) * (1.0 + EPS * (line.slopes.shape[1] + 4)) + 4.0 * EPS * np.abs(line.middle)
    low, high = np.ascontiguousarray((line.middle - room).T), np.ascontiguousarray((line.middle + room).T)
    # What overflows bounds nothing.
    is_known = np.isfinite(low) & np.isfinite(high)
    return (low, high) if is_known.all() else (np.where(is_known, low, -np.inf), np.where(is_known, high, np.inf))


def _intervals(affine: Affine, ranges: Bounds, share: float) -> tuple[Array, Array]:
    low, high = image(affine, ranges)
    added = np.tile(np.abs(affine.bias) + TINY, (low.shape[0], 1))
    for source, block in affine.weights.items():
        added += magnitude(*ranges[source]) @ abs(block).T
    room = share * np.where(np.isfinite(added), added, 0.0)
    return low - room, high + room


def _both(low: Array, high: Array, other_low: Array, other_high: Array) -> tuple[Array, Array]:
    """Of two enclosures the better side of each."""
    low, high = np.maximum(low, other_low), np.minimum(high, other_high)
    return np.minimum(low, high), high


def _refine(network: Network, index: int, low: Array, high: Array, stages: list[Stage], box: _Box, share: float) -> tuple[Array, Array]:
    """Backward bounds for the units that are open, each in its box."""
    is_open = ((low < 0) & (high > 0)) if network.activations[index] is RELU else low < high
    places, units = np.nonzero(is_open)
    affine = network.stages[index]
    entries = 2 * max((network.num_inputs, *network.widths[:index]))
    for chunk in chunks_of_boxes(places.size, entries):
        at, unit = places[chunk], units[chunk]
        weights = {source: _both_signs(block[unit]) for source, block in affine.weights.items()}
        constant = affine.bias[unit][:, None] * np.array([1.0, -1.0])
        planes = go_back(network, weights, constant, [stage.at(at) for stage in stages], box.reach[at], share)
        least = lowest(planes, box.lb[at], box.ub[at])
        low[at, unit], high[at, unit] = _both(low[at, unit], high[at, unit], least[:, 0], -least[:, 1])
    return low, high


def _both_signs(rows: Matrix) -> Array:
    """The rows and their negatives, (k, 2, n)."""
    dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
    return np.stack([dense, -dense], axis=1)


def _relax(line: Line, activation: Activation, stage: Stage, low: Array, high: Array) -> Line:
    """A line around the units, given one around their pre-activations: that of the band between whose lines they are."""
    slope, bottom, top = _parallel(stage, low, high) if activation is not RELU else (stage.band.upper, 0.0, stage.band.lift)
    slope, half, shift = (np.ascontiguousarray(part.T) for part in (slope, 0.5 * (top - bottom), 0.5 * (top + bottom)))
    slopes = line.slopes * slope[:, None, :]
    steep = np.abs(slope)
    return Line(slopes, line.middle * slope + shift, (line.radius * steep + half) * (1.0 + 4.0 * EPS) + 4.0 * EPS * np.abs(shift))


def _parallel(stage: Stage, low: Array, high: Array) -> tuple[Array, Array, Array]:
    """slope * a + bottom <= phi(a) <= slope * a + top: two lines of the same slope."""
    band = stage.band
    slope = 0.5 * (band.lower + band.upper)
    drop = 0.0 if band.drop is None else band.drop
    bottom = np.minimum(*_at_ends(band.lower - slope, low, high)) + drop
    top = np.maximum(*_at_ends(band.upper - slope, low, high)) + band.lift
    room = 4.0 * EPS * (np.abs(slope) + np.abs(band.lower) + np.abs(band.upper)) * magnitude(low, high)
    return slope, bottom - room - 4.0 * EPS * np.abs(drop), top + room + 4.0 * EPS * np.abs(band.lift)


def _at_ends(slope: Array, low: Array, high: Array) -> tuple[Array, Array]:
    return np.where(slope != 0, slope * low, 0.0), np.where(slope != 0, slope * high, 0.0)
