"""The model of the tangent steps: the largest of the last few tangents.

One tangent knows one side of a kink and promises what the other side does not keep; the largest of the tangents at the last points knows
both. Where a network curves downwards an earlier tangent may lie above it: it is lowered to the value at the current point, so
that the model is exact there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.epigraph import Epigraph, no_epigraph
from dcembed.embedded.measurements import num_measurements
from dcembed.engine.cuts import CutPool, empty_pool
from dcembed.engine.subproblem import Majorant
from dcembed.sparse import above, nonzero_rows

# Earlier tangents that the model keeps. Three are as good as twelve.
NUM_TANGENTS = 3
# With more measurements than this the current tangents are all there is: the master would no longer have the size of the host.
MAX_MEASUREMENTS = 200


def build_excess(embedded: EmbeddedProgram) -> Epigraph:
    """One column per measurement: by how much the model lies above the current tangent."""
    size, empty = num_measurements(embedded), np.zeros(0)
    if size > MAX_MEASUREMENTS:
        return no_epigraph(embedded)
    on_host = sp.csr_array((0, embedded.host.num_columns))
    return Epigraph(np.zeros(size), on_host, sp.csr_array((0, size)), empty, sp.csr_array(sp.eye_array(size)))


def remember(earlier: Sequence[Majorant], tangents: Majorant) -> tuple[Majorant, ...]:
    """The last few tangents."""
    return (*earlier, tangents)[-NUM_TANGENTS:]


def excess_cuts(earlier: Sequence[Majorant], current: Majorant, w: Array, num_made: int) -> CutPool:
    """How far the earlier tangents lie above the current ones at w, as cuts."""
    size, n = current.slope.shape
    if not earlier or size > MAX_MEASUREMENTS:
        return empty_pool(n, num_made)
    slope = reduce(above, [sp.csr_array(tangents.slope - current.slope) for tangents in earlier])
    constant = np.concatenate([tangents.constant - current.constant for tangents in earlier])
    constant -= np.maximum(slope @ w + constant, 0.0)
    telling = nonzero_rows(slope)
    numbers = num_made + np.arange(telling.size)
    age = np.zeros(telling.size, dtype=np.int64)
    return CutPool(telling % size, slope[telling], constant[telling], age, numbers, num_made + telling.size)
