"""Windows of inputs: what a neural row behind a binary says about the inputs of its network while it is on.

z = 1  =>  f(x) <= rhs  with few inputs that move leaves a part of their box, and bounds of the network show which ends of it can be cut
off: z = 1  =>  lo <= x <= hi. Every feasible point keeps that, and the host alone, which knows nothing of networks, learns which choices
of its integers are worth a look. The box is cut into cells along one input after the other, a cell without a point goes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.network.affine import Affine
from dcembed.network.bounds import bound
from dcembed.network.chunks import slices
from dcembed.network.network import CHUNK_ENTRIES, Network, evaluate
from dcembed.program.conditional_bounds import ConditionalBounds, find_conditional_bounds
from dcembed.program.derive import add_rows, derive
from dcembed.program.indicators import switch
from dcembed.program.tightening import SAFETY, Box, tighten
from dcembed.sparse import largest_values, row_numbers

# Cells that a box is cut into along an input, and how often.
NUM_CELLS, NUM_ROUNDS = 16, 3
# Inputs that may move: along one of many, hardly a cell is without a point.
MAX_MOVING = 3
# Multiplications that the bounds of one network may take.
MAX_WORK = 2e9
# A window is worth a row if it is narrower than the box by this share.
WORTH_A_ROW = 0.01


@dataclass(frozen=True, eq=False)
class Behind:
    """Neural rows of one network that are behind a binary and have one evaluation each: scale * direction'f(x) <= limit while they are on.

    Parameters
    ----------
    direction, scale
        Of the evaluation in each row, shape (t,).
    limit
        The largest that the right-hand side can be, shape (t,).
    matrix, offset
        The inputs as an affine map of the columns, shapes (t * n_in, n) and (t, n_in).
    binary, value
        What switches each on, shape (t,).
    box
        Bounds of the inputs then, shapes (t, n_in).
    """

    direction: Array
    scale: Array
    limit: Array
    matrix: sp.csr_array
    offset: Array
    binary: Array
    value: Array
    box: Box


def add_windows(embedded: EmbeddedProgram, check: Callable[[], None]) -> EmbeddedProgram:
    """The problem with the windows of its inputs in the host; `check` may raise to end the search for them."""
    if not (embedded.restrictions.indicator >= 0).any():
        return embedded
    bounds = find_conditional_bounds(embedded.bounded_host, tighten(embedded.bounded_host))
    for measured in embedded.networks:
        behind = _find_behind(embedded, measured, bounds)
        work = 8.0 * NUM_CELLS * NUM_ROUNDS * measured.network.num_inputs * behind.scale.size * _num_weights(measured.network)
        if behind.scale.size and work <= MAX_WORK:
            window = _find_windows(measured, behind, check)
            embedded = _with_rows(embedded, behind, window, bounds.box)
    return embedded


def _find_behind(embedded: EmbeddedProgram, measured: MeasuredNetwork, bounds: ConditionalBounds) -> Behind:
    """The rows of a network whose inputs have bounds, few of which move."""
    terms, restrictions, width = measured.terms, embedded.restrictions, measured.network.num_inputs
    num_terms = sum(np.bincount(m.terms.measurement, minlength=restrictions.num_restrictions + 1) for m in embedded.networks)
    row = terms.measurement - 1
    term = np.flatnonzero((row >= 0) & (num_terms[terms.measurement] == 1) & (restrictions.indicator[row] >= 0))
    row = row[term]
    binary, value = restrictions.indicator[row], restrictions.indicator_value[row]
    linear = -restrictions.linear[row]
    inside = bounds.at(linear.indices, binary[row_numbers(linear)], value[row_numbers(linear)])
    shares = np.where(linear.data > 0, linear.data * inside.ub, linear.data * inside.lb)
    limit = restrictions.rhs[row] + np.bincount(row_numbers(linear), shares, minlength=row.size)
    blocks = terms.block[term]
    matrix = sp.csr_array(measured.maps[measured.rows_of(measured.map_of[blocks]).reshape(-1)])
    place = row_numbers(matrix)
    inside = bounds.at(matrix.indices, binary[place // width], value[place // width])
    one, other = matrix.data * inside.lb, matrix.data * inside.ub
    low, high = (np.bincount(place, pick(one, other), minlength=matrix.shape[0]).reshape(-1, width) for pick in (np.minimum, np.maximum))
    box = Box(low + measured.offset[blocks], high + measured.offset[blocks])
    behind = Behind(terms.direction[term], terms.scale[term], limit, matrix, measured.offset[blocks], binary, value, box)
    moving = (box.ub > box.lb).sum(axis=1)
    finite = np.isfinite(limit) & np.isfinite(box.lb).all(axis=1) & np.isfinite(box.ub).all(axis=1)
    return _pick(behind, np.flatnonzero(finite & (moving > 0) & (moving <= MAX_MOVING)))


def _pick(behind: Behind, some: Array) -> Behind:
    width = behind.offset.shape[1]
    return Behind(
        behind.direction[some],
        behind.scale[some],
        behind.limit[some],
        sp.csr_array(behind.matrix[(some[:, None] * width + np.arange(width)).reshape(-1)]),
        behind.offset[some],
        behind.binary[some],
        behind.value[some],
        Box(behind.box.lb[some], behind.box.ub[some]),
    )


def _find_windows(measured: MeasuredNetwork, behind: Behind, check: Callable[[], None]) -> Box:
    """What is left of each box; a box without any point has its ends crossed in one input."""
    network = _along(measured.network, measured.directions)
    lb, ub = behind.box.lb.copy(), behind.box.ub.copy()
    for moving in range(network.num_inputs):
        for end, other, sign in ((lb, ub, 1.0), (ub, lb, -1.0)):
            some = np.flatnonzero((sign * (other - end)[:, moving] > 0) & _fails(measured, behind, Box(lb, ub), moving, end))
            end[some, moving] = _cut(network, _pick(behind, some), Box(lb[some], ub[some]), moving, sign, check)
    return Box(lb, ub)


def _fails(measured: MeasuredNetwork, behind: Behind, box: Box, moving: int, end: Array) -> Array:
    """Whether a row fails at an end of its box, in the middle of the other inputs: if it holds there, nothing can be cut off."""
    points = (box.lb + box.ub) / 2
    points[:, moving] = end[:, moving]
    # Boxes that have lost all their points are done with.
    known = np.isfinite(points).all(axis=1)
    values = np.zeros(known.size)
    predictions = evaluate(measured.network, points[known])
    values[known] = np.einsum("to,to->t", measured.directions[behind.direction[known]], predictions)
    return known & (behind.scale * values > behind.limit)


def _cut(network: Network, behind: Behind, box: Box, moving: int, sign: float, check: Callable[[], None]) -> Array:
    """The end of each box, going from the lower one up (sign 1) or from the upper one down, before which no cell has a point.

    The cells of a round are those of the whole box at first, then of the first cell that may have a point.
    """
    every, cells = np.arange(behind.scale.size), np.arange(NUM_CELLS)
    end, far = (box.lb[:, moving], box.ub[:, moving])[:: int(sign)]
    width = (far - end) / NUM_CELLS
    for number in range(NUM_ROUNDS):
        near = end[:, None] + width[:, None] * cells
        last = sign * np.minimum(sign * (near + width[:, None]), sign * far[:, None])
        low, high = np.repeat(box.lb, NUM_CELLS, axis=0), np.repeat(box.ub, NUM_CELLS, axis=0)
        low[:, moving], high[:, moving] = np.minimum(near, last).reshape(-1), np.maximum(near, last).reshape(-1)
        least = _least(network, Box(low, high), np.repeat(behind.direction, NUM_CELLS), check).reshape(-1, NUM_CELLS)
        possible = _is_below(behind.scale[:, None] * least, behind.limit[:, None])
        some = possible.any(axis=1)
        end = np.where(some, near[every, possible.argmax(axis=1)], last[:, -1])
        if number == 0:
            end = np.where(some, end, sign * np.inf)
        # What a coarse cell promised and none of its parts keeps may be so of the next one.
        width = np.where(some, width / NUM_CELLS, width)
    return end


def _is_below(value: Array, limit: Array) -> Array:
    """Whether a lower bound leaves a point, to rounding."""
    below: Array = value <= limit + SAFETY * (1.0 + np.abs(limit) + np.abs(value))
    return below


def _along(network: Network, directions: Array) -> Network:
    """The network whose last stage has the measured predictions as pre-activations."""
    output = Affine({source: directions @ block for source, block in network.output.weights.items()}, directions @ network.output.bias)
    size = directions.shape[0]
    return Network(network.num_inputs, (*network.stages, output), Affine({len(network.stages) + 1: np.eye(size)}, np.zeros(size)))


def _least(network: Network, box: Box, direction: Array, check: Callable[[], None]) -> Array:
    """Lower bounds over each box of the measured prediction in its direction."""
    size = direction.size
    least = np.empty(size)
    for part in slices(size, network.num_inputs * (network.num_inputs + network.num_hidden), CHUNK_ENTRIES):
        check()
        low, _ = bound(network, box.lb[part], box.ub[part], check)[-1]
        least[part] = low[np.arange(low.shape[0]), direction[part]]
    return least


def _with_rows(embedded: EmbeddedProgram, behind: Behind, window: Box, box: Box) -> EmbeddedProgram:
    """The problem with the windows as rows of the host that their binaries switch; a binary without any window is switched off."""
    host, width = embedded.host, behind.offset.shape[1]
    none = (window.lb > window.ub).any(axis=1)
    lb, ub = host.lb.copy(), host.ub.copy()
    off = 1.0 - behind.value[none]
    ub[behind.binary[none]], lb[behind.binary[none]] = np.minimum(ub[behind.binary[none]], off), np.maximum(lb[behind.binary[none]], off)
    worth = WORTH_A_ROW * (behind.box.ub - behind.box.lb)
    is_low, is_high = ((cut > worth) & ~none[:, None] for cut in (window.lb - behind.box.lb, behind.box.ub - window.ub))
    high, low = np.flatnonzero(is_high.reshape(-1)), np.flatnonzero(is_low.reshape(-1))
    offset = behind.offset.reshape(-1)
    matrix = sp.csr_array(sp.vstack([behind.matrix[high], -behind.matrix[low]], format="csr"))
    rhs = np.concatenate([window.ub.reshape(-1)[high] - offset[high], offset[low] - window.lb.reshape(-1)[low]])
    of = np.concatenate([high, low]) // width
    excess = largest_values(matrix, *box) - rhs
    known = np.flatnonzero(np.isfinite(excess))
    rows, row_ub = switch(matrix[known], rhs[known], behind.binary[of[known]], behind.value[of[known]], excess[known])
    # Where no choice of a binary is left, the solver is to find that out.
    narrowed = derive(host, lb=np.minimum(lb, ub), ub=ub)
    return replace(embedded, host=add_rows(narrowed, rows, np.full(row_ub.size, -np.inf), row_ub))


def _num_weights(network: Network) -> int:
    return sum(block.shape[0] * block.shape[1] for stage in (*network.stages, network.output) for block in stage.weights.values())
