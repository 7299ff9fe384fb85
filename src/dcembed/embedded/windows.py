"""Windows of inputs: what a neural row behind a binary says about the inputs of its network while it is on.

z = 1  =>  f(x) <= rhs  with few inputs that move leaves a part of their box, and bounds of the network show which ends of it can be cut
off: z = 1  =>  lo <= x <= hi. Every feasible point keeps that, and the host alone, which knows nothing of networks, learns which choices
of its integers are worth a look. The box is cut into cells along one input after the other, a cell without a point goes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.behind import Behind, add_switched_rows, find_behind, may_have_windows
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.floors import add_floors
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.network.along import measured_along
from dcembed.network.bounds import bound
from dcembed.network.chunks import slices
from dcembed.network.network import CHUNK_ENTRIES, Network, chunks, preactivations
from dcembed.program.conditional_bounds import ConditionalBounds, find_conditional_bounds
from dcembed.program.derive import derive
from dcembed.program.tightening import SAFETY, Box, heard, tighten

# Cells that a box is cut into along an input, and how often.
NUM_CELLS, NUM_ROUNDS = 16, 3
# Multiplications that the bounds of one network may take.
MAX_WORK = 1e10
# A window is worth a row if it is narrower than the box by this share.
WORTH_A_ROW = 0.01


def add_windows(embedded: EmbeddedProgram, check: Callable[[], None]) -> EmbeddedProgram:
    """The problem with the windows of its inputs in the host; `check` may raise to end the search for them."""
    networks = [measured for measured in embedded.networks if may_have_windows(embedded, measured)]
    if not networks:
        return embedded
    before, bounds = embedded.host.num_rows, find_conditional_bounds(embedded.bounded_host, tighten(embedded.bounded_host, heard(check)))
    for measured in networks:
        behind = find_behind(embedded, measured, bounds)
        work = 8.0 * NUM_CELLS * NUM_ROUNDS * measured.network.num_inputs * behind.scale.size * _num_weights(measured.network)
        if behind.scale.size and work <= MAX_WORK:
            window = _find_windows(measured, behind, check)
            embedded = _with_rows(embedded, behind, window, bounds)
            embedded = add_floors(embedded, measured, behind, window, bounds, check)
    return replace(embedded, num_implied=embedded.host.num_rows - before)


def _find_windows(measured: MeasuredNetwork, behind: Behind, check: Callable[[], None]) -> Box:
    """What is left of each box; a box without any point has its ends crossed in one input."""
    network = measured_along(measured.network, measured.directions)
    lb, ub = behind.box.lb.copy(), behind.box.ub.copy()
    for moving in range(network.num_inputs):
        for end, sign in ((lb, 1.0), (ub, -1.0)):
            # A box that has lost all its points is done with.
            some = np.flatnonzero((ub[:, moving] > lb[:, moving]) & (ub >= lb).all(axis=1))
            inside, chosen = Box(lb[some], ub[some]), behind.pick(some)
            # If a row holds at the end, nothing can be cut off there.
            fails = ~_holds(network, chosen, inside, moving, end[some, moving][:, None])[:, 0]
            some, inside = some[fails], Box(inside.lb[fails], inside.ub[fails])
            end[some, moving] = _cut(network, behind.pick(some), inside, moving, sign, check)
    return Box(lb, ub)


def _holds(network: Network, behind: Behind, box: Box, moving: int, at: Array) -> Array:
    """Whether rows hold where one input is `at` (t, p) and the others are in the middle of their boxes."""
    points = np.repeat((box.lb + box.ub) / 2, at.shape[1], axis=0)
    points[:, moving] = at.reshape(-1)
    direction = np.repeat(behind.direction, at.shape[1])
    values = np.empty(direction.size)
    for part in chunks(direction.size, network):
        last = preactivations(network, points[part])[-1]
        values[part] = last[np.arange(last.shape[0]), direction[part]]
    return _is_below(behind.scale[:, None] * values.reshape(at.shape), behind.limit[:, None])


def _cut(network: Network, behind: Behind, box: Box, moving: int, sign: float, check: Callable[[], None]) -> Array:
    """The end of each box, going from the lower one up (sign 1) or from the upper one down, before which no cell has a point.

    The cells of a round are those of the whole box at first, then of the first cell that may have a point.
    """
    every, cells = np.arange(behind.scale.size), np.arange(NUM_CELLS)
    end, far = (box.lb[:, moving], box.ub[:, moving])[:: int(sign)]
    width, has_none = (far - end) / NUM_CELLS, np.zeros(every.size, dtype=bool)
    for number in range(NUM_ROUNDS):
        near = end[:, None] + width[:, None] * cells
        last = sign * np.minimum(sign * (near + width[:, None]), sign * far[:, None])
        possible = _may_hold(network, behind, box, moving, near, last, check)
        some = possible.any(axis=1)
        end = np.where(some, near[every, possible.argmax(axis=1)], last[:, -1])
        has_none |= (number == 0) & ~some
        # What a coarse cell promised and none of its parts keeps may be so of the next one.
        width = np.where(some, width / NUM_CELLS, width)
    return np.where(has_none, sign * np.inf, end)


def _may_hold(network: Network, behind: Behind, box: Box, moving: int, near: Array, last: Array, check: Callable[[], None]) -> Array:
    """Whether the cells between `near` and `last` (t, cells) may have a point; from the first that has one on, none is asked."""
    possible = np.logical_or.accumulate(_holds(network, behind, box, moving, last), axis=1)
    row, cell = np.nonzero(~possible)
    low, high = box.lb[row], box.ub[row]
    low[:, moving], high[:, moving] = np.minimum(near, last)[row, cell], np.maximum(near, last)[row, cell]
    least = behind.scale[row] * _least(network, Box(low, high), behind.direction[row], check)
    possible[row, cell] = _is_below(least, behind.limit[row])
    return possible


def _is_below(value: Array, limit: Array) -> Array:
    """Whether a lower bound leaves a point, to rounding."""
    below: Array = value <= limit + SAFETY * (1.0 + np.abs(limit) + np.abs(value))
    return below


def _least(network: Network, box: Box, direction: Array, check: Callable[[], None]) -> Array:
    """Lower bounds over each box of the measured prediction in its direction."""
    size = direction.size
    least = np.empty(size)
    for part in slices(size, network.num_inputs * (network.num_inputs + network.num_hidden), CHUNK_ENTRIES):
        check()
        low, _ = bound(network, box.lb[part], box.ub[part], check)[-1]
        least[part] = low[np.arange(low.shape[0]), direction[part]]
    return least


def _with_rows(embedded: EmbeddedProgram, behind: Behind, window: Box, bounds: ConditionalBounds) -> EmbeddedProgram:
    """The problem with the windows as rows of the host that their binaries switch; a binary without any window is switched off."""
    host = embedded.host
    none = np.asarray((window.lb > window.ub).any(axis=1))
    lb, ub = host.lb.copy(), host.ub.copy()
    off = 1.0 - behind.value[none]
    np.minimum.at(ub, behind.binary[none], off)
    np.maximum.at(lb, behind.binary[none], off)
    # Where no value of a binary is left, the solver is to find that out.
    narrowed = replace(embedded, host=derive(host, lb=np.minimum(lb, ub), ub=ub))
    matrix, rhs, of = _window_rows(behind, window, ~none)
    return add_switched_rows(narrowed, matrix, rhs, behind.binary[of], behind.value[of], bounds)


def _window_rows(behind: Behind, window: Box, kept: Array) -> tuple[sp.csr_array, Array, Array]:
    """Rows matrix @ w <= rhs of the ends that were cut off, and the number in `behind` of each."""
    worth = WORTH_A_ROW * (behind.box.ub - behind.box.lb)
    high = np.flatnonzero(((behind.box.ub - window.ub > worth) & kept[:, None]).reshape(-1))
    low = np.flatnonzero(((window.lb - behind.box.lb > worth) & kept[:, None]).reshape(-1))
    matrix = sp.csr_array(sp.vstack([behind.matrix[high], -behind.matrix[low]], format="csr"))
    offset = behind.offset.reshape(-1)
    rhs = np.concatenate([window.ub.reshape(-1)[high] - offset[high], offset[low] - window.lb.reshape(-1)[low]])
    return matrix, rhs, np.concatenate([high, low]) // behind.offset.shape[1]


def _num_weights(network: Network) -> int:
    return sum(block.shape[0] * block.shape[1] for stage in (*network.stages, network.output) for block in stage.weights.values())
