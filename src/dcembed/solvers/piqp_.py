"""PIQP for convex quadratic programs.

PIQP has neither a time limit nor a way to be interrupted, and holds Python's lock while it works. Small problems are over
before anyone could mind; larger ones run in a process of their own that can be ended.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np
import piqp
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.program.derive import derive
from dcembed.program.program import Program
from dcembed.solvers.base import Limits, SessionOptions, Solution, SolveStatus, calling
from dcembed.solvers.diagnosis import diagnose
from dcembed.solvers.edited_program import EditedProgram
from dcembed.solvers.remote import RemoteSolver

# Up to this many columns and rows together a solve takes well under a second.
IN_PROCESS_SIZE = 2500
# Dense factorizations are used up to this many columns if at least this share of all entries is nonzero.
DENSE_COLUMNS, DENSE_SHARE = 600, 0.1

_STATUS = {
    piqp.PIQP_SOLVED: SolveStatus.OPTIMAL,
    piqp.PIQP_PRIMAL_INFEASIBLE: SolveStatus.INFEASIBLE,
    piqp.PIQP_DUAL_INFEASIBLE: SolveStatus.UNBOUNDED,
}


class PiqpSession(EditedProgram):
    """A convex quadratic program; its matrices are kept here and handed to PIQP at each solve."""

    def __init__(self, program: Program, options: SessionOptions) -> None:
        super().__init__(program)
        self._settings = _check_settings(options.solver_options)
        self._remote: RemoteSolver | None = None
        self._dense_head: Array | None = None

    def solve(self, limits: Limits, start: Array | None = None, relax: bool = False) -> Solution:
        deadline = time.monotonic() + limits.seconds
        solution = self._run(limits)
        if solution.status is SolveStatus.FAILED:
            shown = diagnose(self._current(), replace(limits, seconds=deadline - time.monotonic()))
            return Solution(shown, None, f"{solution.message}, {shown.value}") if shown else solution
        return solution

    def _run(self, limits: Limits) -> Solution:
        deadline = time.monotonic() + limits.seconds
        problem = self._problem()
        if self._row_lb.size + self._cost.size <= IN_PROCESS_SIZE:
            with calling("PIQP"):
                found = run_piqp(problem, self._settings)
            return self._solution(found)
        if self._remote is None:
            self._remote = RemoteSolver("dcembed.solvers.piqp_worker")
        settings = {f"setting.{name}": np.array(value) for name, value in self._settings.items()}
        with calling("PIQP"):
            answer = self._remote.ask(problem | settings, replace(limits, seconds=deadline - time.monotonic()))
        if answer is None:
            return Solution(SolveStatus.INTERRUPTED if limits.interrupted() else SolveStatus.TIME_LIMIT, None, "PIQP was ended")
        if "status" not in answer:
            return Solution(SolveStatus.FAILED, None, "the PIQP process died")
        return self._solution(answer)

    def close(self) -> None:
        if self._remote is not None:
            self._remote.close()
            self._remote = None

    def _solution(self, answer: dict[str, Array]) -> Solution:
        name, x = str(answer["status"]), answer["x"]
        status = _STATUS.get(getattr(piqp, name), SolveStatus.FAILED)
        usable = status in (SolveStatus.OPTIMAL, SolveStatus.FAILED) and bool(np.isfinite(x).all())
        duals = np.zeros(self._row_lb.size)
        equal, bounded = self._kinds()
        duals[equal], duals[bounded] = answer["y"], answer["z"]
        return Solution(status, x if usable else None, name, duals=duals if status is SolveStatus.OPTIMAL else None)

    def _kinds(self) -> tuple[Array, Array]:
        """Which rows are equalities, and which are other rows with a side."""
        equal = self._row_lb == self._row_ub
        return equal, ~equal & (np.isfinite(self._row_lb) | np.isfinite(self._row_ub))

    def _current(self) -> Program:
        rows = {"rows": self._rows, "row_lb": self._row_lb, "row_ub": self._row_ub, "row_names": None}
        return derive(self._program, cost=self._cost, lb=self._lb, ub=self._ub, **rows)

    def _problem(self) -> dict[str, Array]:
        """The arrays of min 1/2 x'Px + c'x, Ax = b, h_l <= Gx <= h_u, x_l <= x <= x_u."""
        equal, bounded = self._kinds()
        vectors = {
            "c": self._cost,
            "b": self._row_lb[equal],
            "h_l": self._row_lb[bounded],
            "h_u": self._row_ub[bounded],
            "x_l": self._lb,
            "x_u": self._ub,
        }
        return vectors | (self._dense_matrices(equal, bounded) if self._is_dense() else self._sparse_matrices(equal, bounded))

    def _is_dense(self) -> bool:
        """Whether dense factorizations are quicker: measured on 210 columns and 200 to 1000 rows, by a factor of two."""
        n, m = self._cost.size, self._row_lb.size
        nnz = self._quadratic.nnz + self._head.nnz + self._tail.nnz
        return n <= DENSE_COLUMNS and nnz > DENSE_SHARE * n * (n + m) and "kkt_solver" not in self._settings

    def _sparse_matrices(self, equal: Array, bounded: Array) -> dict[str, Array]:
        rows = self._rows
        return {**_pack("P", self._quadratic), **_pack("A", sp.csc_array(rows[equal])), **_pack("G", sp.csc_array(rows[bounded]))}

    def _dense_matrices(self, equal: Array, bounded: Array) -> dict[str, Array]:
        if self._dense_head is None or self._dense_head.shape[0] != self._head.shape[0]:
            self._dense_head = self._head.toarray()
        rows = np.concatenate([self._dense_head, self._tail.toarray()])
        return {"P": self._dense_quadratic, "A": np.asfortranarray(rows[equal]), "G": np.asfortranarray(rows[bounded])}

    @cached_property
    def _quadratic(self) -> sp.csc_array:
        size = self._cost.size
        return sp.csc_array(self._program.quadratic if self._program.quadratic is not None else (size, size))

    @cached_property
    def _dense_quadratic(self) -> Array:
        dense: Array = self._quadratic.toarray(order="F")
        return dense


def run_piqp(problem: dict[str, Array], settings: dict[str, object]) -> dict[str, Array]:
    """Solve the arrays of `PiqpSession._problem`: PIQP's status name, its point, and the multipliers of equalities and other rows."""
    names = ("c", "b", "h_l", "h_u", "x_l", "x_u")
    dense = "P" in problem
    matrices = {name: problem[name] if dense else _unpack(name, problem) for name in ("P", "A", "G")}
    solver = piqp.DenseSolver() if dense else piqp.SparseSolver()
    for name, value in settings.items():
        setattr(solver.settings, name, value)
    solver.setup(**matrices, **{name: problem[name] for name in names})
    status = solver.solve()
    found = solver.result
    # What PIQP returns are views into the solver.
    return {"status": np.array(status.name), "x": np.array(found.x), "y": np.array(found.y), "z": np.array(found.z_u) - np.array(found.z_l)}


def _check_settings(options: Mapping[str, object]) -> dict[str, object]:
    settings = piqp.SparseSolver().settings
    known = [name for name in dir(settings) if not name.startswith("_")]
    for name, value in options.items():
        if name not in known:
            raise InputError(f"Options: solver_options has {name!r}, which PIQP does not take. Accepted: {', '.join(known)}.")
        try:
            setattr(settings, name, value)
        except TypeError:
            accepted = type(getattr(settings, name)).__name__
            message = f"Options: solver_options has {name}={value!r}, which PIQP does not take. Give a value of type {accepted}."
            raise InputError(message) from None
    return dict(options)


def _pack(name: str, matrix: sp.csc_array) -> dict[str, Array]:
    return {
        f"{name}.data": matrix.data,
        f"{name}.indices": matrix.indices,
        f"{name}.indptr": matrix.indptr,
        f"{name}.shape": np.array(matrix.shape),
    }


def _unpack(name: str, arrays: dict[str, Array]) -> sp.csc_matrix:
    parts = (arrays[f"{name}.data"], arrays[f"{name}.indices"], arrays[f"{name}.indptr"])
    return sp.csc_matrix(parts, shape=tuple(arrays[f"{name}.shape"]))
