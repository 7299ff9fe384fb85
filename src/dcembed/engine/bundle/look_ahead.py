"""Looking ahead along integers.

At an integer point the tangent of H knows only the slope; far away, where the other integer points are, H is higher. Once the
tangent model promises nothing, the slope along each integer is replaced by what a step of one really changes. That is no bound, so
a candidate found with it must prove itself, but it sees over ridges that stop the procedure. A binary has one step; where other
integers are, the model looks up first and down next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measurements import Tangents
from dcembed.embedded.points import concave_heights
from dcembed.engine.bundle.global_split import GlobalSplit
from dcembed.engine.bundle.local_split import LocalSplit
from dcembed.program.tightening import Box

# Each step costs an evaluation of all networks.
MAX_STEPS = 64


def step_columns(embedded: EmbeddedProgram) -> Array:
    """Integer columns that network inputs depend on; none if they are too many to try each."""
    columns = embedded.input_columns
    integer = columns[embedded.host.integer[columns]]
    return integer if integer.size <= MAX_STEPS else integer[:0]


def num_looks(embedded: EmbeddedProgram, columns: Array) -> int:
    """How many ways there are to look: one if all columns are binary, two if some have a step on either side."""
    if columns.size == 0:
        return 0
    return 1 if np.all(embedded.host.ub[columns] - embedded.host.lb[columns] <= 1) else 2


def look_ahead(split: GlobalSplit | LocalSplit, w: Array, columns: Array, box: Box, side: float, is_over: Callable[[], bool]) -> Tangents:
    """The tangents of H at w with the slope along each of `columns` replaced by the change that a step to `side` makes.

    Each step takes an evaluation of all networks; none is begun once `is_over()`.
    """
    tangents = split.tangents(w)
    height = tangents.slope @ w + tangents.constant
    slope = sp.lil_array(tangents.slope)
    steps = [(int(column), step) for column in columns if (step := _step(w, int(column), box, side))]
    moved = np.tile(w, (len(steps), 1))
    for row, (column, step) in zip(moved, steps, strict=True):
        row[column] += step
    # Where the time is over some heights are missing.
    for (column, step), other in zip(steps, _heights(split, moved, is_over), strict=False):
        slope[:, [column]] = ((other - height) / step)[:, None]
    rows = sp.csr_array(slope)
    return Tangents(rows, height - rows @ w)


def _step(w: Array, column: int, box: Box, side: float) -> float:
    """A step of one to `side` inside the box, else to the other side; 0 where there is none."""
    inside = (step for step in (side, -side) if box.lb[column] <= w[column] + step <= box.ub[column])
    return next(inside, 0.0)


def _heights(split: GlobalSplit | LocalSplit, moved: Array, is_over: Callable[[], bool]) -> Iterator[Array]:
    """The components H at each point, shape (s + 1,), while there is time: all at once where that costs no passes over evaluations."""
    if isinstance(split, GlobalSplit) and split.is_collapsed:
        yield from concave_heights(split.embedded, moved)
        return
    for w in moved:
        if is_over():
            return
        tangents = split.tangents(w)
        yield tangents.slope @ w + tangents.constant
