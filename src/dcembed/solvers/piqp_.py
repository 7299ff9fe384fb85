"""PIQP for convex quadratic programs.

PIQP has neither a time limit nor a way to be interrupted, and holds Python's lock while it works. Small problems are over
before anyone could mind; larger ones belong into a process of their own that can be ended (`work.py`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import piqp
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.program.derive import derive
from dcembed.program.matrices import half_square
from dcembed.program.program import Program
from dcembed.solvers.base import Limits, SessionOptions, Solution, SolveStatus, calling, told_bound
from dcembed.solvers.diagnosis import diagnose
from dcembed.solvers.edited_program import EditedProgram
from dcembed.solvers.work import is_dense
from dcembed.sparse import compressed, empty_rows, take_columns, take_rows, times

# The relative accuracy asked of PIQP, in parts of the absolute one.
RELATIVE = 0.1

_STATUS = {
    piqp.PIQP_SOLVED: SolveStatus.OPTIMAL,
    piqp.PIQP_PRIMAL_INFEASIBLE: SolveStatus.INFEASIBLE,
    piqp.PIQP_DUAL_INFEASIBLE: SolveStatus.UNBOUNDED,
}


@dataclass(frozen=True, eq=False)
class Kinds:
    """Masks of the columns that move, of the equalities, and of the other rows with a side."""

    free: Array
    equal: Array
    bounded: Array


@dataclass(frozen=True, eq=False)
class DenseParts:
    """What stays the same between solves, on the columns that are free."""

    free: Array
    quadratic: Array
    head: Array


@dataclass(frozen=True, eq=False)
class SparseParts:
    """Where the entries of PIQP's matrices come from, as long as the problem has its own in the same places.

    Parameters
    ----------
    quadratic, rows
        Places of the entries of the problem: column numbers and where rows begin.
    kinds
        Of columns and rows.
    parts
        By PIQP's names: numbers of the entries of the quadratic objective (P) or of the rows (A, G) that are in each, column by column.
    shapes
        The matrices, whose entries are written anew: to make one takes longer than to factorize it.
    """

    quadratic: tuple[Array, Array]
    rows: tuple[Array, Array]
    kinds: Kinds
    parts: dict[str, Array]
    shapes: dict[str, sp.csc_matrix]

    def fits(self, quadratic: sp.csr_array, rows: sp.csr_array, kinds: Kinds) -> bool:
        """Whether another problem has everything in the same places."""
        own = (*self.quadratic, *self.rows, self.kinds.free, self.kinds.equal, self.kinds.bounded)
        other = (quadratic.indices, quadratic.indptr, rows.indices, rows.indptr, kinds.free, kinds.equal, kinds.bounded)
        return all(one is another or np.array_equal(one, another) for one, another in zip(own, other, strict=True))

    def matrices(self, quadratic: sp.csr_array, rows: sp.csr_array) -> dict[str, sp.csc_matrix]:
        """The matrices of a problem that fits."""
        data = {"P": quadratic.data, "A": rows.data, "G": rows.data}
        for name, matrix in self.shapes.items():
            matrix.data = data[name][self.parts[name]]
        return self.shapes


def _find_parts(quadratic: sp.csr_array, rows: sp.csr_array, kinds: Kinds) -> SparseParts:
    columns = np.flatnonzero(kinds.free)
    of_objective = take_rows(take_columns(_numbered(quadratic), columns), columns)
    of_rows = take_columns(_numbered(rows), columns)
    equal, bounded = np.flatnonzero(kinds.equal), np.flatnonzero(kinds.bounded)
    chosen = {"P": of_objective, "A": take_rows(of_rows, equal), "G": take_rows(of_rows, bounded)}
    places = (quadratic.indices, quadratic.indptr), (rows.indices, rows.indptr)
    numbered = {name: sp.csc_matrix(part) for name, part in chosen.items()}
    return SparseParts(*places, kinds, {name: part.data for name, part in numbered.items()}, numbered)


def _numbered(matrix: sp.csr_array) -> sp.csr_array:
    """The matrix with the numbers of its entries in their place."""
    return compressed(np.arange(matrix.nnz), matrix.indices, matrix.indptr, matrix.shape)


class PiqpSession(EditedProgram):
    """A convex quadratic program; its matrices are kept here and handed to PIQP at each solve."""

    def __init__(self, program: Program, options: SessionOptions) -> None:
        super().__init__(program)
        self._settings = {"eps_abs": options.accuracy, "eps_rel": RELATIVE * options.accuracy, **_check_settings(options.solver_options)}
        self._dense: DenseParts | None = None
        self._sparse: SparseParts | None = None

    def solve(self, limits: Limits, start: Array | None = None, relax: bool = False) -> Solution:
        deadline = time.monotonic() + limits.seconds
        kinds = self._kinds()
        with calling("PIQP"):
            found = run_piqp(self._problem(kinds), self._settings)
        solution = self._solution(found, kinds)
        if solution.status is SolveStatus.FAILED:
            shown = diagnose(self._current(), replace(limits, seconds=deadline - time.monotonic()))
            return Solution(shown, None, f"{solution.message}, {shown.value}") if shown else solution
        return solution

    def close(self) -> None:
        """Nothing is held between solves."""

    def _solution(self, answer: dict[str, Array], kinds: Kinds) -> Solution:
        name, x = str(answer["status"]), self._lb.copy()
        x[kinds.free] = answer["x"]
        status = _STATUS.get(getattr(piqp, name), SolveStatus.FAILED)
        usable = status in (SolveStatus.OPTIMAL, SolveStatus.FAILED) and bool(np.isfinite(x).all())
        duals = np.zeros(self._row_lb.size)
        duals[kinds.equal], duals[kinds.bounded] = answer["y"], answer["z"]
        if status is not SolveStatus.OPTIMAL:
            return Solution(status, x if usable else None, name)
        return Solution(status, x if usable else None, name, duals=duals, bound=told_bound(float(answer["dual"]) + self._constant(kinds)))

    def _constant(self, kinds: Kinds) -> float:
        """What PIQP is not told of the objective: its constant, and what the columns without room add to it."""
        if kinds.free.all():
            return self._offset
        held = np.where(kinds.free, 0.0, self._lb)
        return self._offset + float(self._cost @ held + half_square(self._quadratic, held))

    def _kinds(self) -> Kinds:
        """Of columns and rows, as they are now."""
        equal = self._row_lb == self._row_ub
        return Kinds(self._free(), equal, ~equal & (np.isfinite(self._row_lb) | np.isfinite(self._row_ub)))

    def _current(self) -> Program:
        rows = {"rows": self._rows, "row_lb": self._row_lb, "row_ub": self._row_ub, "row_names": None}
        return derive(self._program, cost=self._cost, lb=self._lb, ub=self._ub, **rows)

    def _problem(self, kinds: Kinds) -> dict[str, Any]:
        """What PIQP takes for min 1/2 x'Px + c'x, Ax = b, h_l <= Gx <= h_u, x_l <= x <= x_u on the columns that are free."""
        free, equal, bounded = kinds.free, kinds.equal, kinds.bounded
        held = np.where(free, 0.0, self._lb)
        is_shifted = bool(held.any())
        at = times(self._rows, held) if is_shifted else np.zeros(self._row_lb.size)
        vectors = {
            "c": (self._cost + times(self._quadratic, held) if is_shifted else self._cost)[free],
            "b": (self._row_lb - at)[equal],
            "h_l": (self._row_lb - at)[bounded],
            "h_u": (self._row_ub - at)[bounded],
            "x_l": self._lb[free],
            "x_u": self._ub[free],
        }
        return vectors | (self._dense_matrices(kinds) if self._is_dense() else self._sparse_matrices(kinds))

    def _free(self) -> Array:
        """Columns that may move; an interior point has no room in the others. All of them where none may."""
        free = self._lb < self._ub
        return free if free.any() else np.ones(free.size, dtype=bool)

    def _is_dense(self) -> bool:
        nnz = self._quadratic.nnz + self._head.nnz + self._tail.nnz
        return is_dense(self._cost.size, self._row_lb.size, nnz) and "kkt_solver" not in self._settings

    def _sparse_matrices(self, kinds: Kinds) -> dict[str, sp.csc_matrix]:
        quadratic, rows = self._quadratic, self._rows
        if self._sparse is None or not self._sparse.fits(quadratic, rows, kinds):
            self._sparse = _find_parts(quadratic, rows, kinds)
        return self._sparse.matrices(quadratic, rows)

    def _dense_matrices(self, kinds: Kinds) -> dict[str, Array]:
        free = kinds.free
        if self._dense is None or self._dense.head.shape[0] != self._head.shape[0] or not np.array_equal(self._dense.free, free):
            quadratic = self._quadratic.toarray()[np.ix_(free, free)]
            self._dense = DenseParts(free, np.asfortranarray(quadratic), self._head.toarray()[:, free])
        rows = np.concatenate([self._dense.head, self._tail.toarray()[:, free]])
        return {"P": self._dense.quadratic, "A": np.asfortranarray(rows[kinds.equal]), "G": np.asfortranarray(rows[kinds.bounded])}

    def set_quadratic(self, quadratic: sp.csr_array) -> None:
        super().set_quadratic(quadratic)
        self._dense = None

    @property
    def _quadratic(self) -> sp.csr_array:
        size = self._cost.size
        return self._program.quadratic if self._program.quadratic is not None else empty_rows(size, size)


def run_piqp(problem: dict[str, Any], settings: dict[str, object]) -> dict[str, Array]:
    """Solve `PiqpSession._problem`: PIQP's status name, its point, the multipliers of equalities and other rows, and its dual objective."""
    solver = piqp.SparseSolver() if sp.issparse(problem["P"]) else piqp.DenseSolver()
    for name, value in settings.items():
        setattr(solver.settings, name, value)
    solver.setup(**problem)
    status = solver.solve()
    found = solver.result
    # What PIQP returns are views into the solver.
    multipliers = {"y": np.array(found.y), "z": np.array(found.z_u) - np.array(found.z_l)}
    return {"status": np.array(status.name), "x": np.array(found.x), "dual": np.array(found.info.dual_obj), **multipliers}


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
