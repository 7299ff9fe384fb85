"""Clarabel for second-order cones, quadratic constraints and convex quadratic programs.

The matrices are kept here and handed to Clarabel at each solve. It asks a callback at each iteration whether to go on, so it hears
Ctrl-C and the clock without a thread.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import clarabel
import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.program.program import Program
from dcembed.solvers.base import Limits, SessionOptions, Solution, SolveStatus, calling, told_bound
from dcembed.solvers.edited_program import EditedProgram

_STATUS = {
    "Solved": SolveStatus.OPTIMAL,
    "AlmostSolved": SolveStatus.FEASIBLE,
    "PrimalInfeasible": SolveStatus.INFEASIBLE,
    "AlmostPrimalInfeasible": SolveStatus.INFEASIBLE,
    "DualInfeasible": SolveStatus.UNBOUNDED,
    "AlmostDualInfeasible": SolveStatus.UNBOUNDED,
    "MaxTime": SolveStatus.TIME_LIMIT,
    "CallbackTerminated": SolveStatus.INTERRUPTED,
}
# The statuses whose point is worth a look.
_WITH_POINT = (SolveStatus.OPTIMAL, SolveStatus.FEASIBLE, SolveStatus.FAILED)


class ClarabelSession(EditedProgram):
    """A convex program without integers."""

    def __init__(self, program: Program, options: SessionOptions) -> None:
        super().__init__(program)
        self._settings = {"verbose": False, "max_threads": options.num_threads, **_check_settings(options.solver_options)}
        # The curved constraints are never edited, so neither are their cones.
        self._cones = program.convex_rows

    def solve(self, limits: Limits, start: Array | None = None, relax: bool = False) -> Solution:
        deadline = time.monotonic() + limits.seconds
        solution = self._run(limits, self._cost, self._program.quadratic)
        if solution.status is SolveStatus.UNBOUNDED:
            # A ray that improves forever says nothing about whether there is a point.
            rest = replace(limits, seconds=deadline - time.monotonic())
            feasible = self._run(rest, np.zeros(self._cost.size), None)
            status = SolveStatus.UNBOUNDED if feasible.x is not None else feasible.status
            return Solution(status, None, f"{solution.message}, {status.value}")
        return solution

    def close(self) -> None:
        """Nothing is held between solves."""

    def _run(self, limits: Limits, cost: Array, quadratic: sp.csr_array | None) -> Solution:
        if limits.seconds <= 0:
            return Solution(SolveStatus.TIME_LIMIT, None, "MaxTime")
        settings = clarabel.DefaultSettings()
        for name, value in self._settings.items():
            setattr(settings, name, value)
        if np.isfinite(limits.seconds):
            settings.time_limit = min(settings.time_limit, limits.seconds)
        matrix, rhs, cones = self._conic_form()
        upper = sp.csc_matrix(sp.triu(quadratic)) if quadratic is not None else sp.csc_matrix((cost.size, cost.size))
        with calling("Clarabel"):
            solver = clarabel.DefaultSolver(upper, cost, matrix, rhs, cones, settings)
            solver.set_termination_callback(lambda info: limits.interrupted())
            answer = solver.solve()
        return self._solution(answer)

    def _solution(self, answer: Any) -> Solution:
        message = str(answer.status)
        status = _STATUS.get(message, SolveStatus.FAILED)
        x = np.array(answer.x)
        usable = status in _WITH_POINT and bool(np.isfinite(x).all())
        if not usable:
            return Solution(status, None, message)
        bound = told_bound(answer.obj_val_dual + self._offset) if status is SolveStatus.OPTIMAL else -np.inf
        return Solution(status, x, message, duals=self._duals(np.array(answer.z)), bound=bound)

    def _duals(self, z: Array) -> Array:
        """Multipliers of the rows out of those of the conic form."""
        equal, upper, lower = self._sides()
        total = np.zeros(self._row_lb.size + self._lb.size)
        on_equal, on_upper, on_lower, _ = np.split(z, np.cumsum([equal.size, upper.size, lower.size]))
        total[equal], total[upper] = on_equal, on_upper
        total[lower] -= on_lower
        return total[: self._row_lb.size]

    def _sides(self) -> tuple[Array, Array, Array]:
        """Equalities, upper and lower sides among the rows followed by the columns."""
        lb, ub = np.concatenate([self._row_lb, self._lb]), np.concatenate([self._row_ub, self._ub])
        return np.flatnonzero(lb == ub), np.flatnonzero(np.isfinite(ub) & (lb != ub)), np.flatnonzero(np.isfinite(lb) & (lb != ub))

    def _conic_form(self) -> tuple[sp.csc_matrix, Array, list[Any]]:
        """A, b and K of Ax + s = b, s in K: equalities, inequalities, cones."""
        unit = sp.eye_array(self._cost.size, format="csr")
        rows = sp.csr_array(sp.vstack([self._rows, unit]))
        lb, ub = np.concatenate([self._row_lb, self._lb]), np.concatenate([self._row_ub, self._ub])
        equal, upper, lower = self._sides()
        matrix = sp.vstack([rows[equal], rows[upper], -rows[lower], -self._cones.matrix])
        rhs = np.concatenate([ub[equal], ub[upper], -lb[lower], self._cones.offset])
        kinds = [clarabel.ZeroConeT(equal.size)] if equal.size else []
        kinds += [clarabel.NonnegativeConeT(upper.size + lower.size)] if upper.size + lower.size else []
        kinds += [clarabel.SecondOrderConeT(int(size)) for size in self._cones.sizes]
        return sp.csc_matrix(matrix), rhs, kinds


def _check_settings(options: Mapping[str, object]) -> dict[str, object]:
    settings = clarabel.DefaultSettings()
    known = [name for name in dir(settings) if not name.startswith("_") and name != "default"]
    for name, value in options.items():
        if name not in known:
            raise InputError(f"Options: solver_options has {name!r}, which Clarabel does not take. Accepted: {', '.join(known)}.")
        try:
            setattr(settings, name, value)
        except (TypeError, ValueError, OverflowError):
            accepted = type(getattr(settings, name)).__name__
            message = f"Options: solver_options has {name}={value!r}, which Clarabel does not take. Give a value of type {accepted}."
            raise InputError(message) from None
    return dict(options)
