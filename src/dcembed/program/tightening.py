"""Bounds of the columns that the rows and cones imply. They make the M of an indicator finite and small."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.program.cones import ConeConstraint, QuadraticConstraint, as_cone, stack_cones
from dcembed.program.program import Program
from dcembed.sparse import row_numbers, take_rows

# Passes over the rows, and coefficients that are looked at in all of them: beyond, bounds take longer than they save.
NUM_PASSES, MAX_ENTRIES = 5, 10_000_000
# Coefficients of the rows that are taken at a time.
CHUNK_ENTRIES = 500_000
# Quadratic constraints over more columns are left out unless they are diagonal: to write one as a cone takes seconds.
EIGEN_COLUMNS = 800
# Cones with more coefficients are left out: each is three rows where it was one, and a dense one bounds a column hardly ever.
CONE_ENTRIES = 200_000

# Implied bounds are widened by this, relative to the size of what they are computed from, so that rounding never cuts a point off.
SAFETY = 1e-9


class Box(NamedTuple):
    """lb <= w <= ub on every column."""

    lb: Array
    ub: Array


def is_same_box(one: Box, other: Box) -> bool:
    """Whether both have the same bounds."""
    return np.array_equal(one.lb, other.lb) and np.array_equal(one.ub, other.ub)


class _Rows(NamedTuple):
    """lb <= matrix @ w <= ub."""

    matrix: sp.csr_array
    lb: Array
    ub: Array


def heard(check: Callable[[], None]) -> Callable[[], bool]:
    """`is_over` for those who end a computation by raising."""

    def is_over() -> bool:
        check()
        return False

    return is_over


def tighten(program: Program, is_over: Callable[[], bool] = lambda: False) -> Box:
    """Lower and upper bounds of the columns, at least as tight as the program's own; those so far as soon as `is_over()`."""
    lb, ub = program.lb.copy(), program.ub.copy()
    systems = list(_systems(program, is_over))
    num_entries = sum(rows.matrix.nnz for rows in systems)
    for _ in range(max(1, min(NUM_PASSES, MAX_ENTRIES // max(num_entries, 1)))):
        before = lb.copy(), ub.copy()
        for rows, part in ((system, part) for system in systems for part in _parts(system.matrix)):
            if is_over():
                break
            matrix = rows.matrix if rows.matrix.nnz <= CHUNK_ENTRIES else rows.matrix[part]
            for sign, limit in ((1.0, rows.ub[part]), (-1.0, -rows.lb[part])):
                telling = np.flatnonzero(_may_tell(matrix, sign, limit, lb, ub))
                some = take_rows(matrix, telling)
                _apply(row_numbers(some), some.indices, sign * some.data, limit[telling], lb, ub)
        _round(program.integer, lb, ub)
        if np.array_equal(before[0], lb) and np.array_equal(before[1], ub):
            break
    return Box(lb, ub)


def _parts(rows: sp.csr_array) -> list[slice]:
    """The rows in parts of about so many coefficients."""
    if rows.nnz <= CHUNK_ENTRIES:
        return [slice(0, rows.shape[0])]
    starts = np.searchsorted(rows.indptr, np.arange(0, rows.nnz, CHUNK_ENTRIES))
    return [slice(first, last) for first, last in zip(starts, [*starts[1:], rows.shape[0]], strict=True) if first < last]


def _systems(program: Program, is_over: Callable[[], bool]) -> Iterator[_Rows]:
    """The rows of the program and those that curved constraints imply, a few of these at a time; no more of them as soon as `is_over()`."""
    rows, num_entries = _Rows(program.rows, program.row_lb, program.row_ub), 0
    for group in _groups(program):
        if is_over() or num_entries > MAX_ENTRIES:
            return
        whole = len(group) == len(program.quadratic_constraints) + len(program.cones)
        # Those of the whole program are kept there, for others that need them.
        cones = program.convex_rows if whole else stack_cones([*map(_cone, group)], program.num_columns)
        system = _linear_part(rows, cones)
        rows, num_entries = _none(program.num_columns), num_entries + system.matrix.nnz
        yield system


def _groups(program: Program) -> list[list[QuadraticConstraint | ConeConstraint]]:
    """Curved constraints that are quick to write as rows, small ones first and so many together; at least one group."""
    quick = [constraint for constraint in program.quadratic_constraints if _num_columns(constraint) <= EIGEN_COLUMNS]
    small = [cone for cone in program.cones if cone.matrix.nnz <= CONE_ENTRIES]
    curved: list[QuadraticConstraint | ConeConstraint] = [*quick, *small]
    groups: list[list[QuadraticConstraint | ConeConstraint]] = [[]]
    room = CHUNK_ENTRIES
    for constraint in sorted(curved, key=_num_entries):
        if groups[-1] and _num_entries(constraint) > room:
            groups.append([])
            room = CHUNK_ENTRIES
        groups[-1].append(constraint)
        room -= _num_entries(constraint)
    return groups


def _num_entries(constraint: QuadraticConstraint | ConeConstraint) -> int:
    """Coefficients as a cone, at most."""
    if isinstance(constraint, ConeConstraint):
        return int(constraint.matrix.nnz)
    return max(int(constraint.quadratic.nnz), _num_columns(constraint) ** 2)


def _num_columns(constraint: QuadraticConstraint) -> int:
    """Columns whose eigenvalues are needed to write it as a cone: none where it is diagonal."""
    size = int(np.count_nonzero(np.diff(constraint.quadratic.indptr)))
    return 0 if constraint.quadratic.nnz == size else size


def _cone(constraint: QuadraticConstraint | ConeConstraint) -> ConeConstraint:
    return as_cone(constraint) if isinstance(constraint, QuadraticConstraint) else constraint


def _none(num_columns: int) -> _Rows:
    return _Rows(sp.csr_array((0, num_columns)), np.zeros(0), np.zeros(0))


def _linear_part(rows: _Rows, cones: ConeConstraint) -> _Rows:
    """The rows, and those that cones imply: -t <= v_i <= t."""
    if cones.num_cones == 0:
        return rows
    head = np.repeat(cones.heads, cones.sizes)
    body = np.setdiff1d(np.arange(head.size), cones.heads)
    top, top_offset = cones.matrix[head[body]], cones.offset[head[body]]
    free = np.full(body.size, np.inf)
    return _Rows(
        sp.csr_array(sp.vstack([rows.matrix, cones.matrix[cones.heads], cones.matrix[body] - top, cones.matrix[body] + top])),
        np.concatenate([rows.lb, -cones.offset[cones.heads], -free, -cones.offset[body] - top_offset]),
        np.concatenate([rows.ub, np.full(cones.num_cones, np.inf), top_offset - cones.offset[body], free]),
    )


def _may_tell(rows: sp.csr_array, sign: float, row_ub: Array, lb: Array, ub: Array) -> Array:
    """Mask of the rows that may tighten a bound: those that cannot hold with one of their columns anywhere while the others help."""
    value, filled = sign * rows.data, np.flatnonzero(np.diff(rows.indptr))
    left, largest = row_ub.copy(), np.zeros(row_ub.size)
    if filled.size:
        with np.errstate(invalid="ignore"):
            one, other = value * lb[rows.indices], value * ub[rows.indices]
            left[filled] -= np.add.reduceat(np.minimum(one, other), rows.indptr[filled])
            largest[filled] = np.maximum.reduceat(np.abs(one - other), rows.indptr[filled])
    # Without an end in one of its columns a row may well tell something about that one.
    mask: Array = np.isfinite(row_ub) & ~((left >= largest) & np.isfinite(largest))
    return mask


def _apply(row: Array, column: Array, value: Array, row_ub: Array, lb: Array, ub: Array) -> None:
    """Tighten lb and ub in place by rows sum value * w <= row_ub."""
    smallest = np.where(value > 0, value * lb[column], value * ub[column])
    infinite = np.isneginf(smallest)
    finite = np.where(infinite, 0.0, smallest)
    total = np.bincount(row, finite, minlength=row_ub.size)
    num_infinite = np.bincount(row, infinite, minlength=row_ub.size)
    # The smallest the rest of the row can be, if that is finite at all.
    rest = total[row] - finite
    known = (num_infinite[row] - infinite == 0) & np.isfinite(row_ub[row]) & (value != 0)
    limit = (row_ub[row[known]] - rest[known]) / value[known]
    size = (np.abs(row_ub) + np.bincount(row, np.abs(finite), minlength=row_ub.size))[row[known]] / np.abs(value[known])
    limit += np.sign(value[known]) * SAFETY * np.maximum(1.0, size)
    up = value[known] > 0
    np.minimum.at(ub, column[known][up], limit[up])
    np.maximum.at(lb, column[known][~up], limit[~up])
    # Rows that contradict each other are for the solver to report; bounds stay ordered here.
    np.minimum(lb, ub, out=lb)


def _round(integer: Array, lb: Array, ub: Array) -> None:
    lb[integer] = np.ceil(lb[integer] - 1e-6)
    ub[integer] = np.floor(ub[integer] + 1e-6)
