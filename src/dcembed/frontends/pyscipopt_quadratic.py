"""Quadratic constraints of SCIP, whose objectives are linear: a quadratic objective is written t >= q(x), or t == q(x), with t in the objective.

Such a t is put back: q itself becomes the objective, which a solver for quadratic programs takes without any quadratic constraint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.errors import InputError
from dcembed.frontends.infinity import unlimited
from dcembed.frontends.messages import CARRIES
from dcembed.program.cones import QuadraticConstraint
from dcembed.program.convexity import is_convex
from dcembed.program.nonconvex import split_quadratic
from dcembed.program.program import Program


@dataclass(frozen=True, eq=False)
class QuadraticRow:
    """lb <= w'Qw + a'w <= ub.

    Parameters
    ----------
    name
        Of the constraint.
    quadratic
        Q, shape (n, n), without a half.
    linear
        a, shape (n,).
    lb, ub
        Infinite for none.
    """

    name: str
    quadratic: sp.csr_array
    linear: Array
    lb: float
    ub: float

    @property
    def curved(self) -> Array:
        """Mask of the columns that Q uses, shape (n,)."""
        mask = np.zeros(self.linear.size, dtype=bool)
        mask[self.quadratic.indices] = True
        mask[np.flatnonzero(np.diff(self.quadratic.indptr))] = True
        return mask

    def solve_for(self, column: int, w: Array) -> float:
        """The value of a column that Q does not use at which the one finite side of the row is tight."""
        coefficient = self.linear[column]
        rest = w @ (self.quadratic @ w) + self.linear @ w - coefficient * w[column]
        return float(((self.ub if np.isfinite(self.ub) else self.lb) - rest) / coefficient)


def read_quadratic(scip: Any, constraint: Any, numbers: Mapping[int, int], n: int) -> QuadraticRow:
    """A constraint of SCIP's nonlinear handler, if it is quadratic, over n columns."""
    if not scip.checkQuadraticNonlinear(constraint):
        raise InputError(f"optimize: the constraint '{constraint.name}' is nonlinear; {CARRIES}.")
    products, squares, linears = scip.getTermsQuadratic(constraint)
    row = [numbers[v.ptr()] for v, _, _ in products] + [numbers[v.ptr()] for v, _, _ in squares]
    column = [numbers[v.ptr()] for _, v, _ in products] + [numbers[v.ptr()] for v, _, _ in squares]
    data = [c for _, _, c in products] + [c for _, c, _ in squares]
    linear = np.zeros(n)
    for variable, coefficient in [*((v, c) for v, _, c in squares), *linears]:
        linear[numbers[variable.ptr()]] += coefficient
    lb, ub = unlimited([scip.getLhs(constraint), scip.getRhs(constraint)]).tolist()
    quadratic = sp.csr_array((data, (row, column)), shape=(n, n), dtype=np.float64)
    return QuadraticRow(constraint.name, quadratic, linear, lb, ub)


def lift_objective(
    program: Program, rows: Sequence[QuadraticRow], embeddings: Sequence[Embedding]
) -> tuple[Program, dict[int, QuadraticRow]]:
    """The program with epigraphs in its objective and other quadratics as constraints, and the row of each column that stood for one."""
    epigraphs: dict[int, QuadraticRow] = {}
    constraints: list[QuadraticConstraint] = []
    for row in rows:
        column = _find_epigraph(program, row, rows, embeddings)
        if column is None:
            constraints += _as_constraints(row)
        else:
            epigraphs[column] = row
            program = _replace_column(program, row, column)
    return replace(program, quadratic_constraints=tuple(constraints)), epigraphs


def _as_constraints(row: QuadraticRow) -> list[QuadraticConstraint]:
    """One for each finite side."""
    sides = [(1.0, row.ub)] * bool(np.isfinite(row.ub)) + [(-1.0, -row.lb)] * bool(np.isfinite(row.lb))
    try:
        return [QuadraticConstraint(2.0 * sign * row.quadratic, sign * row.linear, ub, row.name) for sign, ub in sides]
    except InputError as error:
        raise InputError(
            f"optimize: the constraint '{row.name}' is not taken. {error} A product that only the objective needs is taken as t <= product, "
            "t >= product or t == product, where t is in the objective, in no other constraint, and without bounds that restrict it."
        ) from None


def _find_epigraph(program: Program, row: QuadraticRow, rows: Sequence[QuadraticRow], embeddings: Sequence[Embedding]) -> int | None:
    """A column that is nothing but an upper bound of this row's quadratic in the objective, or another name for it."""
    used = np.diff(sp.csc_array(program.rows).indptr) + np.diff(sp.csc_array(program.indicator_rows.matrix).indptr) > 0
    used |= program.integer | (row.linear == 0) | row.curved
    for other in rows:
        if other is not row:
            used |= other.curved | (other.linear != 0)
    for embedding in embeddings:
        used[embedding.affine_inputs(program.num_columns).matrix.indices] = True
        used[embedding.outputs] = True
    if row.lb == row.ub:
        # An equality says what the column is, whatever the objective wants of it; a bound of the column would be one on the quadratic.
        free = np.flatnonzero(~used & np.isinf(program.lb) & np.isinf(program.ub))
        return int(free[0]) if free.size else None
    if np.isfinite(row.lb) == np.isfinite(row.ub):
        return None
    # With a single side and coefficient, the row bounds the column from below or from above.
    from_below = (row.linear < 0) == np.isfinite(row.ub)
    # The objective must push the column against it.
    towards = program.sense * program.cost
    rises = np.where(from_below, towards, -towards) > 0
    free_side = np.isinf(np.where(from_below, program.ub, program.lb))
    for column in np.flatnonzero(~used & rises & free_side):
        if _bound_is_idle(program, row, int(column), bool(from_below[column])):
            return int(column)
    return None


def _bound_is_idle(program: Program, row: QuadraticRow, column: int, from_below: bool) -> bool:
    """Whether the bound of the column on the side of the row, if it has one, never binds: t >= 0 beside t >= a sum of squares."""
    bound = program.lb[column] if from_below else program.ub[column]
    if np.isinf(bound):
        return True
    # t >= (w'Qw + a'w - rhs) / scale for a column bounded from below; the same for -t otherwise.
    scale = abs(row.linear[column])
    sign = 1.0 if np.isfinite(row.ub) else -1.0
    linear = row.linear.copy()
    linear[column] = 0.0
    support = np.flatnonzero(row.curved | (linear != 0))
    matrix = sign * row.quadratic[support][:, support].toarray() / scale
    matrix, vector = matrix + matrix.T, sign * linear[support] / scale
    if not is_convex(sp.csr_array(matrix)):
        return False
    lowest, *_ = np.linalg.lstsq(matrix, -vector, rcond=None)
    if np.abs(matrix @ lowest + vector).max(initial=0.0) > 1e-9 * max(1.0, np.abs(vector).max(initial=0.0)):
        return False
    rhs = sign * (row.ub if np.isfinite(row.ub) else row.lb)
    least = 0.5 * lowest @ (matrix @ lowest) + vector @ lowest - rhs / scale
    return bool(least >= (bound if from_below else -bound) - 1e-9)


def _replace_column(program: Program, row: QuadraticRow, column: int) -> Program:
    """The program with the row's quadratic where the column was in the objective; the column is fixed at zero."""
    weight = -program.cost[column] / row.linear[column]
    cost = program.cost + weight * row.linear
    cost[column] = 0.0
    rhs = row.ub if np.isfinite(row.ub) else row.lb
    lb, ub = program.lb.copy(), program.ub.copy()
    lb[column] = ub[column] = 0.0
    whole = 2.0 * weight * row.quadratic
    for sign, part in ((1.0, program.quadratic), (-1.0, program.concave)):
        whole = whole if part is None else whole + sign * part
    quadratic, concave = split_quadratic(whole, program.maximize)
    return replace(program, cost=cost, offset=program.offset - weight * rhs, quadratic=quadratic, concave=concave, lb=lb, ub=ub)
