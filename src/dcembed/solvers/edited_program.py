"""A program whose parts are replaced one by one, for solvers that take a whole problem at each solve."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.program.program import Program


class EditedProgram:
    """The editing half of a session; a backend adds `solve`."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._cost, self._offset = program.cost, program.offset
        self._lb, self._ub = program.lb, program.ub
        self._rows, self._row_lb, self._row_ub = program.rows, program.row_lb, program.row_ub

    def set_cost(self, cost: Array, offset: float) -> None:
        """Replace the linear objective and its constant."""
        self._cost, self._offset = cost, offset

    def set_bounds(self, lb: Array, ub: Array) -> None:
        """Replace the bounds of all columns."""
        self._lb, self._ub = lb, ub

    def replace_rows(self, first: int, matrix: sp.csr_array, lb: Array, ub: Array, origin: Array | None = None) -> None:
        """Replace the rows from number `first` to the last."""
        self._rows = sp.vstack([self._rows[:first], matrix], format="csr")
        self._row_lb = np.concatenate([self._row_lb[:first], lb])
        self._row_ub = np.concatenate([self._row_ub[:first], ub])
