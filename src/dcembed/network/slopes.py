"""Lines chosen so that a plane lies as high as it can: the best slope of each unit for each function on each box.

The least value of a plane on its box is taken in a corner. There the plane is what the network gives if every unit is replaced by the line
that was taken for it. So one pass forward from the corner tells how that value changes with every line; lines are moved where it rises,
by steps that are about as long for all units and become shorter, and the best planes that were met are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dcembed.arrays import Array
from dcembed.network.affine import apply_affine
from dcembed.network.free_lines import FreeLines, at, free_lines, lines_of, rise
from dcembed.network.going_back import Planes, Stage, go_back, lowest
from dcembed.network.network import Network
from dcembed.network.rounding import magnitude

# The length of the first step, how steps become shorter, and what share of the last directions and of their squares is kept: measured on
# networks of 3 and 6 stages, three steps gain most of what a hundred do.
LENGTH, SHORTER = 0.45, 0.88
KEPT, KEPT_SQUARES = 0.5, 0.97
SMALLEST = 1e-300


def climb_each(
    network: Network,
    weights: Mapping[int, Array],
    constant: Array,
    stages: Sequence[Stage],
    lb: Array,
    ub: Array,
    share: float,
    steps: int,
    tilt: Array | None = None,
) -> Planes:
    """Planes below q functions on each of k boxes, with lines chosen for each in so many steps; by those of `go_back` where there are none."""
    k, q = constant.shape
    if steps == 0:
        return go_back(network, weights, constant, stages, magnitude(lb, ub), share)
    if q == 1:
        return climb(network, weights, constant, stages, lb, ub, share, steps, tilt)
    boxes = np.repeat(np.arange(k), q)
    planes = climb(
        network,
        {source: weight.reshape(k * q, 1, -1) for source, weight in weights.items()},
        constant.reshape(k * q, 1),
        [stage.at(boxes) for stage in stages],
        lb[boxes],
        ub[boxes],
        share,
        steps,
        None if tilt is None else tilt.reshape(k * q, 1, -1),
    )
    return Planes(planes.slope.reshape(k, q, -1), planes.constant.reshape(k, q))


def climb(
    network: Network,
    weights: Mapping[int, Array],
    constant: Array,
    stages: Sequence[Stage],
    lb: Array,
    ub: Array,
    share: float,
    steps: int,
    tilt: Array | None = None,
) -> Planes:
    """Planes below one function on each of k boxes that are not lower than those of `go_back`.

    Parameters
    ----------
    weights, constant, stages, share
        As of `go_back`, with q = 1.
    lb, ub
        The boxes, shape (k, num_inputs).
    steps
        How often lines are chosen anew.
    tilt
        What is added to the slopes, shape (k, 1, num_inputs), before it is asked where a plane is lowest; None for nothing.
    """
    reach = magnitude(lb, ub)
    free = [free_lines(network.activations[index], stage.band, stage.low, stage.high) for index, stage in enumerate(stages)]
    climbers = [_Climber(each.start, 0.0, 0.0) for each in free]
    passed: dict[int, Array] = {}
    best = planes = go_back(network, weights, constant, stages, reach, share, passed)
    height = lowest(_tilted(best, tilt), lb, ub)
    stages = [_for_all_lines(*each) for each in zip(stages, free, strict=True)]
    for step in range(steps):
        places = _places(network, stages, passed, np.where(_tilted(planes, tilt).slope[:, 0] > 0, lb, ub))
        climbers = [
            climber if index not in passed else _moved(climber, rise(each, climber.number, *_seen(each, passed[index], place)), step)
            for index, (climber, each, place) in enumerate(zip(climbers, free, places, strict=True), start=1)
        ]
        stages = [replace(stage, band=lines_of(each, climber.number)) for stage, each, climber in zip(stages, free, climbers, strict=True)]
        passed = {}
        planes = go_back(network, weights, constant, stages, reach, share, passed)
        best, height = _better(best, height, planes, lowest(_tilted(planes, tilt), lb, ub))
    return best


def _tilted(planes: Planes, tilt: Array | None) -> Planes:
    return planes if tilt is None else replace(planes, slope=planes.slope + tilt)


@dataclass(frozen=True, eq=False)
class _Climber:
    """The numbers of the lines of a stage, (m,), and means of the directions that were taken and of their squares."""

    number: Array
    direction: Array | float
    square: Array | float


def _moved(climber: _Climber, up: Array, step: int) -> _Climber:
    """One step up: Adam's, with a short memory."""
    direction = KEPT * climber.direction + (1.0 - KEPT) * up
    square = KEPT_SQUARES * climber.square + (1.0 - KEPT_SQUARES) * up * up
    length = LENGTH * SHORTER**step / (1.0 - KEPT ** (step + 1))
    move = length * direction / (np.sqrt(square / (1.0 - KEPT_SQUARES ** (step + 1))) + SMALLEST)
    # What overflows stays where it is.
    return _Climber(np.clip(climber.number + np.nan_to_num(move), 0.0, 1.0), direction, square)


def _better(best: Planes, height: Array, planes: Planes, value: Array) -> tuple[Planes, Array]:
    """Of two planes for each function the one that is higher at its lowest."""
    is_better = value > height
    slope, constant = np.where(is_better[:, :, None], planes.slope, best.slope), np.where(is_better, planes.constant, best.constant)
    return Planes(slope, constant), np.where(is_better, value, height)


def _for_all_lines(stage: Stage, free: FreeLines) -> Stage:
    """The stage with what any of the lines that may be chosen adds up, without signs."""
    low, high, least, most, added, size = (
        at(values, free.places) for values in (stage.low, stage.high, stage.least, stage.most, stage.added, stage.size)
    )
    steepest = free.steepest
    # A line through a point of its unit: the constant is no larger than the unit and what the slope makes of the point.
    largest = magnitude(least, most) + steepest * magnitude(low, high) + free.activation.margin
    sizes = stage.size.copy()
    sizes.reshape(-1)[free.places] = np.maximum(size, steepest * added + largest)
    return replace(stage, size=sizes)


def _seen(free: FreeLines, weight: Array, place: Array) -> tuple[Array, Array]:
    """Weights (k, 1, width) and pre-activations (k, width) of the units that have a choice."""
    return at(weight, free.places), at(place, free.places)


def _places(network: Network, stages: Sequence[Stage], passed: Mapping[int, Array], corner: Array) -> list[Array]:
    """The pre-activations in the corners if units are replaced by the lines that were taken."""
    sources, places = [corner], []
    for index, stage in enumerate(stages):
        band = stage.band
        places.append(apply_affine(network.stages[index], sources))
        below, above = band.lower * places[-1] + (0.0 if band.drop is None else band.drop), band.upper * places[-1] + band.lift
        sources.append(np.where(passed[index + 1][:, 0] > 0, below, above) if index + 1 in passed else below)
    return places
