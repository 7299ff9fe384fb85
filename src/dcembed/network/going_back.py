"""Affine functions below sums of units, by going back from them to the input: batched over boxes, true to rounding.

A sum of units with weights w lies above the sum of the lines below the units where w > 0, and of those above them where w < 0. That is a
sum of pre-activations, hence of units of earlier stages and of the input; and so on until the input alone is left.

What is rounded on the way: a wrong weight on a unit does as much harm as the unit is large. So the harm of one stage is, to rounding, the
sum of |w| times what a unit's line takes from the stages before without signs, `Stage.size`: one number for each unit, whatever goes back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array, Matrix
from dcembed.network.activations import RELU, Activation
from dcembed.network.activations.lines import Band, enclose
from dcembed.network.activations.ranges import value_range
from dcembed.network.affine import Affine
from dcembed.network.batched_products import times_each
from dcembed.network.network import Network
from dcembed.network.rounding import EPS, TINY, magnitude


@dataclass(frozen=True, eq=False)
class Stage:
    """The units of one stage on k boxes.

    Parameters
    ----------
    low, high
        Bounds of their pre-activations, shape (k, width).
    band
        Lines around the units.
    least, most
        The ranges of the units, shape (k, width).
    added, size
        What their pre-activations and what their lines add up, without signs, shape (k, width).
    """

    low: Array
    high: Array
    band: Band
    least: Array
    most: Array
    added: Array
    size: Array

    def at(self, boxes: Array | slice) -> Stage:
        """The same on some of the boxes."""
        band = self.band
        drop = None if band.drop is None else band.drop[boxes]
        own = Band(band.lower[boxes], drop, band.upper[boxes], band.lift[boxes])
        low, high, least, most, added, size = (part[boxes] for part in (self.low, self.high, self.least, self.most, self.added, self.size))
        return Stage(low, high, own, least, most, added, size)


def enclose_safely(activation: Activation, low: Array, high: Array) -> Band:
    """Lines around units whose pre-activations are in [low, high], true to rounding."""
    band = enclose(activation, low, high)
    if activation is not RELU:
        return band
    # The chord is rounded: at the upper end, where it is highest, by a few units in the last place.
    return Band(band.lower, None, band.upper, band.lift + 4.0 * EPS * np.where(band.lift > 0, high, 0.0))


def magnitudes(affine: Affine) -> dict[int, Matrix]:
    """The weights without signs."""
    return {source: abs(block) for source, block in affine.weights.items()}


def added_up(affine: Affine, sizes: Mapping[int, Matrix], ranges: Sequence[tuple[Array, Array]]) -> Array:
    """What an affine map adds up, without signs, of sources in these ranges; `sizes` are its `magnitudes`."""
    added = np.tile(np.abs(affine.bias), (ranges[0][0].shape[0], 1))
    for source, block in sizes.items():
        added += magnitude(*ranges[source]) @ block.T
    return added


def read_stage(
    affine: Affine, sizes: Mapping[int, Matrix], activation: Activation, low: Array, high: Array, ranges: Sequence[tuple[Array, Array]]
) -> Stage:
    """A stage whose pre-activations are in [low, high], (k, width), and whose sources are in `ranges`."""
    band, added = enclose_safely(activation, low, high), added_up(affine, sizes, ranges)
    return Stage(low, high, band, *value_range(activation, low, high), added, _size(band, added))


def _size(band: Band, added: Array) -> Array:
    size: Array = np.maximum(np.abs(band.lower), np.abs(band.upper)) * added + _finite(band.lift)
    return size if band.drop is None else size + _finite(band.drop)


def _finite(constants: Array) -> Array:
    """Magnitudes of constants; what is lost is lost without rounding."""
    return np.where(np.isfinite(constants), np.abs(constants), 0.0)


@dataclass(frozen=True, eq=False)
class Planes:
    """slope'x + constant below each of q functions on each of k boxes: shapes (k, q, num_inputs) and (k, q)."""

    slope: Array
    constant: Array


def go_back(
    network: Network,
    weights: Mapping[int, Array],
    constant: Array,
    stages: Sequence[Stage],
    reach: Array,
    share: float,
    passed: dict[int, Array] | None = None,
) -> Planes:
    """Affine functions below sum_m weights_m' z_m + constant.

    Parameters
    ----------
    weights
        Source -> weights (k, q, size of the source); source 0 is the input.
    constant
        Shape (k, q).
    stages
        The stages up to the last one that has weights, on the k boxes.
    reach
        The largest absolute value of each input in each box, shape (k, num_inputs).
    share
        How much of what is added up may be rounded away: `rounding(network)`.
    passed
        Where the weights of the units of every source that was passed are noted; None for nowhere.
    """
    left = dict(weights)
    total, added = constant, np.abs(constant)
    for source in range(len(stages), 0, -1):
        if source not in left:
            continue
        weight, stage, affine = left.pop(source), stages[source - 1], network.stages[source - 1]
        if passed is not None:
            passed[source] = weight
        coefficients, lifted = _through(weight, stage.band)
        total = total + lifted + coefficients @ affine.bias
        added = added + times_each(np.abs(weight), stage.size) + (TINY * stage.size.sum(axis=1) + TINY)[:, None]
        for earlier, block in affine.weights.items():
            part = times_block(coefficients, block)
            left[earlier] = left[earlier] + part if earlier in left else part
    slope = left.get(0, np.zeros((*constant.shape, network.num_inputs)))
    added = added + times_each(np.abs(slope), reach)
    return _known(slope, total - share * added)


def _through(weight: Array, band: Band) -> tuple[Array, Array]:
    """The weights of the pre-activations, and the constants, of lines below units with these weights."""
    takes_upper = np.minimum(weight, 0.0)
    lifted = _lifted(takes_upper, band.lift)
    takes_lower = weight - takes_upper
    if band.drop is not None:
        lifted = lifted + _lifted(takes_lower, band.drop)
    takes_lower *= band.lower[:, None, :]
    takes_upper *= band.upper[:, None, :]
    takes_lower += takes_upper
    return takes_lower, lifted


def _lifted(weight: Array, constants: Array) -> Array:
    """Sums of constants with weights, where zero times infinity is zero: a unit without weight does not matter."""
    is_finite = np.isfinite(constants)
    if is_finite.all():
        return times_each(weight, constants)
    is_lost = ((weight != 0) & ~is_finite[:, None, :]).any(axis=2)
    return np.where(is_lost, -np.inf, times_each(weight, np.where(is_finite, constants, 0.0)))


def times_block(coefficients: Array, block: Matrix) -> Array:
    """coefficients @ block for coefficients of shape (k, q, n); sparse matrices take two axes only."""
    k, q, n = coefficients.shape
    product: Array = (coefficients.reshape(k * q, n) @ block).reshape(k, q, -1)
    return product


def _known(slope: Array, constant: Array) -> Planes:
    """What overflows bounds nothing."""
    is_known = np.isfinite(constant) & np.isfinite(slope).all(axis=2)
    if is_known.all():
        return Planes(slope, constant)
    return Planes(np.where(is_known[:, :, None], slope, 0.0), np.where(is_known, constant, -np.inf))


def lowest(planes: Planes, lb: Array, ub: Array) -> Array:
    """The least value of each function on its box, (k, q): below it, also in floating point."""
    with np.errstate(over="ignore", invalid="ignore"):
        ends = np.minimum(planes.slope * lb[:, None, :], planes.slope * ub[:, None, :])
        least = ends.sum(axis=2) + planes.constant
        safe: Array = least - EPS * (lb.shape[1] + 4) * (np.abs(ends).sum(axis=2) + np.abs(planes.constant))
    return np.where(np.isnan(safe), -np.inf, safe)
