"""Pyomo: a model with embedded networks as a Program and Embeddings, and the answer back in its variables.

extraction = extract(model)
result = dcembed.solve(extraction.program, extraction.embeddings)
restore(extraction, result)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from itertools import chain, compress
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from pyomo.common.gc_manager import PauseGC
from pyomo.core.base.block import BlockData
from pyomo.core.base.external import ExternalFunction
from pyomo.core.staleflag import StaleFlagManager
from pyomo.gdp import Disjunct, Disjunction
from pyomo.network import Port

from dcembed.arrays import Array
from dcembed.embedded.embedding import AffineInputs, Embedding
from dcembed.errors import DcembedError, InputError
from dcembed.frontends.contract import Extraction, is_loaded
from dcembed.frontends.messages import PRODUCT
from dcembed.frontends.pyomo_component import NetworkConstraint
from dcembed.frontends.pyomo_disjuncts import DisjunctRows, read_disjuncts, settled_constraints
from dcembed.frontends.pyomo_embed import EmbeddedNetwork, embedded_networks
from dcembed.frontends.pyomo_expressions import Columns, ExpressionRows, new_visitor, no_value, read_expressions
from dcembed.frontends.pyomo_names import component_names
from dcembed.program.cones import QuadraticConstraint
from dcembed.program.derive import widened
from dcembed.program.nonconvex import split_quadratic
from dcembed.program.program import Program
from dcembed.result import Result
from dcembed.words import Words

WORDS = Words(go_on="warmstart=True", nearest="loaded into the variables with load_infeasible=True")

ACCEPTED = (
    "Linear and convex quadratic constraints are accepted; a network goes in with dcembed.pyomo.embed. "
    "Reformulate the constraint or deactivate it."
)
OBJECTIVE = "Linear and quadratic objectives are accepted."
INPUT = "Inputs and outputs are linear in the variables."

KNOWN = {pyo.Block, pyo.Constraint, pyo.Objective, pyo.Var, pyo.Param, pyo.Expression, pyo.Set, pyo.RangeSet, pyo.Suffix, pyo.BooleanVar}
KNOWN |= {ExternalFunction, Port, Disjunct, Disjunction, pyo.BuildAction, pyo.BuildCheck}
REMEDIES = {
    "LogicalConstraint": 'Apply TransformationFactory("core.logical_to_linear").apply_to(model) first.',
    "Arc": 'Apply TransformationFactory("network.expand_arcs").apply_to(model) first.',
    "SOSConstraint": "Write it with binary variables.",
    "Complementarity": "Write it with binary variables.",
}


@dataclass(frozen=True, eq=False)
class PyomoModel:
    """A model, and the variables of the first columns.

    Fixed variables are constants of the program. Columns after those of `variables` stand for outputs that are expressions.
    """

    model: Any
    variables: list[Any]


@dataclass(frozen=True, eq=False)
class _Rows:
    """lb <= terms <= ub, one row per constraint."""

    terms: ExpressionRows
    lb: Array
    ub: Array
    names: list[str]


def extract(model: Any) -> Extraction[PyomoModel]:
    """Read a model; nothing of it is changed."""
    _check_model(model)
    with PauseGC():
        visitor = new_visitor()
        networks = list(embedded_networks(model))
        objective, maximize = _read_objective(visitor, model)
        rows = _read_rows(visitor, chain(model.component_data_objects(pyo.Constraint, active=True), settled_constraints(model)))
        disjuncts = read_disjuncts(visitor, model, lambda constraints: _read_rows(visitor, constraints))
        inputs = [_read_entries(visitor, network, "input") for network in networks]
        outputs = [_read_entries(visitor, network, "output") for network in networks]
        parts = (objective, rows.terms, *disjuncts.terms, *inputs, *outputs)
        columns = Columns(visitor.var_map, [_mentioned(terms) for terms in parts])
    return _build(model, columns, objective, maximize, rows, disjuncts, networks, inputs, outputs)


def restore(extraction: Extraction[PyomoModel], result: Result, load_infeasible: bool = False) -> None:
    """Put the values of a feasible point into the model's variables."""
    if result.x is None or not is_loaded(result, load_infeasible):
        return
    variables = extraction.handle.variables
    StaleFlagManager.mark_all_as_stale(delayed=True)
    for variable, value in zip(variables, result.x[: len(variables)].tolist(), strict=True):
        variable.set_value(value, skip_validation=True)
    StaleFlagManager.mark_all_as_stale(delayed=True)


def current_point(extraction: Extraction[PyomoModel]) -> Array:
    """The values that the variables have now; zero, or the bound nearest to it, where there is none."""
    program = extraction.program
    w: Array = np.clip(np.zeros(program.num_columns), program.lb, program.ub)
    for number, variable in enumerate(extraction.handle.variables):
        if variable.value is not None:
            w[number] = variable.value
    return w


# Reading.


def _check_model(model: Any) -> None:
    if not isinstance(model, BlockData):
        raise InputError(
            f"A Pyomo model or block is solved, received {type(model).__name__}. Models of pyomo.kernel are not read; use pyomo.environ."
        )
    if not model.is_constructed():
        raise InputError(f"The model '{model.name}' is abstract. Make a concrete model with create_instance() first.")
    for ctype in model.collect_ctypes(active=True, descend_into=True):
        if ctype in KNOWN or ctype.__name__ in ("ContinuousSet", "Piecewise"):
            continue
        found = next(iter(model.component_objects(ctype, active=True)))
        remedy = REMEDIES.get(ctype.__name__, "Transform or deactivate it first.")
        raise InputError(f"'{found.name}' is an active {ctype.__name__}, which is not read. {remedy}")


def _read_objective(visitor: Any, model: Any) -> tuple[ExpressionRows, bool]:
    """What is optimized, and whether it is maximized."""
    found = list(model.component_data_objects(pyo.Objective, active=True))
    if len(found) > 1:
        names = ", ".join(f"'{objective.name}'" for objective in found[:5])
        raise InputError(f"The model has {len(found)} active objectives: {names}. Deactivate all but one.")
    if not found:
        return read_expressions(visitor, [(lambda: "The objective", 0.0)], OBJECTIVE), False
    objective = found[0]
    terms = read_expressions(visitor, [(lambda: f"Objective '{objective.name}'", objective.expr)], OBJECTIVE)
    return terms, bool(objective.sense == pyo.maximize)


def _read_rows(visitor: Any, constraints: Iterable[Any]) -> _Rows:
    bounds, kept, bodies = [], [], []
    for constraint in constraints:
        if isinstance(constraint, NetworkConstraint):
            continue
        lb, body, ub = _bounded(constraint)
        if lb is not None or ub is not None:
            bounds.append((-np.inf if lb is None else lb, np.inf if ub is None else ub))
            kept.append(constraint)
            bodies.append(body)
    terms = read_expressions(visitor, zip(map(_namer, kept), bodies, strict=True), ACCEPTED)
    limits = np.array(bounds, dtype=np.float64).reshape(-1, 2)
    unknown = np.flatnonzero(np.isnan(limits).any(axis=1))
    if unknown.size:
        raise InputError(f"Constraint '{kept[unknown[0]].name}' has a bound that is not a number.")
    return _Rows(terms, limits[:, 0] - terms.constant, limits[:, 1] - terms.constant, component_names(kept))


def _bounded(constraint: Any) -> tuple[float | None, Any, float | None]:
    try:
        lb, body, ub = constraint.to_bounded_expression()
        return pyo.value(lb), body, pyo.value(ub)
    except ValueError as error:
        raise no_value(f"Constraint '{constraint.name}'", error) from None


def _namer(constraint: Any) -> Any:
    return lambda: f"Constraint '{constraint.name}'"


def _read_entries(visitor: Any, network: EmbeddedNetwork, kind: str) -> ExpressionRows:
    def namer(number: int) -> Any:
        return lambda: _entry_name(network, kind, number)

    entries = (entry for row in getattr(network, kind) for entry in row)
    terms = read_expressions(visitor, [(namer(number), entry) for number, entry in enumerate(entries)], INPUT)
    for number in terms.quadratic:
        raise InputError(f"{_entry_name(network, kind, number)} has a quadratic term. {INPUT}")
    return terms


def _entry_name(network: EmbeddedNetwork, kind: str, number: int) -> str:
    """What to call an input or output, counted row by row."""
    rows = getattr(network, kind)
    i, j = divmod(number, len(rows[0]))
    return f"{kind.capitalize()} {j} of the network on '{network.block}'" + (f" (row {i})" if len(rows) > 1 else "")


def _mentioned(terms: ExpressionRows) -> Array:
    pairs = [np.array(list(row), dtype=np.int64).reshape(-1) for row in terms.quadratic.values()]
    return np.concatenate([terms.variables, *pairs])


# Building.


def _build(
    model: Any,
    columns: Columns,
    objective: ExpressionRows,
    maximize: bool,
    rows: _Rows,
    disjuncts: DisjunctRows,
    networks: list[EmbeddedNetwork],
    inputs: list[ExpressionRows],
    outputs: list[ExpressionRows],
) -> Extraction[PyomoModel]:
    if columns.size == 0:
        raise InputError(f"The model '{model.name}' has no variables to solve for: all are fixed, or none is used.")
    _refuse_quadratic(disjuncts.rows)
    lb, ub, integer = _read_variables(columns.variables)
    targets, links = _link_outputs(columns, networks, outputs)
    n = columns.size + links.num_columns
    linear = np.array([row not in rows.terms.quadratic for row in range(rows.terms.num_rows)], dtype=bool)
    matrix = sp.csr_array(sp.vstack([rows.terms.matrix(columns)[linear], disjuncts.choice_matrix(columns)]))
    half = objective.quadratic_matrix(0, columns)
    quadratic, concave = split_quadratic(widened(sp.csr_array(half + half.T), n, n), maximize)
    program = Program(
        cost=widened(objective.matrix(columns), 1, n).toarray()[0],
        quadratic=quadratic,
        concave=concave,
        offset=float(objective.constant[0]),
        rows=sp.vstack([widened(matrix, matrix.shape[0], n), links.matrix()]),
        row_lb=np.concatenate([rows.lb[linear], disjuncts.choice_lb, links.constant]),
        row_ub=np.concatenate([rows.ub[linear], disjuncts.choice_ub, links.constant]),
        lb=np.concatenate([lb, np.full(links.num_columns, -np.inf)]),
        ub=np.concatenate([ub, np.full(links.num_columns, np.inf)]),
        integer=np.concatenate([integer, np.zeros(links.num_columns, dtype=bool)]),
        indicators=disjuncts.indicators(columns, n),
        quadratic_constraints=_quadratic_constraints(rows, columns, n),
        maximize=maximize,
        column_names=[*component_names(columns.variables), *links.names],
        row_names=[*compress(rows.names, linear), *disjuncts.choice_names, *links.names],
    )
    embeddings = tuple(map(partial(_build_embedding, columns, n), networks, inputs, targets))
    return Extraction(program, embeddings, PyomoModel(model, columns.variables))


def _refuse_quadratic(parts: list[Any]) -> None:
    """A disjunct becomes indicators, whose rows are linear."""
    for rows in parts:
        for row in rows.terms.quadratic:
            raise InputError(
                f"Constraint '{rows.names[row]}' has a quadratic term inside a disjunct. Linear constraints are accepted there."
            )


def _quadratic_constraints(rows: _Rows, columns: Columns, n: int) -> list[QuadraticConstraint]:
    """Convex quadratic constraints, bounded on the side on which they are convex."""
    matrix = widened(rows.terms.matrix(columns), rows.terms.num_rows, n)
    found = []
    for row in rows.terms.quadratic:
        name, lb, ub = rows.names[row], rows.lb[row], rows.ub[row]
        if np.isfinite(lb) and np.isfinite(ub):
            raise InputError(f"Constraint '{name}' is quadratic and bounded on both sides, which is not convex. {ACCEPTED} {PRODUCT}.")
        sign = 1.0 if np.isfinite(ub) else -1.0
        half = rows.terms.quadratic_matrix(row, columns)
        quadratic = widened(sp.csr_array(sign * (half + half.T)), n, n)
        try:
            found.append(QuadraticConstraint(quadratic, sign * matrix[[row]], ub if sign > 0 else -lb, name))
        except DcembedError as error:
            raise InputError(f"Constraint '{name}' is quadratic, but not convex. {error} {PRODUCT}.") from None
    return found


def _build_embedding(columns: Columns, n: int, network: EmbeddedNetwork, inputs: ExpressionRows, target: Array) -> Embedding:
    k = len(network.input)
    mapped = AffineInputs(widened(inputs.matrix(columns), inputs.num_rows, n), inputs.constant.reshape(k, -1))
    return Embedding(network.network, mapped, target.reshape(k, -1), network.support)


def _read_variables(variables: list[Any]) -> tuple[Array, Array, Array]:
    """Bounds, those of the domain included, and which are integer."""
    steps: dict[int, Any] = {}
    integer = np.zeros(len(variables), dtype=bool)
    bounds = np.empty((len(variables), 2))
    for number, variable in enumerate(variables):
        domain = variable.domain
        if id(domain) not in steps:
            steps[id(domain)] = domain.get_interval()[2]
        if steps[id(domain)] not in (0, 1):
            raise InputError(f"Variable '{variable.name}' has the domain {domain}; intervals of reals and of integers are accepted.")
        integer[number] = steps[id(domain)] == 1
        try:
            lb, ub = variable.bounds
        except ValueError as error:
            raise no_value(f"A bound of variable '{variable.name}'", error) from None
        bounds[number] = -np.inf if lb is None else lb, np.inf if ub is None else ub
    return bounds[:, 0], bounds[:, 1], integer


@dataclass(frozen=True, eq=False)
class _Links:
    """Columns of their own for outputs that are expressions: column - expression = constant."""

    expressions: sp.csr_array
    constant: Array
    names: list[str]

    @property
    def num_columns(self) -> int:
        return self.constant.size

    def matrix(self) -> sp.csr_array:
        return sp.csr_array(sp.hstack([-self.expressions, sp.eye_array(self.num_columns)]))


def _link_outputs(columns: Columns, networks: list[EmbeddedNetwork], outputs: list[ExpressionRows]) -> tuple[list[Array], _Links]:
    """Columns that stand for the outputs: a variable's own where it is its first use, a new one otherwise."""
    taken: set[int] = set()
    targets, expressions, constants = [], [sp.csr_array((0, columns.size))], [np.empty(0)]
    names: list[str] = []
    for network, terms in zip(networks, outputs, strict=True):
        matrix = terms.matrix(columns)
        target = np.full(terms.num_rows, -1)
        plain = (np.diff(matrix.indptr) == 1) & (terms.constant == 0)
        plain[plain] = matrix.data[matrix.indptr[:-1][plain]] == 1
        for row in np.flatnonzero(plain):
            column = int(matrix.indices[matrix.indptr[row]])
            if column not in taken:
                taken.add(column)
                target[row] = column
        new = np.flatnonzero(target < 0)
        target[new] = columns.size + len(names) + np.arange(new.size)
        names += [_entry_name(network, "output", int(row)) for row in new]
        expressions.append(matrix[new])
        constants.append(terms.constant[new])
        targets.append(target)
    return targets, _Links(sp.csr_array(sp.vstack(expressions)), np.concatenate(constants), names)
