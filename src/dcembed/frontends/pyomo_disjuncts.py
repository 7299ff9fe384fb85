"""Disjuncts of pyomo.gdp as indicators: no big M is asked of the user."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from pyomo.gdp import Disjunct, Disjunction

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.frontends.pyomo_expressions import Columns, ExpressionRows, read_expressions
from dcembed.frontends.pyomo_names import component_names
from dcembed.program.program import Indicator

TRANSFORM = 'Apply TransformationFactory("gdp.bigm").apply_to(model) first.'


@dataclass(frozen=True, eq=False)
class DisjunctRows:
    """Constraints of disjuncts, and which disjuncts may hold together.

    Parameters
    ----------
    binaries
        The binary of each disjunct whose indicator is open.
    rows
        The constraints of each of these disjuncts: (terms, lb, ub, names).
    choices, choice_lb, choice_ub, choice_names
        One row per disjunction: the sum of its binaries is one, or at least one.
    """

    binaries: ExpressionRows
    rows: list[Any]
    choices: ExpressionRows
    choice_lb: Array
    choice_ub: Array
    choice_names: list[str]

    @property
    def terms(self) -> list[ExpressionRows]:
        """All expressions."""
        return [self.binaries, self.choices, *(rows.terms for rows in self.rows)]

    def choice_matrix(self, columns: Columns) -> sp.csr_array:
        """Left-hand sides of the disjunctions."""
        return self.choices.matrix(columns)

    def indicators(self, columns: Columns, n: int) -> list[Indicator]:
        """One indicator per constraint."""
        binaries = columns.number(self.binaries.variables)
        found = []
        for binary, rows in zip(binaries, self.rows, strict=True):
            matrix = rows.terms.matrix(columns)
            matrix.resize((matrix.shape[0], n))
            found += [Indicator(binary, 1, matrix[[row]], rows.lb[row], rows.ub[row], name) for row, name in enumerate(rows.names)]
        return found


def read_disjuncts(visitor: Any, model: Any, read_rows: Callable[[Iterable[Any]], Any]) -> DisjunctRows:
    """Read the active disjuncts and disjunctions; transformed ones are inactive and are not seen."""
    disjuncts = [(disjunct, disjunct.binary_indicator_var) for disjunct in _active(model) if not disjunct.binary_indicator_var.fixed]
    binaries = read_expressions(visitor, [(_namer(disjunct), binary) for disjunct, binary in disjuncts], TRANSFORM)
    rows = [read_rows(disjunct.component_data_objects(pyo.Constraint, active=True)) for disjunct, _ in disjuncts]
    disjunctions = list(model.component_data_objects(Disjunction, active=True))
    choices = read_expressions(
        visitor, [(_namer(choice), sum(d.binary_indicator_var for d in choice.disjuncts)) for choice in disjunctions], TRANSFORM
    )
    upper = np.array([1.0 if choice.xor else np.inf for choice in disjunctions])
    return DisjunctRows(binaries, rows, choices, 1.0 - choices.constant, upper - choices.constant, component_names(disjunctions))


def settled_constraints(model: Any) -> Iterator[Any]:
    """Constraints of the disjuncts whose indicator is fixed to true: they hold always."""
    for disjunct in _active(model):
        if disjunct.binary_indicator_var.fixed and disjunct.binary_indicator_var.value:
            yield from disjunct.component_data_objects(pyo.Constraint, active=True)


def _active(model: Any) -> Iterator[Any]:
    for disjunct in model.component_data_objects(Disjunct, active=True, descend_into=(pyo.Block, Disjunct)):
        _check_simple(disjunct)
        yield disjunct


def _check_simple(disjunct: Any) -> None:
    above = disjunct.parent_block()
    while above is not None:
        if above.ctype is Disjunct:
            raise InputError(f"Disjunct '{disjunct.name}' is inside disjunct '{above.name}'; nested disjuncts are not read. {TRANSFORM}")
        above = above.parent_block()
    for ctype in disjunct.collect_ctypes(active=True, descend_into=True):
        if ctype.__name__ in ("Disjunction", "LogicalConstraint", "SOSConstraint", "Complementarity"):
            found = next(iter(disjunct.component_objects(ctype, active=True)))
            raise InputError(f"'{found.name}' is a {ctype.__name__} inside a disjunct, which is not read. {TRANSFORM}")


def _namer(component: Any) -> Callable[[], str]:
    return lambda: f"{component.ctype.__name__} '{component.name}'"
