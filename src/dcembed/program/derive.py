"""Programs made from other programs: the one way in which they are.

Each verb takes all fields along, so that none is lost, and checks nothing again: what is made from a valid program by these steps
is valid. `tests/program/test_derive.py` fills every field and shows it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.copies import replace
from dcembed.program.cones import QuadraticConstraint
from dcembed.program.program import Indicator, IndicatorRows, Program
from dcembed.sparse import above, compressed, single_rows, take_columns, take_rows


def derive(program: Program, **changes: object) -> Program:
    """The program with some fields replaced; every other field is that of `program`."""
    return replace(program, **changes)


# What a program computes once from its matrices and its integers.
_OF_MATRICES = ("indicator_rows", "cone_rows", "convex_rows", "curved_columns", "num_integers")


def revalue(program: Program, **changes: object) -> Program:
    """The program with other costs, bounds and right-hand sides; what follows from its matrices alone is not computed again."""
    changed, known = derive(program, **changes), vars(program)
    vars(changed).update({name: known[name] for name in _OF_MATRICES if name in known})
    return changed


def have_same_bounds(one: Program, other: Program) -> bool:
    """Whether two programs that differ in numbers alone have the same bounds of columns and sides of rows."""
    names = ("lb", "ub", "row_lb", "row_ub")
    return all(_is_same(getattr(one, name), getattr(other, name)) for name in names)


def _is_same(one: Array, other: Array) -> bool:
    return one is other or np.array_equal(one, other)


def minimized(program: Program) -> Program:
    """The same program as a minimization."""
    if not program.maximize:
        return program
    quadratic, concave = (-matrix if matrix is not None else None for matrix in (program.quadratic, program.concave))
    return derive(program, cost=-program.cost, quadratic=quadratic, concave=concave, offset=-program.offset, maximize=False)


def relaxed(program: Program) -> Program:
    """The program without integers, and so without indicators."""
    return derive(program, integer=np.zeros(program.num_columns, dtype=bool), indicators=())


def without_objective(program: Program) -> Program:
    """The constraints alone."""
    return derive(program, cost=np.zeros(program.num_columns), quadratic=None, concave=None, offset=0.0)


def keep_columns(program: Program, kept: Array) -> Program:
    """The program over the columns `kept` (in increasing order); nothing may use the others, apart from the objective."""
    numbers = kept if program.column_numbers is None else program.column_numbers[kept]
    return derive(
        program,
        cost=program.cost[kept],
        quadratic=_block(program.quadratic, kept) if program.quadratic is not None else None,
        concave=_block(program.concave, kept) if program.concave is not None else None,
        rows=take_columns(program.rows, kept),
        lb=program.lb[kept],
        ub=program.ub[kept],
        integer=program.integer[kept],
        indicators=_keep_in_indicators(program, kept),
        quadratic_constraints=tuple(_restrict(constraint, kept) for constraint in program.quadratic_constraints),
        cones=tuple(replace(cone, matrix=take_columns(cone.matrix, kept)) for cone in program.cones),
        column_names=tuple(program.column_names[j] for j in kept) if program.column_names is not None else None,
        column_numbers=numbers,
    )


def add_columns(program: Program, lb: Array, ub: Array, cost: Array | None = None, integer: Array | None = None) -> Program:
    """The program with more columns behind its own, which no row uses yet."""
    extra, n = lb.size, program.num_columns
    size = n + extra
    numbers = np.arange(n) if program.column_numbers is None else program.column_numbers
    return derive(
        program,
        cost=np.concatenate([program.cost, np.zeros(extra) if cost is None else cost]),
        quadratic=widened(program.quadratic, size, size) if program.quadratic is not None else None,
        concave=widened(program.concave, size, size) if program.concave is not None else None,
        rows=widened(program.rows, program.num_rows, size),
        lb=np.concatenate([program.lb, lb]),
        ub=np.concatenate([program.ub, ub]),
        integer=np.concatenate([program.integer, np.zeros(extra, dtype=bool) if integer is None else integer]),
        indicators=tuple(replace(i, coefficients=widened(i.coefficients, 1, size)) for i in program.indicators),
        quadratic_constraints=tuple(_widen(constraint, size) for constraint in program.quadratic_constraints),
        cones=tuple(replace(cone, matrix=widened(cone.matrix, cone.matrix.shape[0], size)) for cone in program.cones),
        column_names=(*program.column_names, *[""] * extra) if program.column_names is not None else None,
        column_numbers=np.concatenate([numbers, np.full(extra, -1)]),
    )


def keep_rows(program: Program, kept: Array) -> Program:
    """The program with some of its rows only."""
    return derive(
        program,
        rows=take_rows(program.rows, kept),
        row_lb=program.row_lb[kept],
        row_ub=program.row_ub[kept],
        row_names=tuple(program.row_names[i] for i in kept) if program.row_names is not None else None,
    )


def add_rows(program: Program, matrix: sp.csr_array, lb: Array, ub: Array, names: Sequence[str] | None = None) -> Program:
    """The program with more rows behind its own."""
    named = program.row_names is not None or names is not None
    old = program.row_names if program.row_names is not None else ("",) * program.num_rows
    return derive(
        program,
        rows=above(program.rows, matrix),
        row_lb=np.concatenate([program.row_lb, lb]),
        row_ub=np.concatenate([program.row_ub, ub]),
        row_names=(*old, *(names if names is not None else [""] * lb.size)) if named else None,
    )


def with_indicator_rows(program: Program, rows: IndicatorRows) -> Program:
    """The program with other binaries, coefficients and limits in its indicators, one row for each; their names stay."""
    fields_of = zip(rows.column.tolist(), single_rows(rows.matrix), rows.lb.tolist(), rows.ub.tolist(), strict=True)
    return derive(
        program,
        indicators=tuple(
            replace(indicator, column=column, coefficients=row, lb=lb, ub=ub)
            for indicator, (column, row, lb, ub) in zip(program.indicators, fields_of, strict=True)
        ),
    )


def widened(matrix: sp.csr_array, num_rows: int, num_columns: int) -> sp.csr_array:
    """The same entries in a matrix of at least the same shape."""
    indptr = np.concatenate([matrix.indptr, np.full(num_rows - matrix.shape[0], matrix.indptr[-1])])
    return compressed(matrix.data, matrix.indices, indptr, (num_rows, num_columns))


def _keep_in_indicators(program: Program, kept: Array) -> tuple[Indicator, ...]:
    """The indicators over the columns `kept`, all at once: one by one, each would look at all columns."""
    if not program.indicators:
        return ()
    position = np.full(program.num_columns, -1)
    position[kept] = np.arange(kept.size)
    rows = program.indicator_rows
    narrow = replace(rows, matrix=take_columns(rows.matrix, kept), column=position[rows.column])
    return with_indicator_rows(program, narrow).indicators


def _restrict(constraint: QuadraticConstraint, kept: Array) -> QuadraticConstraint:
    quadratic, coefficients = _block(constraint.quadratic, kept), take_columns(constraint.coefficients, kept)
    return replace(constraint, quadratic=quadratic, coefficients=coefficients)


def _widen(constraint: QuadraticConstraint, size: int) -> QuadraticConstraint:
    quadratic, coefficients = widened(constraint.quadratic, size, size), widened(constraint.coefficients, 1, size)
    return replace(constraint, quadratic=quadratic, coefficients=coefficients)


def _block(matrix: sp.csr_array, kept: Array) -> sp.csr_array:
    return take_columns(take_rows(matrix, kept), kept)
