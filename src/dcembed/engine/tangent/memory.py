"""The model of the tangent steps: the largest of the last few tangents.

One tangent knows one side of a kink and promises what the other side does not keep; the largest of the tangents at the last points knows
both. Where a network curves downwards an earlier tangent may lie above it: it is lowered to the value at the current point, so
that the model is exact there.

An earlier tangent of a restriction is one more row on the same slack. Only the objective needs a column of its own for the largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import cast

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.copies import replace
from dcembed.embedded.embedded_program import EmbeddedProgram, Restrictions
from dcembed.embedded.epigraph import Epigraph
from dcembed.engine.cuts import CutPool
from dcembed.engine.subproblem import Majorant
from dcembed.program.tightening import Box
from dcembed.sparse import above, add, empty_rows, from_entries, largest_values, repeat, subtract, take_rows

# Earlier tangents that the model keeps. Two are as good as twelve.
NUM_TANGENTS = 2
# With more restrictions than this the current tangents are all there is: the master would no longer have the size of the host.
MAX_RESTRICTIONS = 200


@dataclass(frozen=True, eq=False)
class TangentModel:
    """The tangents at the current point, and rows of the master that earlier ones are.

    Parameters
    ----------
    current
        The tangents at the current point.
    measurement
        What each row is an earlier tangent of, shape (r,).
    slope, constant
        slope @ w + constant is at most the excess of the objective or the slack of the restriction; shapes (r, n) and (r,).
    """

    current: Majorant
    measurement: Array
    slope: sp.csr_array
    constant: Array

    def shifted(self, shift: Array) -> TangentModel:
        """The model with so much added to each restriction; the first of `shift`, that of the objective, is zero."""
        current = replace(self.current, constant=self.current.constant + shift)
        return replace(self, current=current, constant=self.constant + shift[self.measurement])


def build_excess(embedded: EmbeddedProgram) -> Epigraph:
    """One column: by how much the model of the objective lies above the current tangent. It follows from the structure alone."""
    if (known := embedded.drawer.get(build_excess)) is not None:
        return cast(Epigraph, known)
    size, empty = embedded.restrictions.num_restrictions + 1, np.zeros(0)
    kept = from_entries(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), np.ones(1), (size, 1))
    excess = Epigraph(np.zeros(1), empty_rows(0, embedded.host.num_columns), empty_rows(0, 1), empty, kept)
    embedded.drawer[build_excess] = excess
    return excess


def remember(earlier: Sequence[Majorant], tangents: Majorant) -> tuple[Majorant, ...]:
    """The last few tangents."""
    return (*earlier, tangents)[-NUM_TANGENTS:]


def build_model(earlier: Sequence[Majorant], current: Majorant, restrictions: Restrictions, w: Array, box: Box) -> TangentModel:
    """The model around w: the current tangents, and what lies above them somewhere in the box."""
    size, n = current.slope.shape
    if not earlier or size > MAX_RESTRICTIONS + 1 or not _can_tell(earlier, current, restrictions):
        return TangentModel(current, np.zeros(0, dtype=np.int64), empty_rows(0, n), np.zeros(0))
    number = len(earlier)
    slope, constant = reduce(above, [old.slope for old in earlier]), np.concatenate([old.constant for old in earlier])
    rise, height = subtract(slope, repeat(current.slope, number)), constant - np.tile(current.constant, number)
    lowered = np.maximum(rise @ w + height, 0.0)
    # An equality holds a network from both sides: two tangents of it would leave but the points where they meet.
    one_sided = np.ones(size, dtype=bool)
    one_sided[1 + np.concatenate(restrictions.sides)] = False
    telling = np.flatnonzero((largest_values(rise, *box) + height - lowered > 0.0) & np.tile(one_sided, number))
    measurement = telling % size
    of_objective, of_restriction = telling[measurement == 0], telling[measurement > 0]
    linear = repeat(above(empty_rows(1, n), restrictions.linear), number)
    rows = above(take_rows(rise, of_objective), take_rows(add(slope, linear), of_restriction))
    at = np.concatenate([of_objective, of_restriction])
    rhs = np.concatenate([current.constant[:1], restrictions.rhs])
    return TangentModel(current, at % size, rows, (constant - lowered)[at] - rhs[at % size])


def _can_tell(earlier: Sequence[Majorant], current: Majorant, restrictions: Restrictions) -> bool:
    """Whether something is measured of which several tangents may be used: an objective with networks, or a restriction that is no equality."""
    if 2 * restrictions.sides[0].size < restrictions.num_restrictions:
        return True
    return any(tangents.slope.indptr[1] > 0 for tangents in (*earlier, current))


def earlier_rows(model: TangentModel, restrictions: Restrictions, box: Box, num_made: int) -> CutPool:
    """The earlier tangents as rows of the master, apart from those that keep their limit in the whole box."""
    if model.measurement.size == 0:
        return CutPool(model.measurement, model.slope, model.constant, model.measurement, model.measurement, num_made)
    telling = np.flatnonzero(largest_values(model.slope, *box) + model.constant > 0.0)
    # Columns beside the host: the excess of the objective, then the slacks.
    column = np.concatenate([[0], 1 + restrictions.slack])[model.measurement[telling]]
    numbers, age = num_made + np.arange(telling.size), np.zeros(telling.size, dtype=np.int64)
    return CutPool(column, take_rows(model.slope, telling), model.constant[telling], age, numbers, num_made + telling.size)
