"""The host problem as matrices.

minimize    1/2 w'Qw - 1/2 w'Cw + c'w + offset        (or maximize)
subject to  row_lb <= A w <= row_ub,   lb <= w <= ub,   w_j integer for some j,
            w_b = v  =>  l <= a'w <= u   for each indicator,
            1/2 w'Qw + a'w <= ub   and   t >= ||v||  for the quadratic and second-order-cone constraints (`cones.py`)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.program.cones import ConeConstraint, QuadraticConstraint, as_cone, stack_cones
from dcembed.program.convexity import check_concave, check_convex
from dcembed.program.matrices import MatrixLike, as_sparse, check_finite, half_square, set_fields, symmetric
from dcembed.reading import as_flag, as_name, as_names, as_number, as_numbers, as_whole, require_all, show
from dcembed.sparse import all_above, times


@dataclass(frozen=True, eq=False, init=False)
class Indicator:
    """w[column] == value  =>  lb <= coefficients @ w <= ub.

    Parameters
    ----------
    column
        A binary column: integer with bounds inside [0, 1].
    value
        0 or 1.
    coefficients
        One row of length n, dense (n,) or (1, n), or sparse (1, n).
    lb, ub
        Limits that hold when the indicator is on; infinite for none.
    name
        What messages call it.
    """

    column: int
    value: int
    coefficients: sp.csr_array
    lb: float
    ub: float
    name: str | None

    def __init__(
        self,
        column: int,
        value: int,
        coefficients: MatrixLike,
        lb: float = -np.inf,
        ub: float = np.inf,
        name: str | None = None,
    ) -> None:
        row = as_sparse(coefficients, "Indicator", "coefficients")
        if row.shape[0] != 1:
            raise InputError(f"An indicator's coefficients are one row, received shape {row.shape}. Make one indicator per row.")
        if as_whole(value, "Indicator: value") not in (0, 1):
            raise InputError(f"An indicator's value is 0 or 1, received {value!r}.")
        set_fields(
            self,
            column=as_whole(column, "Indicator: column"),
            value=int(value),
            coefficients=row,
            lb=as_number(lb, "Indicator: lb"),
            ub=as_number(ub, "Indicator: ub"),
            name=as_name(name, "Indicator: name"),
        )
        label = f"indicator {name!r}" if name else f"indicator on column {self.column}"
        check_interval(np.array([self.lb]), np.array([self.ub]), lambda _: label)


@dataclass(frozen=True, eq=False, init=False)
class Program:
    """A linear or quadratic program, with or without integers, over n columns.

    Parameters
    ----------
    cost
        c, shape (n,).
    quadratic
        Q, shape (n, n), positive semidefinite; dense or sparse. None for a linear objective.
    concave
        C, shape (n, n), of what is left of a quadratic objective that is not convex: 1/2 w'(Q - C)w, Q and C positive semidefinite.
        `split_quadratic` makes both from one matrix. The steps of a run linearize this part. None for a convex objective.
    offset
        Constant of the objective.
    rows
        A, shape (m, n); dense or sparse. None for no rows.
    row_lb, row_ub
        Shape (m,) or a number; infinite by default.
    lb, ub
        Column bounds, shape (n,) or a number; infinite by default, so columns are free.
    integer
        Mask of shape (n,) or a list of column numbers; nothing is integer by default.
    indicators
        Rows that hold only while a binary has a value.
    quadratic_constraints
        Convex quadratic constraints.
    cones
        Second-order-cone constraints.
    maximize
        Whether the objective is maximized; Q and C are negative semidefinite then. Objectives are always reported in this sense.
    column_names, row_names
        What messages call the columns and rows, one name each; their numbers by default.

    Examples
    --------
    >>> import dcembed
    >>> dcembed.Program(cost=[1.0, 2.0], rows=[[1.0, 1.0]], row_lb=1.0, lb=0.0)
    Program(2 columns, 1 row)
    """

    cost: Array
    quadratic: sp.csr_array | None
    concave: sp.csr_array | None
    offset: float
    rows: sp.csr_array
    row_lb: Array
    row_ub: Array
    lb: Array
    ub: Array
    integer: Array
    indicators: tuple[Indicator, ...]
    quadratic_constraints: tuple[QuadraticConstraint, ...]
    cones: tuple[ConeConstraint, ...]
    maximize: bool
    column_names: tuple[str, ...] | None
    row_names: tuple[str, ...] | None
    # Of a program that was derived from the user's: the numbers that its columns have there, -1 for those that were added.
    column_numbers: Array | None = field(init=False)

    def __init__(
        self,
        cost: ArrayLike,
        quadratic: MatrixLike | None = None,
        offset: float = 0.0,
        rows: MatrixLike | None = None,
        row_lb: ArrayLike | None = None,
        row_ub: ArrayLike | None = None,
        lb: ArrayLike | None = None,
        ub: ArrayLike | None = None,
        integer: ArrayLike | None = None,
        indicators: Sequence[Indicator] = (),
        quadratic_constraints: Sequence[QuadraticConstraint] = (),
        cones: Sequence[ConeConstraint] = (),
        maximize: bool = False,
        column_names: Sequence[str] | None = None,
        row_names: Sequence[str] | None = None,
        concave: MatrixLike | None = None,
    ) -> None:
        costs = as_numbers(cost, "Program: cost")
        if costs.ndim != 1 or costs.size == 0:
            raise InputError(f"Program: cost is a vector with one entry per column, received shape {costs.shape}.")
        n = costs.size
        matrix = as_sparse(rows, name="rows") if rows is not None else sp.csr_array((0, n))
        if matrix.shape[1] != n:
            raise InputError(f"Program: rows has {matrix.shape[1]} columns but cost has {n} entries. Both count the columns of w.")
        m = matrix.shape[0]
        check_finite(costs, "cost")
        check_finite(matrix.data, "rows")
        constant, is_maximized = as_number(offset, "Program: offset"), as_flag(maximize, "Program: maximize")
        check_finite(np.array([constant]), "offset")
        set_fields(
            self,
            cost=costs,
            quadratic=read_quadratic(quadratic, "quadratic", n, is_maximized),
            concave=read_quadratic(concave, "concave", n, is_maximized),
            offset=constant,
            rows=matrix,
            row_lb=read_vector(row_lb, m, -np.inf, "row_lb", "rows"),
            row_ub=read_vector(row_ub, m, np.inf, "row_ub", "rows"),
            lb=read_vector(lb, n, -np.inf, "lb", "columns"),
            ub=read_vector(ub, n, np.inf, "ub", "columns"),
            integer=_mask(integer, n),
            indicators=require_all(indicators, Indicator, "Program: indicators"),
            quadratic_constraints=require_all(quadratic_constraints, QuadraticConstraint, "Program: quadratic_constraints"),
            cones=require_all(cones, ConeConstraint, "Program: cones"),
            maximize=is_maximized,
            column_names=_names(column_names, n, "column"),
            row_names=_names(row_names, m, "row"),
            column_numbers=None,
        )
        check_interval(self.row_lb, self.row_ub, self.row_label)
        check_interval(self.lb, self.ub, self.column_label)
        check_indicators(self)
        _check_widths(self)

    @property
    def num_columns(self) -> int:
        """n."""
        return self.cost.size

    @property
    def num_rows(self) -> int:
        """m."""
        return int(self.rows.shape[0])

    @cached_property
    def num_integers(self) -> int:
        """How many columns are integer."""
        return int(self.integer.sum())

    @property
    def sense(self) -> float:
        """1 where the objective is minimized, -1 where it is maximized."""
        return -1.0 if self.maximize else 1.0

    @property
    def is_quadratic(self) -> bool:
        """Whether the objective has a quadratic part."""
        return self.quadratic is not None or self.concave is not None

    @property
    def has_curves(self) -> bool:
        """Whether there are quadratic constraints or cones."""
        return bool(self.quadratic_constraints) or any(cone.num_cones for cone in self.cones)

    @property
    def problem_class(self) -> str:
        """LP, QP, QCP or SOCP, with MI before it where there are integers.

        A program with a cone is an SOCP, one with quadratic constraints only a QCP, whatever its objective.
        """
        kind = "SOCP" if self.cones else "QCP" if self.quadratic_constraints else "QP" if self.is_quadratic else "LP"
        return ("MI" if self.num_integers else "") + kind

    @cached_property
    def indicator_rows(self) -> IndicatorRows:
        """All indicators as arrays."""
        return IndicatorRows(
            matrix=all_above([i.coefficients for i in self.indicators], self.num_columns),
            column=np.array([i.column for i in self.indicators], dtype=np.int64),
            value=np.array([i.value for i in self.indicators], dtype=np.int64),
            lb=np.array([i.lb for i in self.indicators], dtype=np.float64),
            ub=np.array([i.ub for i in self.indicators], dtype=np.float64),
        )

    @cached_property
    def cone_rows(self) -> ConeConstraint:
        """All second-order cones in one."""
        return stack_cones(self.cones, self.num_columns)

    @cached_property
    def convex_rows(self) -> ConeConstraint:
        """Quadratic constraints, written as cones, and cones in one."""
        return stack_cones([*map(as_cone, self.quadratic_constraints), *self.cones], self.num_columns)

    @cached_property
    def curved_columns(self) -> Array:
        """Mask of the columns that the quadratic objective, a quadratic constraint or a cone uses, shape (n,)."""
        used = np.zeros(self.num_columns, dtype=bool)
        for matrix in (self.quadratic, self.concave):
            if matrix is not None:
                used[matrix.indices] = True
        for constraint in self.quadratic_constraints:
            used[constraint.quadratic.indices] = used[constraint.coefficients.indices] = True
        for cone in self.cones:
            used[cone.matrix.indices] = True
        return used

    def column_label(self, column: int) -> str:
        """What messages call a column: its name, or its number in the user's program."""
        number = column if self.column_numbers is None else int(self.column_numbers[column])
        return _label("column", self.column_names[column] if self.column_names is not None else None, number)

    def row_label(self, row: int) -> str:
        """What messages call a row: its name or its number."""
        return _label("row", self.row_names[row] if self.row_names is not None else None, row)

    def indicator_label(self, number: int) -> str:
        """What messages call an indicator: its name or its number."""
        return _label("indicator", self.indicators[number].name, number)

    def quadratic_label(self, number: int) -> str:
        """What messages call a quadratic constraint: its name or its number."""
        return _label("quadratic constraint", self.quadratic_constraints[number].name, number)

    def cone_label(self, number: int) -> str:
        """What messages call a cone, counted over all of `cones`: its name or its number."""
        names = self.cone_rows.names
        return _label("cone", names[number] if names is not None else None, number)

    def objective(self, w: Array) -> float:
        """1/2 w'Qw - 1/2 w'Cw + c'w + offset."""
        return float(self.offset + self.cost @ w + half_square(self.quadratic, w) - half_square(self.concave, w))

    def gradient(self, w: Array) -> Array:
        """Q w - C w + c."""
        gradient = self.cost if self.quadratic is None else self.cost + times(self.quadratic, w)
        return gradient if self.concave is None else gradient - times(self.concave, w)

    def __repr__(self) -> str:
        parts = [_count(self.num_columns, "column"), _count(self.num_rows, "row")]
        parts += [_count(self.num_integers, "integer")] if self.num_integers else []
        parts += [f"{'nonconvex ' if self.concave is not None else ''}quadratic objective"] if self.is_quadratic else []
        parts += [_count(len(self.indicators), "indicator")] if self.indicators else []
        parts += [_count(len(self.quadratic_constraints), "quadratic constraint")] if self.quadratic_constraints else []
        num_cones = sum(cone.num_cones for cone in self.cones)
        parts += [_count(num_cones, "second-order cone")] if num_cones else []
        return f"Program({', '.join(parts)})"


@dataclass(frozen=True, eq=False)
class IndicatorRows:
    """Indicators stacked: w[column] == value  =>  lb <= matrix @ w <= ub, one row each."""

    matrix: sp.csr_array
    column: Array
    value: Array
    lb: Array
    ub: Array


def stacked(first: IndicatorRows, second: IndicatorRows) -> IndicatorRows:
    """Indicators one below the other."""
    if second.column.size == 0:
        return first
    return IndicatorRows(
        matrix=sp.csr_array(sp.vstack([first.matrix, second.matrix], format="csr")),
        column=np.concatenate([first.column, second.column]),
        value=np.concatenate([first.value, second.value]),
        lb=np.concatenate([first.lb, second.lb]),
        ub=np.concatenate([first.ub, second.ub]),
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _label(noun: str, name: str | None, number: int) -> str:
    return f"{noun} {name!r}" if name else f"{noun} {number}"


def _names(names: Sequence[str] | None, size: int, what: str) -> tuple[str, ...] | None:
    if names is None:
        return None
    listed = as_names(names, f"Program: {what}_names")
    if len(listed) != size:
        raise InputError(f"Program: {what}_names has {len(listed)} names but there are {size} {what}s: one each is expected.")
    return listed


def read_quadratic(matrix: MatrixLike | None, name: str, n: int, maximize: bool) -> sp.csr_array | None:
    """A symmetric matrix that bends the way it must; None for none, or for zeros."""
    if matrix is None:
        return None
    quadratic = as_sparse(matrix, name=name)
    if quadratic.shape != (n, n):
        raise InputError(f"Program: {name} has shape {quadratic.shape} but cost has {n} entries: expected ({n}, {n}).")
    check_finite(quadratic.data, name)
    quadratic = symmetric(quadratic)
    if quadratic.nnz == 0:
        return None
    check, word = (check_concave, "maximized") if maximize else (check_convex, "minimized")
    check(quadratic, "Program", name, f"{_CONSEQUENCES[name, maximize]}; note that 1/2 w'Qw - 1/2 w'Cw is {word}. {_SPLIT}")
    return quadratic


_CONSEQUENCES = {
    ("quadratic", False): "so the objective is not convex",
    ("quadratic", True): "so what is maximized is not concave",
    ("concave", False): "so -1/2 w'Cw is not concave",
    ("concave", True): "so -1/2 w'Cw is not convex",
}
_SPLIT = "dcembed.split_quadratic gives both parts of an objective that is not convex, quadratic= and concave=."


def read_vector(value: ArrayLike | None, size: int, default: float, name: str, what: str) -> Array:
    """One number for each of so many rows or columns, from as many or from one; the default for None."""
    if value is None:
        return np.full(size, default)
    array = as_numbers(value, f"Program: {name}")
    if array.ndim == 0:
        return np.full(size, float(array))
    if array.shape != (size,):
        raise InputError(f"Program: {name} has shape {array.shape} but there are {size} {what}: expected ({size},) or one number.")
    return array


def _mask(value: ArrayLike | None, n: int) -> Array:
    if value is None:
        return np.zeros(n, dtype=bool)
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.array(None)
    if array.dtype == bool:
        if array.shape != (n,):
            raise InputError(f"Program: the integer mask has shape {array.shape} but there are {n} columns: expected ({n},).")
        return array.copy()
    mask = np.zeros(n, dtype=bool)
    if array.size and (array.dtype.kind not in "iu" or array.ndim != 1 or array.min() < 0 or array.max() >= n):
        raise InputError(
            f"Program: integer is a mask of {n} booleans or a list of column numbers from 0 to {n - 1}, received {show(value)}."
        )
    mask[array.astype(int)] = True
    return mask


def check_interval(lb: Array, ub: Array, label: Callable[[int], str]) -> None:
    """InputError where a bound is NaN, or where bounds cross."""
    if (lb <= ub).all() and lb.max(initial=-np.inf) < np.inf and ub.min(initial=np.inf) > -np.inf:
        return
    missing = np.flatnonzero(np.isnan(lb) | np.isnan(ub))
    if missing.size:
        raise InputError(f"Program: a bound of {label(int(missing[0]))} is NaN. Use -inf or inf for none.")
    crossed = np.flatnonzero((lb > ub) | (lb == np.inf) | (ub == -np.inf))
    if crossed.size:
        first = crossed[0]
        more = f" ({crossed.size - 1} more like it)" if crossed.size > 1 else ""
        raise InputError(f"Program: the bounds of {label(int(first))} cross: lb = {lb[first]:g} > ub = {ub[first]:g}{more}.")


def check_indicators(program: Program) -> None:
    """InputError where an indicator is of another width, or not on a binary column."""
    n = program.num_columns
    for number, indicator in enumerate(program.indicators):
        label = program.indicator_label(number)
        if indicator.coefficients.shape[1] != n:
            raise InputError(f"Program: {label} has {indicator.coefficients.shape[1]} coefficients but there are {n} columns.")
        if not 0 <= indicator.column < n:
            raise InputError(f"Program: {label} is on column {indicator.column}; columns go from 0 to {n - 1}.")
        column = indicator.column
        if not program.integer[column] or program.lb[column] < 0 or program.ub[column] > 1:
            raise InputError(
                f"Program: {label} is on {program.column_label(column)}, which is not binary. Make it integer with lb = 0 and ub = 1."
            )
        check_finite(indicator.coefficients.data, label)


def _check_widths(program: Program) -> None:
    n = program.num_columns
    widths = [(program.quadratic_label(number), constraint.num_columns) for number, constraint in enumerate(program.quadratic_constraints)]
    # A ConeConstraint may hold several cones; the name of the first stands for all.
    widths += [
        (_label("cone", cone.names[0] if cone.names else None, number), cone.num_columns) for number, cone in enumerate(program.cones)
    ]
    for label, width in widths:
        if width != n:
            raise InputError(f"Program: {label} has {width} columns but the program has {n}.")
