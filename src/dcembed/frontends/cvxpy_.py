"""CVXPY: a problem as Program and Embeddings, and the answer back in its variables.

A problem is extracted by CVXPY's own canonicalization. The inputs X of a network enter as equalities u = X with fresh columns u, whose
rows are the affine map from the other columns; rows and columns are taken out again, so nothing of them is left in the program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy
import numpy as np
import scipy.sparse as sp
from cvxpy.error import SolverError
from cvxpy.problems.problem import SolverStats
from cvxpy.reductions.solution import Solution

from dcembed.arrays import Array
from dcembed.embedded.embedding import AffineInputs, Embedding
from dcembed.frontends.contract import Extraction, is_loaded
from dcembed.frontends.cvxpy_matrices import Matrices
from dcembed.frontends.cvxpy_names import CanonicalNames, read_names
from dcembed.frontends.cvxpy_prediction import Prediction, predictions_in, read_predictions
from dcembed.frontends.cvxpy_rejections import check_problem, unsupported
from dcembed.program.cones import ConeConstraint
from dcembed.program.program import Program
from dcembed.result import Result
from dcembed.status import Status
from dcembed.words import Words

WORDS = Words(go_on="warm_start=True", nearest="loaded into the variables with load_infeasible=True")

# The other statuses are dcembed's names. To CVXPY "unbounded" is a proof, which a subproblem without bound is not.
_STATUSES = {Status.HOST_INFEASIBLE: "infeasible", Status.OUTSIDE_SUPPORT: "infeasible", Status.UNBOUNDED: "unbounded_subproblem"}


@dataclass(frozen=True, eq=False)
class CanonicalForm:
    """A CVXPY problem and what its canonical form was made by.

    Parameters
    ----------
    problem
        The user's.
    host
        The same with the inputs of the networks as variables.
    columns
        The columns of the canonical form that the program has.
    num_columns
        How many the canonical form has.
    variables
        The canonical form as CVXPY knows it: which columns are which variable's.
    chain, inverse_data
        CVXPY's way back from a point of the canonical form.
    """

    problem: cvxpy.Problem
    host: cvxpy.Problem
    columns: Array
    num_columns: int
    variables: Any
    chain: Any
    inverse_data: Any


def extract(problem: cvxpy.Problem) -> Extraction[CanonicalForm]:
    """The problem as a program and embeddings; nothing in it is changed."""
    with read_predictions():
        return _extract(problem)


def _extract(problem: cvxpy.Problem) -> Extraction[CanonicalForm]:
    predictions = predictions_in(problem)
    inputs = [cvxpy.Variable(prediction.inputs.shape) for prediction in predictions]
    links = [u == prediction.inputs for u, prediction in zip(inputs, predictions, strict=True)]
    host = cvxpy.Problem(problem.objective, [*problem.constraints, *links])
    check_problem(problem, host, predictions)
    try:
        # Parameters are numbers here, whatever their role in the problem is.
        canonical = host.get_problem_data(Matrices(), ignore_dpp=bool(host.parameters()))
    except SolverError:
        raise unsupported(problem) from None
    return _as_program(problem, host, predictions, inputs, canonical)


def restore(extraction: Extraction[CanonicalForm], result: Result, load_infeasible: bool = False) -> float | None:
    """Put a result where CVXPY's users look: values of variables, `problem.value`, `problem.status`, `problem.solver_stats`.

    The status is dcembed's, in small letters, since none of CVXPY's says "locally solved". "optimal" and "infeasible" are CVXPY's own: they
    are proved, the latter also where the host alone is infeasible. There are no dual values. `solver_stats.extra_stats` is the result, with
    `bound` and `gap`. Returns `problem.value`, None without a feasible point, even where the variables have the values of another one.
    """
    form, problem = extraction.handle, extraction.handle.problem
    for constraint in problem.constraints:
        for dual in constraint.dual_variables:
            dual.save_value(None)
    primal: dict[int, Any] = {}
    if result.x is not None and is_loaded(result, load_infeasible):
        x = np.zeros(form.num_columns)
        x[form.columns] = result.x
        primal = form.chain.invert(x, form.inverse_data).primal_vars
    for variable in form.host.variables():
        value = primal.get(variable.id)
        if isinstance(variable, Prediction) and value is not None:
            variable.restore(value)
        else:
            variable.save_value(value)
    value = None
    if primal and result.is_feasible:
        value = problem.objective.value
    elif result.status in (Status.INFEASIBLE, Status.HOST_INFEASIBLE, Status.OUTSIDE_SUPPORT):
        value = extraction.program.sense * np.inf
    problem._value = value
    problem._status = _STATUSES.get(result.status, result.status.name.lower())
    problem._solution = Solution(problem._status, value, primal, {}, {})
    problem._solver_stats = SolverStats("DCEMBED", solve_time=result.seconds, num_iters=len(result.history), extra_stats=result)
    return value


def current_point(extraction: Extraction[CanonicalForm]) -> Array | None:
    """The values that the variables have now, zero where there are none; None where no variable has one."""
    form, x, is_known = extraction.handle, np.zeros(extraction.handle.num_columns), False
    for variable in form.variables.variables:
        if variable.value is not None:
            first = form.variables.var_id_to_col[variable.id]
            x[first : first + variable.size] = np.asarray(variable.value).reshape(-1, order="F")
            is_known = True
    return x[form.columns] if is_known else None


def _as_program(
    problem: cvxpy.Problem,
    host: cvxpy.Problem,
    predictions: list[Prediction],
    inputs: list[Any],
    canonical: tuple[dict[str, Any], Any, Any],
) -> Extraction[CanonicalForm]:
    """Cut the canonical form A x + s = b, s in K, into program and embeddings; `inputs` are the variables u."""
    data, chain, inverse_data = canonical
    variables = data["param_prob"]
    first_columns = [variables.var_id_to_col[u.id] for u in inputs]
    size = data["c"].size
    matrix, rhs = sp.csr_array(data["A"]), np.asarray(data["b"], dtype=np.float64)
    dims = data["dims"]
    is_input = np.zeros(size, dtype=bool)
    for first, prediction in zip(first_columns, predictions, strict=True):
        is_input[first : first + prediction.inputs.size] = True
    columns = np.flatnonzero(~is_input)
    number = np.cumsum(~is_input) - 1

    embeddings, is_link = [], np.zeros(rhs.size, dtype=bool)
    by_column = sp.csc_array(matrix)
    for first, prediction in zip(first_columns, predictions, strict=True):
        row, pivot = _links(by_column, first, prediction.inputs.size)
        is_link[row] = True
        output = number[variables.var_id_to_col[prediction.id] + _row_major(prediction.shape)]
        mapped = _affine_map(matrix, rhs, columns, row, pivot, prediction)
        embeddings.append(Embedding(prediction.network, mapped, output, prediction.support))

    linear = np.flatnonzero(~is_link[: dims.zero + dims.nonneg])
    names = read_names(problem, host, variables, chain)
    maximize = isinstance(problem.objective, cvxpy.Maximize)
    program = _program(matrix[:, columns], rhs, linear, dims, data, columns, maximize, names)
    form = CanonicalForm(problem, host, columns, size, variables, chain, inverse_data)
    return Extraction(program, tuple(embeddings), form)


def _links(matrix: sp.csc_array, first: int, size: int) -> tuple[Array, Array]:
    """Row and coefficient of the equality that each column of u is in, the only place where it occurs."""
    entries = slice(matrix.indptr[first], matrix.indptr[first + size])
    return matrix.indices[entries], matrix.data[entries]


def _affine_map(matrix: sp.csr_array, rhs: Array, columns: Array, row: Array, pivot: Array, prediction: Prediction) -> AffineInputs:
    """u = (b - rest of the row) / pivot, one evaluation after the other."""
    order = _row_major(prediction.inputs.shape).reshape(-1)
    row, pivot = row[order], pivot[order]
    scale = sp.diags_array(-1.0 / pivot, format="csr")
    return AffineInputs(scale @ matrix[row][:, columns], (rhs[row] / pivot).reshape(-1, prediction.network.num_inputs))


def _row_major(shape: tuple[int, ...]) -> Array:
    """Where the entries of an array are in CVXPY's column-major vectors."""
    return np.arange(int(np.prod(shape))).reshape(shape, order="F")


def _program(
    matrix: sp.csr_array,
    rhs: Array,
    linear: Array,
    dims: Any,
    data: dict[str, Any],
    columns: Array,
    maximize: bool,
    names: CanonicalNames,
) -> Program:
    lb, ub = _bound(data["lower_bounds"], -np.inf, columns), _bound(data["upper_bounds"], np.inf, columns)
    is_boolean, is_integer = np.zeros(data["c"].size, dtype=bool), np.zeros(data["c"].size, dtype=bool)
    is_boolean[data["boolean"]] = is_integer[data["integer"]] = True
    boolean = is_boolean[columns]
    lb, ub = np.where(boolean, np.maximum(lb, 0.0), lb), np.where(boolean, np.minimum(ub, 1.0), ub)
    rows, row_ub = matrix[linear], rhs[linear]
    row_lb = np.where(linear < dims.zero, row_ub, -np.inf)
    plain, lb, ub = _rows_as_bounds(rows, row_lb, row_ub, lb, ub)
    curved = slice(dims.zero + dims.nonneg, None)
    # CVXPY minimizes the negative of what is maximized; here it is again what the user wrote.
    sense = -1.0 if maximize else 1.0
    return Program(
        cost=sense * np.asarray(data["c"])[columns],
        quadratic=sense * sp.csr_array(data["P"])[columns][:, columns] if "P" in data else None,
        offset=sense * float(data["offset"]),
        rows=rows[plain],
        row_lb=row_lb[plain],
        row_ub=row_ub[plain],
        lb=lb,
        ub=ub,
        integer=(is_boolean | is_integer)[columns],
        cones=[ConeConstraint(-matrix[curved], rhs[curved], dims.soc, names.cones)] if dims.soc else [],
        maximize=maximize,
        column_names=[names.columns[column] for column in columns.tolist()],
        row_names=[names.rows[row] for row in linear[plain].tolist()],
    )


def _rows_as_bounds(rows: sp.csr_array, row_lb: Array, row_ub: Array, lb: Array, ub: Array) -> tuple[Array, Array, Array]:
    """Rows with a single column become bounds: CVXPY writes x <= 1 as a row. The other rows, and the bounds."""
    single = np.diff(rows.indptr) == 1
    column, value = rows.indices[rows.indptr[:-1][single]], rows.data[rows.indptr[:-1][single]]
    low, high = row_lb[single] / value, row_ub[single] / value
    new_lb, new_ub = lb.copy(), ub.copy()
    np.maximum.at(new_lb, column, np.where(value > 0, low, high))
    np.minimum.at(new_ub, column, np.where(value > 0, high, low))
    if (new_lb > new_ub).any():
        # Contradictions are for the solver to report.
        return np.arange(row_ub.size), lb, ub
    return np.flatnonzero(~single), new_lb, new_ub


def _bound(values: Array | None, default: float, columns: Array) -> Array:
    return np.full(columns.size, default) if values is None else np.asarray(values, dtype=np.float64)[columns]
