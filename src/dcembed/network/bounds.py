"""Bounds of the pre-activations over boxes of inputs, batched over the boxes.

Forward: every unit is held between two linear functions of the input, pushed stage by stage; cheap on wide layers because only the
few inputs are carried along. Backward: the pre-activations of a stage are written in terms of earlier and earlier stages down to
the input; tighter on deep networks, where the forward bounds have lost their grip, and used there for the units still open. Where the
inputs are many, carrying them along costs more than going back to them once: the bounds are backward ones from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dcembed.arrays import Array, Matrix
from dcembed.network.activations import RELU
from dcembed.network.activations.lines import Band, enclose
from dcembed.network.activations.ranges import value_range
from dcembed.network.affine import Affine
from dcembed.network.batched_products import apply_to_boxes, chunks_of_boxes, times_each
from dcembed.network.network import Network
from dcembed.network.split import negative_part, positive_part

# The stage from which on backward bounds pay: measured, they leave 72 instead of 212 open units on 6 stages of 64, but cost ten
# times the forward ones on 3 stages of 256 for a quarter fewer.
FIRST_BACKWARD_STAGE = 3

# To look at the signs of an entry on its way back costs about as much as so many of the multiplications it is in.
ENTRY_COST = 50
# Above this share of units that are not off it takes longer to pick them than to go back from all.
MOST = 0.8


def go_on() -> None:
    """Nobody is in a hurry."""


@dataclass(frozen=True, eq=False)
class Lines:
    """Two linear functions around each entry, in s in [-1, 1]^d with x = middle + radius * s; shapes (k, n) and (k, n, d)."""

    low: Array
    low_slope: Array
    high: Array
    high_slope: Array


def bound(network: Network, lb: npt.ArrayLike, ub: npt.ArrayLike, check: Callable[[], None] = go_on) -> list[tuple[Array, Array]]:
    """Lower and upper bounds of a_1..a_L over each box.

    Parameters
    ----------
    lb, ub
        Boxes, shape (k, num_inputs); entries may be infinite, which leaves plain interval arithmetic.
    check
        Called before every large product; what it raises ends the computation.

    Returns
    -------
    For each stage a pair of arrays (k, width).

    Examples
    --------
    A unit whose pre-activation is x0 - x1, and one that adds it to x1. Intervals alone would give [-1, 3] for the second; the lines
    remember that x1 is in both.

    >>> from dcembed.network import NetworkBuilder
    >>> builder = NetworkBuilder((2,))
    >>> first = builder.relu(builder.linear(builder.input, np.array([[1.0, -1.0]])))
    >>> second = builder.relu(builder.add(first, builder.linear(builder.input, np.array([[0.0, 1.0]]))))
    >>> bounds = bound(builder.finish(second), [[-1.0, -1.0]], [[1.0, 1.0]])
    >>> [(low.item(), high.item()) for low, high in bounds]
    [(-2.0, 2.0), (-1.0, 2.0)]
    """
    lb, ub = np.atleast_2d(lb), np.atleast_2d(ub)
    with np.errstate(over="ignore", invalid="ignore"):
        if not (np.isfinite(lb).all() and np.isfinite(ub).all()):
            return _bound_by_intervals(network, lb, ub)
        return (_bound_backward if runs_backward(network) else _bound_forward)(network, lb, ub, check)


def runs_backward(network: Network) -> bool:
    """Whether going back from the units takes fewer operations than carrying the inputs along.

    From `FIRST_BACKWARD_STAGE` on both go back, so the stages before it are compared with the lines of all stages.
    """
    sizes = [sum(map(_num_entries, stage.weights.values())) for stage in network.stages]
    passed = [size + ENTRY_COST * width for size, width in zip(sizes, network.widths, strict=True)]
    # Both sides of all units of a stage go back through every stage that it depends on.
    early = [index for index, depth in enumerate(network.depths) if depth <= FIRST_BACKWARD_STAGE]
    back = sum(2 * network.widths[index] * sum(passed[source - 1] for source in _ancestors(network, index)) for index in early)
    # Two lines, and the two signs of the weights.
    return back < 4 * network.num_inputs * sum(sizes[1:])


def _ancestors(network: Network, index: int) -> set[int]:
    """The numbers of the stages that a stage depends on."""
    found, pending = set[int](), [network.stages[index]]
    while pending:
        new = {source for source in pending.pop().weights if source > 0} - found
        found |= new
        pending += [network.stages[source - 1] for source in new]
    return found


def _num_entries(block: Matrix) -> int:
    return block.size if isinstance(block, np.ndarray) else int(block.nnz)


def lower_lines(network: Network, lb: Array, ub: Array, check: Callable[[], None] = go_on) -> tuple[Array, Array]:
    """Affine functions below the predictions over each of the boxes (k, num_inputs), which are finite.

    Returns
    -------
    Their values in the middle of the boxes, shape (k, num_outputs), and by how much they rise from there to the upper end of each
    input, shape (k, num_outputs, num_inputs).
    """
    _, sources = _carry_lines(network, lb, ub, check)
    lines = _push(network.output, sources)
    return lines.low, lines.low_slope


def _bound_forward(network: Network, lb: Array, ub: Array, check: Callable[[], None]) -> list[tuple[Array, Array]]:
    return _carry_lines(network, lb, ub, check)[0]


def _carry_lines(network: Network, lb: Array, ub: Array, check: Callable[[], None]) -> tuple[list[tuple[Array, Array]], list[Lines]]:
    """Bounds of the pre-activations, and lines around the input and the units of every stage."""
    middle, radius = (lb + ub) / 2, (ub - lb) / 2
    sources, ranges = [_input_lines(middle, radius)], [(lb, ub)]
    result: list[tuple[Array, Array]] = []
    bands: list[Band] = []
    for index, (stage, activation) in enumerate(zip(network.stages, network.activations, strict=True)):
        check()
        lines = _push(stage, sources)
        low, high = lines.low - _reach(lines.low_slope), lines.high + _reach(lines.high_slope)
        if not network.is_piecewise_linear:
            low, high = _tighter(low, high, *image(stage, ranges))
        low, high = _known(low, high)
        # Not how many stages come before it counts, but how many it depends on in a row: members of an ensemble stand beside one another.
        if network.depths[index] > FIRST_BACKWARD_STAGE:
            low, high = _refine(network, index, low, high, bands, middle, radius, check)
        result.append((low, high))
        bands.append(enclose(activation, low, high))
        ranges.append(value_range(activation, low, high))
        sources.append(_relax(lines, bands[-1]))
    return result, sources


def _tighter(low: Array, high: Array, other_low: Array, other_high: Array) -> tuple[Array, Array]:
    """Of two enclosures the better side of each: lines know where values come from, intervals that squares are not negative."""
    low, high = np.fmax(low, other_low), np.fmin(high, other_high)
    # Two valid bounds can cross by rounding only.
    return np.minimum(low, high), high


def _known(low: Array, high: Array) -> tuple[Array, Array]:
    """Bounds in which what is not a number, after an overflow, is none."""
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def _bound_backward(network: Network, lb: Array, ub: Array, check: Callable[[], None]) -> list[tuple[Array, Array]]:
    """Intervals from the bounds of the stages before, and backward bounds for the units that these leave open."""
    middle, radius = (lb + ub) / 2, (ub - lb) / 2
    sources = [(lb, ub)]
    result: list[tuple[Array, Array]] = []
    bands: list[Band] = []
    for index, (stage, activation) in enumerate(zip(network.stages, network.activations, strict=True)):
        low, high = image(stage, sources)
        # Intervals are exact where a stage sees the input alone.
        if network.depths[index] > 1:
            low, high = _refine(network, index, low, high, bands, middle, radius, check)
        result.append((low, high))
        bands.append(enclose(activation, low, high))
        sources.append(value_range(activation, low, high))
    return result


def _input_lines(middle: Array, radius: Array) -> Lines:
    slope = radius[:, :, None] * np.eye(middle.shape[1])
    return Lines(middle, slope, middle, slope)


def _reach(slope: Array) -> Array:
    reach: Array = np.abs(slope).sum(axis=2)
    return reach


def _push(affine: Affine, sources: list[Lines]) -> Lines:
    """Lines around an affine map of the sources."""
    k = sources[0].low.shape[0]
    low, high = np.tile(affine.bias, (k, 1)), np.tile(affine.bias, (k, 1))
    shape = (k, affine.num_rows, sources[0].low_slope.shape[2])
    low_slope, high_slope = np.zeros(shape), np.zeros(shape)
    for source, block in affine.weights.items():
        lines = sources[source]
        if source == 0:
            # The input is its own line: no need to tell the signs apart.
            low, high = low + lines.low @ block.T, high + lines.high @ block.T
            slope = apply_to_boxes(block, lines.low_slope)
            low_slope, high_slope = low_slope + slope, high_slope + slope
            continue
        plus, minus = positive_part(block), negative_part(block)
        low = low + lines.low @ plus.T - lines.high @ minus.T
        high = high + lines.high @ plus.T - lines.low @ minus.T
        low_slope = low_slope + apply_to_boxes(plus, lines.low_slope) - apply_to_boxes(minus, lines.high_slope)
        high_slope = high_slope + apply_to_boxes(plus, lines.high_slope) - apply_to_boxes(minus, lines.low_slope)
    return Lines(low, low_slope, high, high_slope)


def _relax(lines: Lines, band: Band) -> Lines:
    """Lines around the units, given those around their pre-activations."""
    if band.drop is None:
        return Lines(
            band.lower * lines.low,
            band.lower[:, :, None] * lines.low_slope,
            band.upper * lines.high + band.lift,
            band.upper[:, :, None] * lines.high_slope,
        )
    # A line that falls lies below where its argument is largest.
    low, low_slope = _along(lines, band.lower, band.lower >= 0)
    high, high_slope = _along(lines, band.upper, band.upper < 0)
    return Lines(low + band.drop, low_slope, high + band.lift, high_slope)


def _along(lines: Lines, slope: Array, takes_low: Array) -> tuple[Array, Array]:
    constant = np.where(takes_low, lines.low, lines.high)
    return slope * constant, slope[:, :, None] * np.where(takes_low[:, :, None], lines.low_slope, lines.high_slope)


def _refine(
    network: Network,
    index: int,
    low: Array,
    high: Array,
    bands: list[Band],
    middle: Array,
    radius: Array,
    check: Callable[[], None],
) -> tuple[Array, Array]:
    """Backward bounds for the units of a stage that are open in some box."""
    units = np.flatnonzero((((low < 0) & (high > 0)) if network.activations[index] is RELU else (low < high)).any(axis=0))
    if units.size == 0:
        return low, high
    stage = network.stages[index]
    low, high = low.copy(), high.copy()
    for boxes in chunks_of_boxes(middle.shape[0], units.size * max(network.widths[:index])):
        above = _trace_back(network, stage, units, bands, boxes, middle[boxes], radius[boxes], 1.0, check)
        below = -_trace_back(network, stage, units, bands, boxes, middle[boxes], radius[boxes], -1.0, check)
        # What overflows on the way back is not a number, and bounds nothing.
        high[boxes, units] = np.fmin(high[boxes, units], above)
        low[boxes, units] = np.fmax(low[boxes, units], below)
    # Two valid bounds can cross by rounding only.
    return np.minimum(low, high), high


def _band_in(band: Band, boxes: slice) -> Band:
    return Band(band.lower[boxes], None if band.drop is None else band.drop[boxes], band.upper[boxes], band.lift[boxes])


def _trace_back(
    network: Network,
    stage: Affine,
    units: Array,
    bands: list[Band],
    boxes: slice,
    middle: Array,
    radius: Array,
    sign: float,
    check: Callable[[], None],
) -> Array:
    """Upper bounds of sign * a[units] over some of the boxes, whose middles and radii are given; shape (k, number of units)."""
    k, q = middle.shape[0], units.size
    total = np.tile(sign * stage.bias[units], (k, 1))
    weights = {source: np.broadcast_to(sign * _rows(block, units), (k, q, block.shape[1])) for source, block in stage.weights.items()}
    for source in range(len(bands), 0, -1):
        if source not in weights:
            continue
        check()
        weight, band = weights.pop(source), _band_in(bands[source - 1], boxes)
        # Units that are off in all boxes say nothing.
        some = np.flatnonzero((band.upper > 0).any(axis=0)) if band.drop is None else np.arange(band.upper.shape[1])
        live = some if some.size <= MOST * band.upper.shape[1] else slice(None)
        weight = weight[:, :, live]
        total += times_each(np.maximum(weight, 0.0), band.lift[:, live])
        if band.drop is not None:
            total += times_each(np.minimum(weight, 0.0), band.drop[:, live])
        coefficients = np.where(weight > 0, band.upper[:, None, live], band.lower[:, None, live])
        coefficients *= weight
        affine = network.stages[source - 1]
        total += coefficients @ affine.bias[live]
        for earlier, block in affine.weights.items():
            part = _times(coefficients, block[live])
            weights[earlier] = weights[earlier] + part if earlier in weights else part
    if 0 in weights:
        total += times_each(weights[0], middle) + times_each(np.abs(weights[0]), radius)
    return total


def _times(coefficients: Array, block: Matrix) -> Array:
    """coefficients @ block for coefficients of shape (k, q, n); sparse matrices take two axes only."""
    k, q, n = coefficients.shape
    return (coefficients.reshape(k * q, n) @ block).reshape(k, q, -1)


def _rows(block: Matrix, rows: Array) -> Array:
    taken = block[rows]
    return taken if isinstance(taken, np.ndarray) else taken.toarray()


def _bound_by_intervals(network: Network, lb: Array, ub: Array) -> list[tuple[Array, Array]]:
    sources = [(lb, ub)]
    result = []
    for stage, activation in zip(network.stages, network.activations, strict=True):
        low, high = image(stage, sources)
        result.append((low, high))
        sources.append(value_range(activation, low, high))
    return result


def image(affine: Affine, sources: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Bounds of an affine map of sources, each of which has a lower and an upper bound (k, n), by interval arithmetic."""
    low = np.tile(affine.bias, (sources[0][0].shape[0], 1))
    high = low.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        for source, block in affine.weights.items():
            source_lb, source_ub = sources[source]
            plus, minus = positive_part(block), negative_part(block)
            high += _product(source_ub, plus) + _product(-source_lb, minus)
            low -= _product(-source_lb, plus) + _product(source_ub, minus)
    return _known(low, high)


def _product(upper: Array, weights: Matrix) -> Array:
    """upper @ weights.T for nonnegative weights, where zero times infinity is zero."""
    infinite = np.isposinf(upper)
    if not infinite.any():
        return upper @ weights.T
    value = np.where(infinite, 0.0, upper) @ weights.T
    value[(infinite.astype(np.float64) @ (weights > 0).astype(np.float64).T) > 0] = np.inf
    return value
