"""A program whose parts are replaced one by one, for solvers that take a whole problem at each solve."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.program.derive import derive
from dcembed.program.program import Program
from dcembed.sparse import Above, plan_above, rows_from, rows_to


class EditedProgram:
    """The editing half of a session; a backend adds `solve`."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._cost, self._offset = program.cost, program.offset
        self._lb, self._ub = program.lb, program.ub
        # Rows before the first that is ever replaced, and those from there on.
        self._head, self._tail = program.rows, rows_from(program.rows, program.num_rows)
        self._row_lb, self._row_ub = program.row_lb, program.row_ub
        # Both together, as soon as they are asked for, and where their entries are.
        self._whole: sp.csr_array | None = None
        self._places: Above | None = None

    @property
    def _rows(self) -> sp.csr_array:
        if self._whole is None:
            if self._places is None or not self._places.fits(self._head, self._tail):
                self._places = plan_above(self._head, self._tail)
            self._whole = self._places.join(self._head, self._tail)
        return self._whole

    def set_cost(self, cost: Array, offset: float) -> None:
        """Replace the linear objective and its constant."""
        self._cost, self._offset = cost, offset

    def set_quadratic(self, quadratic: sp.csr_array) -> None:
        """Replace the matrix of the quadratic objective."""
        self._program = derive(self._program, quadratic=quadratic)

    def set_bounds(self, lb: Array, ub: Array) -> None:
        """Replace the bounds of all columns."""
        self._lb, self._ub = lb, ub

    def replace_rows(self, first: int, matrix: sp.csr_array, lb: Array, ub: Array, origin: Array | None = None) -> None:
        """Replace the rows from number `first`, which is the same at every call, to the last."""
        if self._head.shape[0] != first:
            self._head = rows_to(self._program.rows, first)
        self._tail, self._whole = matrix, None
        self._row_lb = np.concatenate([self._row_lb[:first], lb])
        self._row_ub = np.concatenate([self._row_ub[:first], ub])
