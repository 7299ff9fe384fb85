"""Floors: lines below a network that a row behind a binary uses, so that the host alone has an idea of what a choice costs.

z = 1  =>  a'w + f(x) <= rhs  implies  z = 1  =>  a'w + alpha x + beta <= rhs  for every line below f. Where one input moves, its window is
cut into cells, each has a line below f from the bounds of the network, and the lower hull of all their ends is below f everywhere.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.behind import Behind, add_switched_rows
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.network.along import turned_along
from dcembed.network.bounds import lower_lines
from dcembed.network.chunks import slices
from dcembed.network.network import CHUNK_ENTRIES
from dcembed.program.conditional_bounds import ConditionalBounds
from dcembed.program.tightening import SAFETY, Box

# Cells of a window, and where in it the lines are that become rows.
NUM_CELLS = 16
PLACES = (1 / 6, 1 / 2, 5 / 6)


def add_floors(
    embedded: EmbeddedProgram,
    measured: MeasuredNetwork,
    behind: Behind,
    window: Box,
    bounds: ConditionalBounds,
    check: Callable[[], None],
) -> EmbeddedProgram:
    """The problem with lines below a network in the host; a row on nothing but the network says no more than its window."""
    moves = window.ub > window.lb
    linear = embedded.restrictions.linear[behind.row]
    some = np.flatnonzero((moves.sum(axis=1) == 1) & (window.lb <= window.ub).all(axis=1) & (np.diff(linear.indptr) > 0))
    if some.size == 0:
        return embedded
    chosen, moving = behind.pick(some), moves[some].argmax(axis=1)
    x, y = _points_below(measured, chosen, Box(window.lb[some], window.ub[some]), moving, check)
    slope, constant = (np.concatenate(parts) for parts in zip(*(_line_below(x, y, place) for place in PLACES), strict=True))
    of = np.tile(np.arange(some.size), len(PLACES))
    scale = chosen.scale[of]
    input_row = of * chosen.offset.shape[1] + moving[of]
    weigh = sp.csr_array((scale * slope, (np.arange(of.size), input_row)), shape=(of.size, chosen.matrix.shape[0]))
    matrix = sp.csr_array(linear[some][of] + weigh @ chosen.matrix)
    rhs = embedded.restrictions.rhs[chosen.row][of] - scale * (constant + slope * chosen.offset.reshape(-1)[input_row])
    return add_switched_rows(embedded, matrix, rhs, chosen.binary[of], chosen.value[of], bounds)


def _points_below(measured: MeasuredNetwork, behind: Behind, window: Box, moving: Array, check: Callable[[], None]) -> tuple[Array, Array]:
    """Both ends of a line below the network in every cell, shapes (t, 2 * cells): the input that moves, and the height."""
    every = np.arange(moving.size)
    first, last = window.lb[every, moving][:, None], window.ub[every, moving][:, None]
    edges = first + (last - first) * np.linspace(0.0, 1.0, NUM_CELLS + 1)
    low, high = np.repeat(window.lb, NUM_CELLS, axis=0), np.repeat(window.ub, NUM_CELLS, axis=0)
    cell, along = np.arange(low.shape[0]), np.repeat(moving, NUM_CELLS)
    low[cell, along], high[cell, along] = edges[:, :-1].reshape(-1), edges[:, 1:].reshape(-1)
    network, direction = turned_along(measured.network, measured.directions), np.repeat(behind.direction, NUM_CELLS)
    middle, rise = np.empty(cell.size), np.empty(cell.size)
    for part in slices(cell.size, network.num_inputs * (network.num_inputs + network.num_hidden), CHUNK_ENTRIES):
        check()
        values, slopes = lower_lines(network, low[part], high[part], check)
        here = np.arange(values.shape[0])
        middle[part], rise[part] = values[here, direction[part]], slopes[here, direction[part], along[part]]
    x = np.concatenate([edges[:, :-1], edges[:, 1:]], axis=1)
    return x, np.concatenate([(middle - rise).reshape(-1, NUM_CELLS), (middle + rise).reshape(-1, NUM_CELLS)], axis=1)


def _line_below(x: Array, y: Array, place: float) -> tuple[Array, Array]:
    """Slope and constant of the line through the lower hull of points (t, p) at a place between the first (0) and the last (1)."""
    at = (x.min(axis=1) + place * (x.max(axis=1) - x.min(axis=1)))[:, None, None]
    left, right = x[:, :, None], x[:, None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        slopes = (y[:, None, :] - y[:, :, None]) / (right - left)
        heights = np.where((left < at) & (at < right), y[:, :, None] + slopes * (at - left), np.inf)
    best = heights.reshape(x.shape[0], -1).argmin(axis=1)
    slope = slopes.reshape(x.shape[0], -1)[np.arange(x.shape[0]), best]
    # Below all points, rounding included.
    least = y - slope[:, None] * x
    return slope, least.min(axis=1) - SAFETY * (1.0 + np.abs(y).max(axis=1))
