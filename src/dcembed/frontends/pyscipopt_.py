"""PySCIPOpt: a model as Program and Embeddings, and the answer back as a solution that SCIP keeps.

A network adds no constraint to the problem. It is read as the user wrote it, in whatever stage SCIP is, and the best point becomes a solution
of SCIP, so that `scip.getVal`, `scip.getBestSol` and `scip.getObjVal` read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pyscipopt
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.frontends.contract import Extraction, is_loaded
from dcembed.frontends.extension import extend
from dcembed.frontends.infinity import unlimited
from dcembed.frontends.messages import CARRIES
from dcembed.frontends.probability import bound_scores, join
from dcembed.frontends.pyscipopt_generals import KINDS as GENERALS
from dcembed.frontends.pyscipopt_generals import read_extension
from dcembed.frontends.pyscipopt_predictor import column_numbers, registry
from dcembed.frontends.pyscipopt_quadratic import QuadraticRow, lift_objective, read_quadratic
from dcembed.program.program import Indicator, Program
from dcembed.result import Result
from dcembed.words import Words

WORDS = Words(
    go_on="optimize(scip, start=result)",
    nearest="given by result.value(variable)",
    prove="optimize(scip, prove='auto')",
    named={"time_limit": "limits/time", "gap_tol": "limits/gap"},
)


@dataclass(frozen=True, eq=False, repr=False)
class ScipResult(Result):
    """A `Result` that knows SCIP's variables.

    Parameters
    ----------
    values
        Value of each variable of the model by its pointer, `variable.ptr()`; empty without a point.
    """

    values: Mapping[int, float] = field(kw_only=True)

    def value(self, expression: Any) -> Any:
        """Value of a variable, of a polynomial expression, or of a list or array of them; None without a point."""
        if isinstance(expression, list | tuple | np.ndarray):
            return np.vectorize(self.value, otypes=[float])(np.asarray(expression, dtype=object))
        if not self.values:
            return None
        if isinstance(expression, pyscipopt.scip.GenExpr):
            raise InputError(f"value: {expression!r:.60} is no polynomial. Give its variables, and compute the rest from their values.")
        if not isinstance(expression, pyscipopt.Expr):
            return float(expression)
        terms = expression.terms.items()
        return float(sum(c * np.prod([self.values[v.ptr()] for v in term.vartuple]) for term, c in terms))


@dataclass(frozen=True, eq=False)
class ScipIndicator:
    """An indicator constraint: its row, and the slack variable by which SCIP writes it."""

    indicator: Indicator
    slack: Any


@dataclass(frozen=True, eq=False)
class ScipModel:
    """A model and its variables.

    Parameters
    ----------
    scip
        The model.
    variables
        Those of the columns: all but the slacks of indicators.
    epigraphs
        Column of each variable that stands for a quadratic in the objective, and the row that defines it; its column is fixed at zero.
    indicators
        With their slacks.
    """

    scip: pyscipopt.Model
    variables: list[Any]
    epigraphs: dict[int, QuadraticRow]
    indicators: list[ScipIndicator]

    def values(self, x: Array) -> dict[int, float]:
        """Values of all variables of the model at x, by pointer."""
        point = x.copy()
        for column, row in self.epigraphs.items():
            point[column] = row.solve_for(column, x)
        values = {variable.ptr(): float(value) for variable, value in zip(self.variables, point[: len(self.variables)], strict=True)}
        for item in self.indicators:
            excess = float((item.indicator.coefficients @ point[: len(self.variables)])[0]) - item.indicator.ub
            values[item.slack.ptr()] = max(excess, 0.0)
        return values


def extract(scip: pyscipopt.Model) -> Extraction[ScipModel]:
    """The model as matrices, and what is embedded in it."""
    kinds: dict[str, list[Any]] = {kind: [] for kind in ("linear", "indicator", "nonlinear", *GENERALS)}
    for constraint in scip.getConss(transformed=False):
        kind = constraint.getConshdlrName()
        if kind not in kinds:
            raise InputError(f"optimize: the constraint '{constraint.name}' is of kind {kind}; {CARRIES}.")
        kinds[kind].append(constraint)
    slacks = [scip.getSlackVarIndicator(constraint) for constraint in kinds["indicator"]]
    inner = [scip.getLinearConsIndicator(constraint) for constraint in kinds["indicator"]]
    aside, hidden = {slack.ptr() for slack in slacks}, {row.ptr() for row in inner}
    variables = [variable for variable in scip.getVars() if variable.ptr() not in aside]
    numbers = {variable.ptr(): number for number, variable in enumerate(variables)}
    embeddings = tuple(predictor.embed(numbers, len(variables)) for predictor in registry(scip))

    plain = [row for row in kinds["linear"] if row.ptr() not in hidden]
    rows, row_lb, row_ub = _read_rows(scip, plain, numbers)
    body, body_lb, body_ub = _read_rows(scip, inner, {**numbers, **dict.fromkeys(aside, -1)})
    indicators = []
    for i, constraint in enumerate(kinds["indicator"]):
        column, value = _read_binary(scip, constraint, variables, numbers)
        indicators.append(ScipIndicator(Indicator(column, value, body[[i]], body_lb[i], body_ub[i], constraint.name), slacks[i]))
    linear = Program(
        cost=[variable.getObj() for variable in variables],
        offset=scip.getObjoffset(),
        rows=rows,
        row_lb=row_lb,
        row_ub=row_ub,
        lb=unlimited([variable.getLbOriginal() for variable in variables]),
        ub=unlimited([variable.getUbOriginal() for variable in variables]),
        integer=np.array([variable.vtype() != "CONTINUOUS" for variable in variables]),
        indicators=[item.indicator for item in indicators],
        maximize=scip.getObjectiveSense() == "maximize",
        column_names=[variable.name for variable in variables],
        row_names=[constraint.name for constraint in plain],
    )
    extension = read_extension(scip, [constraint for kind in GENERALS for constraint in kinds[kind]], numbers, linear)
    linear, embeddings = extend(linear, embeddings, extension)
    quadratics = [read_quadratic(scip, constraint, numbers, linear.num_columns) for constraint in kinds["nonlinear"]]
    program, epigraphs = lift_objective(linear, quadratics, embeddings)
    probabilities = join([predictor.probabilities(numbers) for predictor in registry(scip)])
    handle = ScipModel(scip, variables, epigraphs, indicators)
    return Extraction(bound_scores(program, embeddings, probabilities), embeddings, handle, probabilities, extension)


def restore(extraction: Extraction[ScipModel], result: Result, load_infeasible: bool = False) -> ScipResult:
    """Add a feasible point to SCIP's solutions and to the predictors; SCIP takes no other, and predictors only where that is asked for."""
    model, scip = extraction.handle, extraction.handle.scip
    values = {} if result.x is None else model.values(result.x)
    for predictor in registry(scip):
        predictor.keep(values if is_loaded(result, load_infeasible) and values else None)
    if result.is_feasible:
        if scip.getStageName() == "SOLVED":
            # SCIP has given the problem up, and takes solutions again once it has forgotten that.
            scip.freeTransform()
        solution = scip.createOrigSol()
        for variable in [*model.variables, *(item.slack for item in model.indicators)]:
            scip.setSolVal(solution, variable, values[variable.ptr()])
        scip.addSol(solution, free=True)
    return ScipResult(**{item.name: getattr(result, item.name) for item in fields(result)}, values=values)


def read_solution(extraction: Extraction[ScipModel], solution: Any) -> Array:
    """A solution of SCIP as a point of the program."""
    model = extraction.handle
    point = np.array([model.scip.getSolVal(solution, variable) for variable in model.variables])
    point[list(model.epigraphs)] = 0.0
    return point


def _read_rows(scip: pyscipopt.Model, constraints: list[Any], numbers: Mapping[int, int]) -> tuple[sp.csr_array, Array, Array]:
    """Rows with their bounds; variables with the number -1 are left out."""
    entry_row, entry_column, data = [], [], []
    for i, constraint in enumerate(constraints):
        columns = column_numbers(scip.getConsVars(constraint), numbers, f"in the constraint '{constraint.name}'")
        keep = columns >= 0
        entry_row.append(np.full(keep.sum(), i))
        entry_column.append(columns[keep])
        data.append(np.array(scip.getConsVals(constraint), dtype=np.float64)[keep])
    empty = [np.zeros(0, dtype=np.int64)]
    place = np.concatenate(empty + entry_row), np.concatenate(empty + entry_column)
    width = max(numbers.values(), default=-1) + 1
    matrix = sp.csr_array((np.concatenate([np.zeros(0), *data]), place), shape=(len(constraints), width))
    return matrix, unlimited([scip.getLhs(c) for c in constraints]), unlimited([scip.getRhs(c) for c in constraints])


def _read_binary(scip: pyscipopt.Model, constraint: Any, variables: list[Any], numbers: Mapping[int, int]) -> tuple[int, int]:
    """Column and value that switch an indicator on. SCIP writes "b = 0" with a variable 1 - b that it calls b_neg."""
    binary = scip.getConsVars(constraint)[0]
    if binary.ptr() in numbers:
        return numbers[binary.ptr()], 1
    name = binary.name.removesuffix("_neg")
    same = [number for number, variable in enumerate(variables) if variable.name == name]
    if len(same) != 1:
        raise InputError(
            f"optimize: the binary variable of the indicator constraint '{constraint.name}' cannot be told: {len(same)} variables are "
            f"called '{name}'. Give variables different names."
        )
    return same[0], 0
