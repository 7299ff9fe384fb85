"""Bounds of the pre-activations over many boxes, fast and true to rounding.

Forward, every unit is an affine function of the input and of what is not known of the units before it that are open. That is nearly as
tight as backward bounds where few units are open, and far quicker; where many are, or where the inputs are too many to be carried along,
units that it leaves open can be looked at one by one: backward bounds of these alone, each in its box. Units that are settled in a box stay
so in the boxes within it, whose bounds begin with those of that box.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dcembed.arrays import Array, Matrix
from dcembed.network.activations import RELU, Activation
from dcembed.network.activations.lines import Band
from dcembed.network.affine import Affine
from dcembed.network.batched_products import chunks_of_boxes
from dcembed.network.bounds import go_on, image, runs_backward
from dcembed.network.going_back import Stage, added_up, enclose_safely, lowest, magnitudes, read_stage
from dcembed.network.network import Network
from dcembed.network.rounding import EPS, TINY, magnitude, rounding
from dcembed.network.slopes import climb_each
from dcembed.network.zonotopes import REMEMBERED, Places, Scratch, around_input, ends, push, relax

Bounds = list[tuple[Array, Array]]

# Numbers of a stage that are worked on together, and boxes at the least.
CHUNK_ENTRIES = 200_000
LEAST_BOXES = 16
# What all calls of a thread work in.
SCRATCH = Scratch()


@dataclass(frozen=True, eq=False)
class _Box:
    """k boxes: their ends, and the largest absolute value of each input, shapes (k, num_inputs)."""

    lb: Array
    ub: Array
    reach: Array


@dataclass(frozen=True, eq=False)
class _Way:
    """How a network is gone through.

    Parameters
    ----------
    carries
        Whether the inputs are carried along.
    is_plain
        Whether that is all: no intervals, which help units that are not monotone, and no way back.
    refines
        Whether open units are bounded backward.
    steps
        How often their lines are chosen anew.
    share
        More than what is rounded of what is added up.
    sizes
        The weights of every stage, without signs.
    """

    network: Network
    carries: bool
    is_plain: bool
    refines: bool
    steps: int
    share: float
    sizes: list[dict[int, Matrix]]


def bound_safely(
    network: Network,
    lb: npt.ArrayLike,
    ub: npt.ArrayLike,
    within: Bounds | None = None,
    tight: bool = False,
    steps: int = 0,
    check: Callable[[], None] = go_on,
) -> Bounds:
    """Lower and upper bounds of a_1..a_L over each box, moved outward by more than what rounding may do.

    Parameters
    ----------
    lb, ub
        Finite boxes, shape (k, num_inputs).
    within
        Bounds that hold already, as of larger boxes around these: a pair of arrays (k, width) for each stage.
    tight
        Whether units that stay open are bounded backward as well.
    steps
        How often lines are chosen anew for each of these backward bounds.
    check
        Called before every large product; what it raises ends the computation.

    Returns
    -------
    For each stage a pair of arrays (k, width), not wider than those given.
    """
    lb, ub = np.atleast_2d(np.asarray(lb, dtype=np.float64)), np.atleast_2d(np.asarray(ub, dtype=np.float64))
    k = lb.shape[0]
    result = [(np.empty((k, width)), np.empty((k, width))) for width in network.widths]
    way = _choose(network, tight, steps)
    with np.errstate(over="ignore", invalid="ignore"):
        for boxes in _chunks(network, lb, ub):
            known = None if within is None else [(low[boxes], high[boxes]) for low, high in within]
            part = _bound(way, _Box(lb[boxes], ub[boxes], magnitude(lb[boxes], ub[boxes])), known, check)
            for (low, high), (own_low, own_high) in zip(result, part, strict=True):
                low[boxes], high[boxes] = own_low, own_high
    return result


def _chunks(network: Network, lb: Array, ub: Array) -> Iterator[Array]:
    """Boxes that are worked on together: those with about as many open units, so that few places stay empty."""
    k, d = lb.shape
    if not network.stages:
        return
    counts = _open_at_first(network.stages[0], lb, ub)
    order = np.argsort(-counts, kind="stable")
    start = 0
    while start < k:
        num_terms = 1 + d + (len(network.stages) - 1) * min(int(counts[order[start]]), REMEMBERED)
        size = max(LEAST_BOXES, CHUNK_ENTRIES // (max(network.widths) * num_terms))
        yield order[start : start + size]
        start += size


def _open_at_first(affine: Affine, lb: Array, ub: Array) -> Array:
    """How many units of the first stage are open, about."""
    block = affine.weights.get(0)
    if block is None:
        return np.zeros(lb.shape[0], dtype=np.int64)
    middle, radius = 0.5 * (lb + ub) @ block.T + affine.bias, 0.5 * (ub - lb) @ abs(block).T
    counts: Array = (np.abs(middle) < radius).sum(axis=1)
    return counts


def _choose(network: Network, tight: bool, steps: int) -> _Way:
    carries = not runs_backward(network)
    refines = tight or not carries
    sizes = [magnitudes(affine) for affine in network.stages]
    return _Way(network, carries, network.is_piecewise_linear and not refines, refines, steps, rounding(network), sizes)


def _bound(way: _Way, box: _Box, within: Bounds | None, check: Callable[[], None]) -> Bounds:
    sources = [around_input(box.lb, box.ub, way.carries)]
    places = Places(np.full(box.lb.shape[0], sources[0].terms.shape[1]), REMEMBERED if way.carries else 0)
    stages: list[Stage] = []
    result: Bounds = []
    for index, (affine, activation) in enumerate(zip(way.network.stages, way.network.activations, strict=True)):
        check()
        around = push(affine, way.sizes[index], sources, way.share, SCRATCH)
        low, high = ends(around) if within is None else _both(*ends(around), *within[index])
        if not way.is_plain:
            low, high = _improve(way, index, low, high, stages, box)
        result.append((low, high))
        if index + 1 == len(way.network.stages):
            break
        band = enclose_safely(activation, low, high)
        if not way.is_plain:
            stages.append(read_stage(affine, way.sizes[index], activation, low, high, _ranges(stages, box)))
        units, places = relax(around, *_parallel(activation, band, low, high), places, SCRATCH, f"units of stage {index}")
        sources.append(units)
    return result


def _ranges(stages: list[Stage], box: _Box) -> Bounds:
    """Of all sources."""
    return [(box.lb, box.ub), *((stage.least, stage.most) for stage in stages)]


def _improve(way: _Way, index: int, low: Array, high: Array, stages: list[Stage], box: _Box) -> tuple[Array, Array]:
    """Bounds by intervals, which know that squares are not negative, and by going back."""
    affine, ranges = way.network.stages[index], _ranges(stages, box)
    room = way.share * (added_up(affine, way.sizes[index], ranges) + TINY)
    least, most = image(affine, ranges)
    low, high = _both(low, high, least - room, most + room)
    return _refine(way, index, low, high, stages, box) if index > 0 and way.refines else (low, high)


def _both(low: Array, high: Array, other_low: Array, other_high: Array) -> tuple[Array, Array]:
    """Of two enclosures the better side of each."""
    low, high = np.maximum(low, other_low), np.minimum(high, other_high)
    return np.minimum(low, high), high


def _refine(way: _Way, index: int, low: Array, high: Array, stages: list[Stage], box: _Box) -> tuple[Array, Array]:
    """Backward bounds for the units that are open, each in its box."""
    network = way.network
    is_open = ((low < 0) & (high > 0)) if network.activations[index] is RELU else low < high
    places, units = np.nonzero(is_open)
    affine = network.stages[index]
    entries = 2 * max((network.num_inputs, *network.widths[:index]))
    for chunk in chunks_of_boxes(places.size, entries):
        at, unit = places[chunk], units[chunk]
        weights = {source: _both_signs(block[unit]) for source, block in affine.weights.items()}
        constant = affine.bias[unit][:, None] * np.array([1.0, -1.0])
        here = [stage.at(at) for stage in stages]
        planes = climb_each(network, weights, constant, here, box.lb[at], box.ub[at], way.share, way.steps)
        least = lowest(planes, box.lb[at], box.ub[at])
        low[at, unit], high[at, unit] = _both(low[at, unit], high[at, unit], least[:, 0], -least[:, 1])
    return low, high


def _both_signs(rows: Matrix) -> Array:
    """The rows and their negatives, (k, 2, n)."""
    dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
    return np.stack([dense, -dense], axis=1)


def _parallel(activation: Activation, band: Band, low: Array, high: Array) -> tuple[Array, Array, Array]:
    """slope * a + bottom <= phi(a) <= slope * a + top: two lines of the same slope."""
    if activation is RELU:
        return band.upper, np.zeros_like(low), band.lift
    slope = 0.5 * (band.lower + band.upper)
    drop = np.zeros_like(low) if band.drop is None else band.drop
    bottom = np.minimum(*_at_ends(band.lower - slope, low, high)) + drop
    top = np.maximum(*_at_ends(band.upper - slope, low, high)) + band.lift
    room = 4.0 * EPS * (np.abs(slope) + np.abs(band.lower) + np.abs(band.upper)) * magnitude(low, high)
    return slope, bottom - room - 4.0 * EPS * np.abs(drop), top + room + 4.0 * EPS * np.abs(band.lift)


def _at_ends(slope: Array, low: Array, high: Array) -> tuple[Array, Array]:
    return np.where(slope != 0, slope * low, 0.0), np.where(slope != 0, slope * high, 0.0)
