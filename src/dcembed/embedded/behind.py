"""Neural rows behind a binary with a single evaluation in them, and the box of its inputs while they are on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.program.conditional_bounds import ConditionalBounds
from dcembed.program.derive import add_rows
from dcembed.program.indicators import switch
from dcembed.program.tightening import Box
from dcembed.sparse import row_numbers

# Inputs that may move: along one of many, hardly a part of a box is without a point.
MAX_MOVING = 3


@dataclass(frozen=True, eq=False)
class Behind:
    """Neural rows of one network that are behind a binary and have one evaluation each: scale * direction'f(x) <= limit while they are on.

    Parameters
    ----------
    row
        Their numbers among the restrictions, shape (t,).
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

    row: Array
    direction: Array
    scale: Array
    limit: Array
    matrix: sp.csr_array
    offset: Array
    binary: Array
    value: Array
    box: Box

    def pick(self, some: Array) -> Behind:
        """Some of them, by their numbers."""
        width = self.offset.shape[1]
        return Behind(
            self.row[some],
            self.direction[some],
            self.scale[some],
            self.limit[some],
            sp.csr_array(self.matrix[(some[:, None] * width + np.arange(width)).reshape(-1)]),
            self.offset[some],
            self.binary[some],
            self.value[some],
            Box(self.box.lb[some], self.box.ub[some]),
        )


def may_have_windows(embedded: EmbeddedProgram, measured: MeasuredNetwork) -> bool:
    """Whether a row behind a binary has a prediction of this network, and few of its inputs depend on columns at all."""
    row = measured.terms.measurement - 1
    moving = measured.spread(np.diff(measured.maps.indptr) > 0).sum(axis=1)
    return bool((embedded.restrictions.indicator[row[row >= 0]] >= 0).any() and moving.min() <= MAX_MOVING)


def find_behind(embedded: EmbeddedProgram, measured: MeasuredNetwork, bounds: ConditionalBounds) -> Behind:
    """The rows of a network whose inputs have bounds, few of which move."""
    terms, restrictions = measured.terms, embedded.restrictions
    size = restrictions.num_restrictions + 1
    num_terms = np.sum([np.bincount(m.terms.measurement, minlength=size) for m in embedded.networks], axis=0)
    is_behind = np.concatenate([[False], restrictions.indicator >= 0]) & (num_terms == 1)
    term = np.flatnonzero(is_behind[terms.measurement])
    row, blocks = terms.measurement[term] - 1, terms.block[term]
    binary, value = restrictions.indicator[row], restrictions.indicator_value[row]
    # linear @ w + scale * direction'f <= rhs, so what is left for the network is largest where linear @ w is least.
    limit = restrictions.rhs[row] - _ranges(restrictions.linear[row], np.arange(row.size), binary, value, bounds).lb
    matrix = sp.csr_array(measured.maps[measured.rows_of(measured.map_of[blocks]).reshape(-1)])
    of = np.repeat(np.arange(row.size), measured.network.num_inputs)
    inside = _ranges(matrix, of, binary, value, bounds)
    box = Box(*(measured.spread(side) + measured.offset[blocks] for side in inside))
    behind = Behind(row, terms.direction[term], terms.scale[term], limit, matrix, measured.offset[blocks], binary, value, box)
    moving = (box.ub > box.lb).sum(axis=1)
    finite = np.isfinite(limit) & np.isfinite(box.lb).all(axis=1) & np.isfinite(box.ub).all(axis=1)
    return behind.pick(np.flatnonzero(finite & (moving > 0) & (moving <= MAX_MOVING)))


def _ranges(matrix: sp.csr_array, of: Array, binary: Array, value: Array, bounds: ConditionalBounds) -> Box:
    """Bounds of matrix @ w, row by row, while the binary with the number `of` each row has its value."""
    row = row_numbers(matrix)
    box = bounds.at(matrix.indices, binary[of[row]], value[of[row]])
    used = matrix.data != 0.0
    one, other = (matrix.data * box.lb)[used], (matrix.data * box.ub)[used]
    low, high = (np.bincount(row[used], pick(one, other), minlength=matrix.shape[0]) for pick in (np.minimum, np.maximum))
    return Box(low, high)


def add_switched_rows(
    embedded: EmbeddedProgram, matrix: sp.csr_array, rhs: Array, binary: Array, value: Array, bounds: ConditionalBounds
) -> EmbeddedProgram:
    """The problem with rows matrix @ w <= rhs of the host that hold while binaries have values, with the least M that bounds allow."""
    excess = _ranges(matrix, np.arange(rhs.size), binary, 1 - value, bounds).ub - rhs
    known = np.flatnonzero(np.isfinite(excess))
    rows, row_ub = switch(matrix[known], rhs[known], binary[known], value[known], excess[known])
    return replace(embedded, host=add_rows(embedded.host, rows, np.full(row_ub.size, -np.inf), row_ub))
