"""CVXPY's canonical form: its own canonicalization, for a solver that takes what dcembed takes and only keeps the matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from cvxpy.constraints import SOC
from cvxpy.error import SolverError
from cvxpy.reductions.solution import Solution
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver

from dcembed.arrays import Array
from dcembed.frontends.cvxpy_prediction import METHOD


class Matrices(ConicSolver):  # type: ignore[misc]  # CVXPY has no types
    """What dcembed takes, told to CVXPY as a solver; its data are the matrices, and a point is all it is inverted from."""

    MIP_CAPABLE = True
    BOUNDED_VARIABLES = True
    SUPPORTED_CONSTRAINTS = [*ConicSolver.SUPPORTED_CONSTRAINTS, SOC]  # noqa: RUF012
    MI_SUPPORTED_CONSTRAINTS = SUPPORTED_CONSTRAINTS

    def name(self) -> str:
        """What CVXPY calls the solver."""
        return "DCEMBED"

    def import_solver(self) -> None:
        """Nothing is needed."""

    def cite(self, data: Any) -> str:
        """Nothing is to be cited."""
        return ""

    def supports_quad_obj(self) -> bool:
        """A quadratic objective stays one."""
        return True

    def apply(self, problem: Any) -> tuple[dict[str, Any], Any]:
        """The matrices, with the integers and the constant of the objective beside them."""
        data, inverse_data = super().apply(problem)
        data["integer"] = np.array([index[0] for index in problem.x.integer_idx], dtype=np.int64)
        data["boolean"] = np.array([index[0] for index in problem.x.boolean_idx], dtype=np.int64)
        data["offset"] = inverse_data["offset"]
        return data, inverse_data

    def invert(self, solution: Array, inverse_data: Any) -> Solution:
        """A point, as the solution that the reductions before this one are inverted from."""
        return Solution("optimal", 0.0, {inverse_data[self.VAR_ID]: solution}, {}, {})

    def solve_via_data(self, data: Any, warm_start: bool, verbose: bool, solver_opts: Any, solver_cache: Any = None) -> Any:
        """Nothing is solved here."""
        raise SolverError(f'Solve with problem.solve(method="{METHOD}").')
