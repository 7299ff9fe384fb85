"""Pyomo: a model with embedded networks as a Program and Embeddings, and the answer back in its variables.

host = extract(model)
result = dcembed.solve(host.program, host.embeddings)
restore(host, result.x)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from itertools import chain
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
from dcembed.frontends.pyomo_disjuncts import DisjunctRows, read_disjuncts, settled_constraints
from dcembed.frontends.pyomo_embed import EmbeddedNetwork, embedded_networks
from dcembed.frontends.pyomo_terms import Columns, Terms, new_visitor, no_value, read_terms
from dcembed.program.cones import QuadraticConstraint
from dcembed.program.program import Program

ACCEPTED = (
    "Linear and convex quadratic constraints are accepted; a network goes in with dcembed.pyomo.embed. "
    "Reformulate the constraint or deactivate it."
)
OBJECTIVE = "Linear and convex quadratic objectives are accepted."
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
class Host:
    """A Pyomo model as matrices.

    Parameters
    ----------
    program, embeddings
        What is solved. Columns after those of `variables` stand for outputs that are expressions.
    variables
        The Pyomo variables of the first columns. Fixed variables are constants of the program.
    sense
        1 to minimize, -1 to maximize: the model's objective is `sense` times the program's.
    """

    program: Program
    embeddings: tuple[Embedding, ...]
    variables: list[Any]
    sense: int


@dataclass(frozen=True, eq=False)
class _Rows:
    """lb <= terms <= ub, one row per constraint; `names` are called for messages."""

    terms: Terms
    lb: Array
    ub: Array
    names: list[Any]


def extract(model: Any) -> Host:
    """Read a model; nothing of it is changed."""
    _check_model(model)
    with PauseGC():
        visitor = new_visitor()
        objective, sense = _read_objective(visitor, model)
        rows = _read_rows(visitor, chain(model.component_data_objects(pyo.Constraint, active=True), settled_constraints(model)))
        disjuncts = read_disjuncts(visitor, model, lambda constraints: _read_rows(visitor, constraints))
        networks = list(embedded_networks(model))
        inputs = [_read_entries(visitor, network, "input") for network in networks]
        outputs = [_read_entries(visitor, network, "output") for network in networks]
        parts = (objective, rows.terms, *disjuncts.terms, *inputs, *outputs)
        columns = Columns(visitor.var_map, [_mentioned(terms) for terms in parts])
    return _build(model, columns, objective, sense, rows, disjuncts, networks, inputs, outputs)


def restore(host: Host, x: Array) -> None:
    """Put the values of a point into the model's variables."""
    StaleFlagManager.mark_all_as_stale(delayed=True)
    for variable, value in zip(host.variables, x[: len(host.variables)].tolist(), strict=True):
        variable.set_value(value, skip_validation=True)
    StaleFlagManager.mark_all_as_stale(delayed=True)


def current_point(host: Host) -> Array:
    """The values that the variables have now; zero, or the bound nearest to it, where there is none."""
    program = host.program
    w = np.clip(np.zeros(program.num_columns), program.lb, program.ub)
    for number, variable in enumerate(host.variables):
        if variable.value is not None:
            w[number] = variable.value
    return w


def name_columns(host: Host, message: str) -> str:
    """A message of the engine with the names of variables where it has numbers of columns."""

    def name(match: re.Match) -> str:
        noun = "Variable" if match.group(1) == "Column" else "variable"
        return f"{noun} '{host.variables[int(match.group(2))].name}'" if int(match.group(2)) < len(host.variables) else match.group(0)

    return re.sub(r"\b(Column|column) (\d+)", name, message)


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


def _read_objective(visitor: Any, model: Any) -> tuple[Terms, int]:
    found = list(model.component_data_objects(pyo.Objective, active=True))
    if len(found) > 1:
        names = ", ".join(f"'{objective.name}'" for objective in found[:5])
        raise InputError(f"The model has {len(found)} active objectives: {names}. Deactivate all but one.")
    if not found:
        return read_terms(visitor, [(lambda: "The objective", 0.0)], OBJECTIVE), 1
    objective = found[0]
    return read_terms(visitor, [(lambda: f"Objective '{objective.name}'", objective.expr)], OBJECTIVE), int(objective.sense)


def _read_rows(visitor: Any, constraints: Iterable[Any]) -> _Rows:
    bounds, named = [], []
    for constraint in constraints:
        lb, body, ub = _bounded(constraint)
        if lb is not None or ub is not None:
            bounds.append((-np.inf if lb is None else lb, np.inf if ub is None else ub))
            named.append((_namer(constraint), body))
    terms = read_terms(visitor, named, ACCEPTED)
    limits = np.array(bounds, dtype=np.float64).reshape(-1, 2)
    unknown = np.flatnonzero(np.isnan(limits).any(axis=1))
    if unknown.size:
        raise InputError(f"{named[unknown[0]][0]()} has a bound that is not a number.")
    return _Rows(terms, limits[:, 0] - terms.constant, limits[:, 1] - terms.constant, [name for name, _ in named])


def _bounded(constraint: Any) -> tuple[float | None, Any, float | None]:
    try:
        lb, body, ub = constraint.to_bounded_expression()
        return pyo.value(lb), body, pyo.value(ub)
    except ValueError as error:
        raise no_value(f"Constraint '{constraint.name}'", error) from None


def _namer(constraint: Any) -> Any:
    return lambda: f"Constraint '{constraint.name}'"


def _read_entries(visitor: Any, network: EmbeddedNetwork, kind: str) -> Terms:
    rows = getattr(network, kind)

    def namer(i: int, j: int) -> Any:
        return lambda: f"{kind.capitalize()} {j} of the network on '{network.block}'" + (f" (row {i})" if len(rows) > 1 else "")

    named = [(namer(i, j), entry) for i, row in enumerate(rows) for j, entry in enumerate(row)]
    terms = read_terms(visitor, named, INPUT)
    for number in terms.quadratic:
        raise InputError(f"{named[number][0]()} has a quadratic term. {INPUT}")
    return terms


def _mentioned(terms: Terms) -> Array:
    pairs = [np.array(list(row), dtype=np.int64).reshape(-1) for row in terms.quadratic.values()]
    return np.concatenate([terms.variables, *pairs])


# Building.


def _build(
    model: Any,
    columns: Columns,
    objective: Terms,
    sense: int,
    rows: _Rows,
    disjuncts: DisjunctRows,
    networks: list[EmbeddedNetwork],
    inputs: list[Terms],
    outputs: list[Terms],
) -> Host:
    if columns.size == 0:
        raise InputError(f"The model '{model.name}' has no variables to solve for: all are fixed, or none is used.")
    _refuse_quadratic(disjuncts.rows)
    lb, ub, integer = _read_variables(columns.variables)
    targets, links = _link_outputs(columns, outputs)
    n = columns.size + links.num_columns
    linear = np.array([row not in rows.terms.quadratic for row in range(rows.terms.num_rows)], dtype=bool)
    matrix = sp.vstack([rows.terms.matrix(columns)[linear], disjuncts.choice_matrix(columns)])
    matrix = sp.vstack([_widen(matrix, n), links.matrix()])
    quadratic = objective.quadratic_matrix(0, columns)
    curved = _quadratic_constraints(rows, columns, n)
    try:
        program = Program(
            cost=sense * _widen(objective.matrix(columns), n).toarray()[0],
            quadratic=_widen_square(sense * (quadratic + quadratic.T), n) if quadratic.nnz else None,
            offset=sense * float(objective.constant[0]),
            rows=matrix,
            row_lb=np.concatenate([rows.lb[linear], disjuncts.choice_lb, links.constant]),
            row_ub=np.concatenate([rows.ub[linear], disjuncts.choice_ub, links.constant]),
            lb=np.concatenate([lb, np.full(links.num_columns, -np.inf)]),
            ub=np.concatenate([ub, np.full(links.num_columns, np.inf)]),
            integer=np.concatenate([integer, np.zeros(links.num_columns, dtype=bool)]),
            indicators=disjuncts.indicators(columns, n),
            quadratic_constraints=curved,
        )
    except DcembedError as error:
        # Everything else was checked by name before.
        name = next((objective.name for objective in model.component_data_objects(pyo.Objective, active=True)), "")
        raise InputError(f"Objective '{name}' is quadratic, but not convex. {error}") from None
    embeddings = tuple(map(partial(_build_embedding, columns, n), networks, inputs, targets))
    return Host(program, embeddings, columns.variables, sense)


def _refuse_quadratic(parts: list[Any]) -> None:
    """A disjunct becomes indicators, whose rows are linear."""
    for rows in parts:
        for row in rows.terms.quadratic:
            raise InputError(f"{rows.names[row]()} has a quadratic term inside a disjunct. Linear constraints are accepted there.")


def _quadratic_constraints(rows: _Rows, columns: Columns, n: int) -> list[QuadraticConstraint]:
    """Convex quadratic constraints, bounded on the side on which they are convex."""
    matrix = _widen(rows.terms.matrix(columns), n)
    found = []
    for row in rows.terms.quadratic:
        name, lb, ub = rows.names[row](), rows.lb[row], rows.ub[row]
        if np.isfinite(lb) and np.isfinite(ub):
            raise InputError(f"{name} is quadratic and bounded on both sides, which is not convex. {ACCEPTED}")
        sign = 1.0 if np.isfinite(ub) else -1.0
        half = rows.terms.quadratic_matrix(row, columns)
        try:
            found.append(QuadraticConstraint(_widen_square(sign * (half + half.T), n), sign * matrix[[row]], ub if sign > 0 else -lb))
        except DcembedError as error:
            raise InputError(f"{name} is quadratic, but not convex. {error}") from None
    return found


def _build_embedding(columns: Columns, n: int, network: EmbeddedNetwork, inputs: Terms, target: Array) -> Embedding:
    k = len(network.input)
    mapped = AffineInputs(_widen(inputs.matrix(columns), n), inputs.constant.reshape(k, -1))
    return Embedding(network.network, mapped, target.reshape(k, -1))


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
    crossed = np.flatnonzero(bounds[:, 0] > bounds[:, 1])
    if crossed.size:
        name, (lb, ub) = variables[crossed[0]].name, bounds[crossed[0]]
        raise InputError(f"The bounds of variable '{name}' cross: lb = {lb:g} > ub = {ub:g}.")
    return bounds[:, 0], bounds[:, 1], integer


@dataclass(frozen=True, eq=False)
class _Links:
    """Columns of their own for outputs that are expressions: column - expression = constant."""

    expressions: sp.csr_array
    constant: Array

    @property
    def num_columns(self) -> int:
        return self.constant.size

    def matrix(self) -> sp.csr_array:
        return sp.csr_array(sp.hstack([-self.expressions, sp.eye_array(self.num_columns)]))


def _link_outputs(columns: Columns, outputs: list[Terms]) -> tuple[list[Array], _Links]:
    """Columns that stand for the outputs: a variable's own where it is its first use, a new one otherwise."""
    taken: set[int] = set()
    targets, expressions, constants = [], [sp.csr_array((0, columns.size))], [np.empty(0)]
    num_new = 0
    for terms in outputs:
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
        target[new] = columns.size + num_new + np.arange(new.size)
        num_new += new.size
        expressions.append(matrix[new])
        constants.append(terms.constant[new])
        targets.append(target)
    return targets, _Links(sp.csr_array(sp.vstack(expressions)), np.concatenate(constants))


def _widen(matrix: Any, n: int) -> sp.csr_array:
    """More columns, all zero."""
    return sp.csr_array(sp.hstack([matrix, sp.csr_array((matrix.shape[0], n - matrix.shape[1]))]))


def _widen_square(matrix: Any, n: int) -> sp.csr_array:
    return sp.csr_array(sp.block_diag([matrix, sp.csr_array((n - matrix.shape[0], n - matrix.shape[0]))]))
