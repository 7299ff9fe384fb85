"""Several linear cases of which one must hold, as binary columns and indicators: exact, without any bound.

With two cases there is one binary, otherwise one for each case, which add up to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.program.program import Indicator

# Columns, coefficients and right-hand side.
Side = tuple[tuple[int, ...], tuple[float, ...], float]


@dataclass(frozen=True)
class Row:
    """lb <= coefficients @ w[columns] <= ub."""

    columns: tuple[int, ...]
    coefficients: tuple[float, ...]
    lb: float = -np.inf
    ub: float = np.inf

    def excess(self, w: Array) -> float:
        """By how much w is off."""
        value = sum(c * w[j] for j, c in zip(self.columns, self.coefficients, strict=True))
        return float(max(self.lb - value, value - self.ub, 0.0))


@dataclass(frozen=True)
class Cases:
    """A constraint that is met where the rows `always` hold and all rows of at least one of `cases`, if there are any.

    Parameters
    ----------
    name
        Of the user's constraint.
    always
        Rows that hold in every case.
    cases
        The rows of each case.
    """

    name: str
    always: tuple[Row, ...]
    cases: tuple[tuple[Row, ...], ...] = ()

    @property
    def columns(self) -> set[int]:
        """The columns that it is about."""
        return {column for rows in (self.always, *self.cases) for row in rows for column in row.columns}

    @property
    def num_binaries(self) -> int:
        """How many binary columns are added."""
        count = len(self.cases)
        return max(count - 1, 0) if count <= 2 else count

    def rows(self, first: int) -> list[Row]:
        """Rows that hold whatever the case; `first` is the column of the first binary."""
        found = list(self.always)
        if len(self.cases) == 1:
            found += self.cases[0]
        if len(self.cases) > 2:
            found.append(Row(tuple(range(first, first + self.num_binaries)), (1.0,) * self.num_binaries, 1.0, 1.0))
        return found

    def indicators(self, first: int, num_columns: int) -> list[Indicator]:
        """What each case demands while its binary says so."""
        count = len(self.cases)
        switches = [(first, 0), (first, 1)] if count == 2 else [(first + number, 1) for number in range(count)]
        return [
            Indicator(column, value, stack_rows([row], num_columns)[0], row.lb, row.ub, self.name)
            for (column, value), rows in zip(switches, self.cases, strict=True)
            for row in rows
            if count > 1 and (np.isfinite(row.lb) or np.isfinite(row.ub))
        ]

    def choose(self, w: Array) -> Array:
        """Values of the binaries: the case that w meets, or is closest to."""
        if self.num_binaries == 0:
            return np.zeros(0)
        best = int(np.argmin([max((row.excess(w) for row in rows), default=0.0) for rows in self.cases]))
        return np.array([float(best)]) if self.num_binaries == 1 else np.eye(self.num_binaries)[best]


def stack_rows(rows: Sequence[Row], num_columns: int) -> tuple[sp.csr_array, Array, Array]:
    """The rows as a matrix with its bounds."""
    indptr = np.cumsum([0, *(len(row.columns) for row in rows)])
    columns = np.array([column for row in rows for column in row.columns], dtype=np.int64)
    data = np.array([coefficient for row in rows for coefficient in row.coefficients], dtype=np.float64)
    matrix = sp.csr_array((data, columns, indptr), shape=(len(rows), num_columns))
    matrix.sum_duplicates()
    return matrix, np.array([row.lb for row in rows], dtype=np.float64), np.array([row.ub for row in rows], dtype=np.float64)


def largest(name: str, result: int, members: Sequence[int], constant: float | None = None, sign: float = 1.0) -> Cases:
    """w[result] is the largest of the members and the constant; with `sign` -1 the smallest."""
    others: list[Side] = [((result, member), (sign, -sign), 0.0) for member in members]
    others += [((result,), (sign,), sign * constant)] if constant is not None else []
    return attained(name, others)


def largest_size(name: str, result: int, members: Sequence[int]) -> Cases:
    """w[result] is the largest absolute value of the members."""
    return attained(name, [((result, member), (1.0, sign), 0.0) for member in members for sign in (-1.0, 1.0)])


def both(name: str, result: int, members: Sequence[int]) -> Cases:
    """Of binaries: w[result] is 1 where all members are."""
    below = [Row((result, member), (1.0, -1.0), ub=0.0) for member in members]
    return Cases(name, (*below, Row((result, *members), (1.0, *(-1.0,) * len(members)), lb=1.0 - len(members))))


def either(name: str, result: int, members: Sequence[int]) -> Cases:
    """Of binaries: w[result] is 1 where any member is."""
    above = [Row((result, member), (1.0, -1.0), lb=0.0) for member in members]
    return Cases(name, (*above, Row((result, *members), (1.0, *(-1.0,) * len(members)), ub=0.0)))


def attained(name: str, others: Sequence[Side]) -> Cases:
    """Each left-hand side is at least its right-hand side, and one of them is equal to it."""
    always = tuple(Row(columns, coefficients, lb=rhs) for columns, coefficients, rhs in others)
    return Cases(name, always, tuple((Row(columns, coefficients, ub=rhs),) for columns, coefficients, rhs in others))
