"""Pyomo expressions as sparse rows, read with Pyomo's own visitor, the one its LP writer uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from pyomo.core.base.enums import SortComponents
from pyomo.repn.quadratic import QuadraticRepnVisitor
from pyomo.repn.util import OrderedVarRecorder

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.frontends.messages import shorten

# What to call an expression in a message; it is only called when there is one.
Name = Callable[[], str]


@dataclass(frozen=True, eq=False)
class ExpressionRows:
    """Expressions constant_r + sum_j value_rj w_j + w'Q_r w, one per row r; columns are variables by `id`.

    Parameters
    ----------
    constant
        Shape (m,).
    pointers, variables, values
        The linear part in compressed rows: entries pointers[r] to pointers[r + 1] belong to row r.
    quadratic
        Row -> {(variable, variable): value}, for rows that have such terms.
    """

    constant: Array
    pointers: Array
    variables: Array
    values: Array
    quadratic: Mapping[int, Mapping[tuple[int, int], float]]

    @property
    def num_rows(self) -> int:
        """m."""
        return self.constant.size

    def matrix(self, columns: Columns) -> sp.csr_array:
        """The linear part over the columns, shape (m, n)."""
        return sp.csr_array((self.values, columns.number(self.variables), self.pointers), shape=(self.num_rows, columns.size))

    def quadratic_matrix(self, row: int, columns: Columns) -> sp.csr_array:
        """Q_r over the columns, as the user wrote it: each product once, shape (n, n)."""
        terms = self.quadratic.get(row, {})
        pairs = columns.number(np.array([list(pair) for pair in terms], dtype=np.int64).reshape(-1))
        values = np.array(list(terms.values()), dtype=np.float64)
        return sp.csr_array((values, (pairs[0::2], pairs[1::2])), shape=(columns.size, columns.size))


class Columns:
    """Numbers for the variables that occur, in the order in which the model declares or uses them."""

    def __init__(self, variables: Mapping[int, Any], used: Iterable[Array]) -> None:
        seen = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *used]))
        mentioned = set(seen.tolist())
        self.variables = [variable for key, variable in variables.items() if key in mentioned]
        keys = np.array([id(variable) for variable in self.variables], dtype=np.int64)
        self._order = np.argsort(keys)
        self._keys = keys[self._order]

    @property
    def size(self) -> int:
        """How many columns there are."""
        return len(self.variables)

    def number(self, variables: Array) -> Array:
        """Column numbers of variables given by `id`."""
        return self._order[np.searchsorted(self._keys, variables)] if self.size else np.empty(0, dtype=np.int64)


def new_visitor() -> QuadraticRepnVisitor:
    """A visitor that remembers the variables it has met, in `var_map`; fixed variables count as constants."""
    return QuadraticRepnVisitor({}, var_recorder=OrderedVarRecorder({}, {}, SortComponents.deterministic))


def read_expressions(visitor: QuadraticRepnVisitor, expressions: Iterable[tuple[Name, Any]], accepted: str) -> ExpressionRows:
    """Read named expressions; one that is not quadratic or has no value raises an InputError with its name and `accepted`."""
    constants, keys, values, counts, names = [], [], [], [0], []
    quadratic = {}
    for row, (name, expression) in enumerate(expressions):
        terms = _walk(visitor, name, expression, accepted)
        constants.append(terms.constant)
        keys.append(terms.linear.keys())
        values.append(terms.linear.values())
        counts.append(len(terms.linear))
        names.append(name)
        if terms.quadratic:
            quadratic[row] = terms.quadratic
    pointers = np.cumsum(counts)
    try:
        numbers = np.array(list(chain.from_iterable(values)), dtype=np.float64)
        offsets = np.array(constants, dtype=np.float64)
        known = np.isfinite(offsets).all() and np.isfinite(numbers).all() and all(_is_finite(row) for row in quadratic.values())
    except ValueError:
        known = False
    if not known:
        _raise_unknown(names, constants, values, quadratic)
    variables = np.fromiter(chain.from_iterable(keys), dtype=np.int64, count=int(pointers[-1]))
    return ExpressionRows(offsets, pointers, variables, numbers, quadratic)


def _walk(visitor: QuadraticRepnVisitor, name: Name, expression: Any, accepted: str) -> Any:
    try:
        terms = visitor.walk_expression(expression)
    except ValueError as error:
        raise no_value(name(), error) from None
    if terms.nonlinear is not None:
        raise InputError(f"{name()} has a nonlinear term: {shorten(terms.nonlinear)}. {accepted}")
    return terms


def no_value(name: str, error: object) -> InputError:
    """The error for a parameter, or a fixed variable, without a value."""
    return InputError(
        f"{name} uses something that has no value: {shorten(error)} Give every parameter and every fixed variable a number before solving."
    )


def _is_finite(terms: Mapping[tuple[int, int], float]) -> bool:
    return bool(np.isfinite(np.array(list(terms.values()), dtype=np.float64)).all())


def _raise_unknown(
    names: list[Name], constants: list[Any], values: list[Any], quadratic: Mapping[int, Mapping[tuple[int, int], float]]
) -> None:
    """Find the row whose numbers are not finite numbers, and name it."""
    for row, name in enumerate(names):
        for number in (constants[row], *values[row], *quadratic.get(row, {}).values()):
            try:
                finite = np.isfinite(float(number))
            except ValueError as error:
                raise no_value(name(), str(error).rpartition("\n")[2].strip() + ".") from None
            if not finite:
                raise InputError(f"{name()} has the coefficient or constant {number}; finite numbers are accepted.")
