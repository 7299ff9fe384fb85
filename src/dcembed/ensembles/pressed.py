"""Which columns the host presses down or up: lowering, or raising, them can never hurt.

    minimize t  subject to  t >= f_1(x), ..., t >= f_M(x)      is      minimize max(f_1(x), ..., f_M(x))

only because a t that is too large gains nothing. A column that is pressed down may stand for anything that rows keep it above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedding import AffineInputs, Embedding
from dcembed.program.program import Program
from dcembed.sparse import row_numbers


@dataclass(frozen=True, eq=False)
class Pressed:
    """Masks over the columns, shape (n,)."""

    down: Array
    up: Array


def find_pressed(program: Program, embeddings: Sequence[Embedding]) -> Pressed:
    """The columns that the host presses down, and those that it presses up; one that nothing uses is both.

    A column is pressed down if its cost is not negative (where the objective is minimized), if no row, indicator or bound keeps it from
    falling, and if nothing else looks at it: it is no integer, and neither in a quadratic, nor in a cone, nor an input of a network, nor the
    prediction of two.

    Examples
    --------
    Minimize w_0 with w_1 <= 3 and w_2 >= 1:

    >>> pressed = find_pressed(Program(cost=[1.0, 0.0, 0.0], rows=[[0, 1.0, 0], [0, 0, 1.0]], row_lb=[-np.inf, 1.0], row_ub=[3.0, np.inf]), [])
    >>> pressed.down, pressed.up
    (array([ True,  True, False]), array([False, False,  True]))
    """
    cost = program.sense * program.cost
    indicators = program.indicator_rows
    plain = ~_has_other_uses(program, embeddings)
    falls = [_held(program.rows, program.row_lb, program.row_ub), _held(indicators.matrix, indicators.lb, indicators.ub)]
    rises = [_held(program.rows, -program.row_ub, -program.row_lb), _held(indicators.matrix, -indicators.ub, -indicators.lb)]
    return Pressed(
        down=plain & (cost >= 0) & np.isneginf(program.lb) & ~np.logical_or(*falls),
        up=plain & (cost <= 0) & np.isposinf(program.ub) & ~np.logical_or(*rises),
    )


def _held(rows: sp.csr_array, lb: Array, ub: Array) -> Array:
    """Mask of the columns that some row keeps from falling: it would leave its range below, or above where the coefficient is negative."""
    number = row_numbers(rows)
    hurts = ((rows.data > 0) & np.isfinite(lb[number])) | ((rows.data < 0) & np.isfinite(ub[number]))
    held = np.zeros(rows.shape[1], dtype=bool)
    held[rows.indices[hurts]] = True
    return held


def _has_other_uses(program: Program, embeddings: Sequence[Embedding]) -> Array:
    """Mask of the columns of which more than the value in linear rows matters."""
    used: Array = program.integer | program.curved_columns
    times_predicted = np.zeros(program.num_columns, dtype=np.int64)
    for embedding in embeddings:
        inputs = embedding.inputs
        used[inputs.coefficients.indices if isinstance(inputs, AffineInputs) else inputs.reshape(-1)] = True
        np.add.at(times_predicted, embedding.outputs.reshape(-1), 1)
    return used | (times_predicted > 1)
