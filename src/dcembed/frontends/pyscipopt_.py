"""PySCIPOpt: a model as Program and Embeddings, and the answer back as a solution that SCIP keeps.

A network adds no constraint that SCIP sees. The best point is added to the solutions that SCIP keeps with an unsolved problem, so that
`scip.getVal`, `scip.getBestSol` and `scip.getObjVal` read it; the problem itself is not touched.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.verify import verify
from dcembed.engine.solve import solve
from dcembed.errors import InputError
from dcembed.frontends.pyscipopt_predictor import column_numbers, pyscipopt, registry
from dcembed.frontends.pyscipopt_quadratic import QuadraticRow, lift_objective, read_quadratic
from dcembed.program.program import Indicator, Program
from dcembed.result import Result

INFINITY = 1e20

_CARRIES = "dcembed takes linear, indicator and convex quadratic constraints beside the networks"


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
class Extraction:
    """A model as matrices, and the way back.

    Parameters
    ----------
    program, embeddings
        Columns are `variables`.
    variables
        All variables but the slacks of indicators.
    epigraphs
        Column of each variable that stands for a quadratic in the objective, and the row that defines it; its column is fixed at zero.
    indicators
        With their slacks.
    """

    program: Program
    embeddings: list[Embedding]
    variables: list[Any]
    epigraphs: dict[int, QuadraticRow]
    indicators: list[ScipIndicator]

    def values(self, x: Array) -> dict[int, float]:
        """Values of all variables of the model at x, by pointer."""
        point = x.copy()
        for column, row in self.epigraphs.items():
            point[column] = row.solve_for(column, x)
        values = {variable.ptr(): float(value) for variable, value in zip(self.variables, point, strict=True)}
        for item in self.indicators:
            excess = float((item.indicator.coefficients @ point)[0]) - item.indicator.ub
            values[item.slack.ptr()] = max(excess, 0.0)
        return values


def optimize(scip: pyscipopt.Model, time_limit: float | None = None, start: Any = None, **options: Any) -> ScipResult:
    """Find a good feasible point of a PySCIPOpt model with embedded networks.

    Parameters
    ----------
    scip
        Not yet solved, or after `scip.freeTransform()`.
    time_limit
        Seconds. None takes SCIP's parameter limits/time.
    start
        A solution of SCIP (`scip.createSol()` with values set) to begin from.
    options
        Of `dcembed.Options`. `verbose` is False where display/verblevel is 0, if not given; `scip.hideOutput()` cannot be seen from here.

    Returns
    -------
    A `Result` with `value(variable)`. Its objective is minimized: the negative of SCIP's for "maximize". A feasible point is also
    added to the solutions of `scip`, where `scip.getVal(variable)` reads the best one.
    """
    if not registry(scip):
        raise InputError("optimize: no network is embedded in the model. Call add_predictor_constr first, or scip.optimize() for SCIP.")
    extraction = extract(scip)
    limit = scip.getParam("limits/time") if time_limit is None else time_limit
    settings = {"time_limit": limit if limit < INFINITY else np.inf, "verbose": scip.getParam("display/verblevel") > 0, **options}
    point = None if start is None else _read_start(scip, extraction, start)
    return restore(scip, extraction, solve(extraction.program, extraction.embeddings, point, settings))


def extract(scip: pyscipopt.Model) -> Extraction:
    """The model as matrices, and what is embedded in it."""
    if scip.getStageName() != "PROBLEM":
        raise InputError(
            f"optimize: SCIP is in the stage {scip.getStageName()}; dcembed reads problems that are not being solved. Call scip.freeTransform() first."
        )
    kinds: dict[str, list] = {"linear": [], "indicator": [], "nonlinear": []}
    for constraint in scip.getConss():
        kind = constraint.getConshdlrName()
        if kind not in kinds:
            raise InputError(f"optimize: the constraint '{constraint.name}' is of kind {kind}; {_CARRIES}.")
        kinds[kind].append(constraint)
    slacks = [scip.getSlackVarIndicator(constraint) for constraint in kinds["indicator"]]
    inner = [scip.getLinearConsIndicator(constraint) for constraint in kinds["indicator"]]
    aside, hidden = {slack.ptr() for slack in slacks}, {row.ptr() for row in inner}
    variables = [variable for variable in scip.getVars() if variable.ptr() not in aside]
    numbers = {variable.ptr(): number for number, variable in enumerate(variables)}
    embeddings = [predictor.embed(numbers, len(variables)) for predictor in registry(scip)]

    rows, row_lb, row_ub = _read_rows(scip, [row for row in kinds["linear"] if row.ptr() not in hidden], numbers)
    body, body_lb, body_ub = _read_rows(scip, inner, {**numbers, **dict.fromkeys(aside, -1)})
    indicators = [
        ScipIndicator(Indicator(*_read_binary(scip, constraint, variables, numbers), body[[i]], body_lb[i], body_ub[i]), slacks[i])
        for i, constraint in enumerate(kinds["indicator"])
    ]
    lb = _unlimited([variable.getLbOriginal() for variable in variables])
    ub = _unlimited([variable.getUbOriginal() for variable in variables])
    crossed = np.flatnonzero(lb > ub)
    if crossed.size:
        name = variables[crossed[0]].name
        raise InputError(f"optimize: the bounds of the variable '{name}' cross: lb = {lb[crossed[0]]:g} > ub = {ub[crossed[0]]:g}.")
    sign = -1.0 if scip.getObjectiveSense() == "maximize" else 1.0
    integer = np.array([variable.vtype() != "CONTINUOUS" for variable in variables])
    linear = Program(
        cost=[sign * variable.getObj() for variable in variables],
        offset=sign * scip.getObjoffset(),
        rows=rows,
        row_lb=row_lb,
        row_ub=row_ub,
        lb=lb,
        ub=ub,
        integer=integer,
        indicators=[item.indicator for item in indicators],
    )
    quadratics = [read_quadratic(scip, constraint, numbers, _CARRIES) for constraint in kinds["nonlinear"]]
    program, epigraphs = lift_objective(linear, quadratics, embeddings)
    return Extraction(program, embeddings, variables, epigraphs, indicators)


def restore(scip: pyscipopt.Model, extraction: Extraction, result: Result) -> ScipResult:
    """Add a feasible point to SCIP's solutions and to the predictors."""
    values = {} if result.x is None else extraction.values(result.x)
    for predictor, embedding in zip(registry(scip), extraction.embeddings, strict=True):
        predictor.keep((embedding.points(result.x), result.x[embedding.outputs]) if result.is_feasible and result.x is not None else None)
    if result.is_feasible:
        solution = scip.createSol()
        for variable in [*extraction.variables, *(item.slack for item in extraction.indicators)]:
            scip.setSolVal(solution, variable, values[variable.ptr()])
        scip.addSol(solution, free=True)
        # PySCIPOpt remembers what it last called the best solution.
        _warn_of_earlier(extraction, result, _read_start(scip, extraction, scip.getBestSol()))
    return ScipResult(**{item.name: getattr(result, item.name) for item in fields(result)}, values=values)


def _warn_of_earlier(extraction: Extraction, result: Result, kept: Array) -> None:
    """SCIP sorts solutions by their objective and drops none, even one that a changed model does not allow any more."""
    measured = verify(extraction.program, extraction.embeddings, kept)
    worse = measured.objective > result.objective + 1e-6 * max(1.0, abs(result.objective))
    if worse or measured.violation > result.feasibility_tol:
        warnings.warn(
            "SCIP keeps an earlier solution that is worse or not allowed in this model and its networks, "
            "and scip.getVal and scip.getObjVal go on reading it. "
            "The values of this run are result.value(...) and those of the predictors.",
            stacklevel=4,
        )


def _read_start(scip: pyscipopt.Model, extraction: Extraction, solution: Any) -> Array:
    if not isinstance(solution, pyscipopt.scip.Solution):
        raise InputError(f"optimize: start is a solution from scip.createSol(), received {type(solution).__name__}.")
    point = np.array([scip.getSolVal(solution, variable) for variable in extraction.variables])
    point[list(extraction.epigraphs)] = 0.0
    return point


def _read_rows(scip: pyscipopt.Model, constraints: list, numbers: Mapping[int, int]) -> tuple[sp.csr_array, Array, Array]:
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
    return matrix, _unlimited([scip.getLhs(c) for c in constraints]), _unlimited([scip.getRhs(c) for c in constraints])


def _read_binary(scip: pyscipopt.Model, constraint: Any, variables: list, numbers: Mapping[int, int]) -> tuple[int, int]:
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


def _unlimited(values: list[float]) -> Array:
    array = np.array(values, dtype=np.float64)
    return np.where(np.abs(array) >= INFINITY, np.copysign(np.inf, array), array)
