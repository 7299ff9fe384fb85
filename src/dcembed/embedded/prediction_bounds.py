"""What the networks say about the columns of their predictions: a column that stays in the host has at most the range of its network.

A host may square such a column or multiply it by others; without an end to it, a solver has no bound to begin with.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.unit_bounds import column_box
from dcembed.program.derive import derive
from dcembed.program.program import Program
from dcembed.program.tightening import SAFETY


def bound_predictions(program: Program, embeddings: Sequence[Embedding], columns: Array) -> Program:
    """The program with the ranges of the networks as bounds of these prediction columns, where those have no end of their own."""
    endless = columns[np.isinf(program.lb[columns]) | np.isinf(program.ub[columns])]
    if endless.size == 0:
        return program
    low, high = column_box(program, [embedding for embedding in embeddings if np.isin(embedding.outputs, columns).any()])
    lb, ub = program.lb.copy(), program.ub.copy()
    # Rounding never cuts a prediction off.
    lb[endless] = np.maximum(lb[endless], low[endless] - SAFETY * (1.0 + np.abs(low[endless])))
    ub[endless] = np.minimum(ub[endless], high[endless] + SAFETY * (1.0 + np.abs(high[endless])))
    return derive(program, lb=lb, ub=ub)
