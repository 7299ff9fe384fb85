"""CVXPY: predictions as CVXPY variables, and a solve method that honours them.

A problem is extracted by CVXPY's own canonicalization, through a solver class that takes what dcembed takes and only keeps the
matrices. The inputs X of a network enter as equalities u = X with fresh columns u, whose rows are the affine map from the other
columns; rows and columns are taken out again, so nothing of them is left in the program.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedding import AffineInputs, Embedding
from dcembed.engine.solve import solve
from dcembed.errors import InputError, MissingPackageError
from dcembed.network.network import Network
from dcembed.options import Options
from dcembed.program.cones import ConeConstraint
from dcembed.program.program import Program
from dcembed.result import Result, Status

try:
    import cvxpy
except ImportError:
    raise MissingPackageError('dcembed.cvxpy needs the package cvxpy. Install it: pip install "dcembed[cvxpy]".') from None

from cvxpy.constraints import SOC
from cvxpy.error import SolverError
from cvxpy.problems.problem import SolverStats
from cvxpy.reductions.solution import Solution
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver

METHOD = "dcembed"
# Longer constraints are cut in messages.
MAX_TEXT = 160
_ACCEPTED = "an expression, an array, or a list (of lists of equal length) of scalar expressions and numbers; cvxpy.hstack joins vectors"
# The other statuses are dcembed's names. To CVXPY "unbounded" is a proof, which a subproblem without bound is not.
_STATUSES = {Status.HOST_INFEASIBLE: "infeasible", Status.UNBOUNDED: "unbounded_subproblem"}
_NUMBERS = itertools.count()


class Prediction(cvxpy.Variable):
    """The predictions of a network at X. To CVXPY it is a variable like any other; `solve(method="dcembed")` makes it f(X)."""

    def __init__(self, network: Network, inputs: cvxpy.Expression, name: str | None) -> None:
        shape = (*inputs.shape[:-1], network.num_outputs)
        super().__init__(shape, name=name or f"prediction{next(_NUMBERS)}")
        self.network = network
        self.inputs = inputs

    def save_value(self, val, sparse_path: bool = False) -> None:
        if val is not None:
            warnings.warn(
                f'{self.name()} is the prediction of a network, but got a value without it. Solve with method="{METHOD}": '
                "other methods take predictions for free variables.",
                stacklevel=2,
            )
        super().save_value(val, sparse_path)

    def restore(self, val: Array) -> None:
        """Take a value that is the network's."""
        super().save_value(val)


@dataclass(frozen=True, eq=False)
class Extracted:
    """A CVXPY problem as matrices, and the way back.

    Parameters
    ----------
    program, embeddings
        What `dcembed.solve` takes; a maximization is negated.
    host
        The CVXPY problem with the inputs of the networks as variables.
    columns
        The columns of CVXPY's canonical form that `program` has.
    num_columns
        How many the canonical form has.
    start
        The values that the variables have now, zero where there are none; None where no variable has one.
    """

    program: Program
    embeddings: list[Embedding]
    host: cvxpy.Problem
    columns: Array
    num_columns: int
    start: Array | None
    chain: Any
    inverse_data: Any


def embed(network: Any, X: Any, name: str | None = None) -> Prediction:
    """The predictions of a network as a CVXPY expression.

    Parameters
    ----------
    network
        A `Network`, or anything `load_network` takes.
    X
        Inputs, affine in the variables: shape (n_in,) for one evaluation, (k, n_in) for k of them. Lists (of lists) of expressions
        and numbers are stacked.
    name
        Name of the predictions in CVXPY's printouts, "prediction0" and so on by default.

    Returns
    -------
    An expression of shape (n_out,) or (k, n_out), to be used in objectives and constraints like any other affine expression.
    """
    if not isinstance(network, Network):
        from dcembed.importers import load_network

        network = load_network(network)
    try:
        inputs = _stacked(X)
    except (ValueError, TypeError) as error:
        raise InputError(f"embed: X is {_ACCEPTED}, received {type(X).__name__}, which cannot be stacked ({_text(error)}).") from None
    n = network.num_inputs
    if inputs.ndim not in (1, 2) or inputs.shape[-1] != n:
        raise InputError(f"embed: X has shape {inputs.shape}, but the network has {n} inputs: expected ({n},) or (k, {n}).")
    if not inputs.is_affine() or inputs.is_complex():
        raise InputError(f"embed: X is not real and affine in the variables: {_text(inputs)}. Give the network affine expressions.")
    return Prediction(network, inputs, name)


def result_of(problem: cvxpy.Problem) -> Result:
    """The `Result` of the last `problem.solve(method="dcembed")`."""
    result = problem.solver_stats.extra_stats if problem.solver_stats is not None else None
    if not isinstance(result, Result):
        raise InputError(f'result_of: the problem was not solved by dcembed last. Call problem.solve(method="{METHOD}") first.')
    return result


def extract(problem: cvxpy.Problem) -> Extracted:
    """The problem as a program and embeddings; nothing in it is changed."""
    predictions = _predictions(problem)
    inputs = [cvxpy.Variable(prediction.inputs.shape) for prediction in predictions]
    links = [u == prediction.inputs for u, prediction in zip(inputs, predictions, strict=True)]
    host = cvxpy.Problem(problem.objective, [*problem.constraints, *links])
    _check(problem, host, predictions)
    try:
        # Parameters are numbers here, whatever their role in the problem is.
        data, chain, inverse_data = host.get_problem_data(_Matrices(), ignore_dpp=bool(host.parameters()))
    except SolverError:
        raise _unsupported(problem) from None
    first = data["param_prob"].var_id_to_col
    return _as_program(host, predictions, [first[u.id] for u in inputs], data, chain, inverse_data)


def solve_problem(
    problem: cvxpy.Problem, time_limit: float = np.inf, warm_start: bool = False, verbose: bool = False, **options: Any
) -> float | None:
    """What `problem.solve(method="dcembed", ...)` does; other options are those of `dcembed.Options`.

    With `warm_start` the values that the variables have are where the run begins. Returns the value of the objective, None without
    a feasible point.
    """
    if isinstance(options.get("solver"), str):
        options["solver"] = options["solver"].lower()
    settings = Options(time_limit=time_limit, verbose=verbose, **options)
    extracted = extract(problem)
    result = solve(extracted.program, extracted.embeddings, extracted.start if warm_start else None, settings)
    restore(problem, extracted, result)
    return problem.value


def restore(problem: cvxpy.Problem, extracted: Extracted, result: Result) -> None:
    """Put a result where CVXPY's users look: values of variables, `problem.value`, `problem.status`, `problem.solver_stats`.

    The status is dcembed's, in small letters, since none of CVXPY's says "locally solved". Where the host alone is infeasible it is
    CVXPY's "infeasible". There are no dual values.
    """
    for constraint in problem.constraints:
        for dual in constraint.dual_variables:
            dual.save_value(None)
    primal: dict[int, Any] = {}
    if result.x is not None and result.is_feasible:
        x = np.zeros(extracted.num_columns)
        x[extracted.columns] = result.x
        primal = extracted.chain.invert(x, extracted.inverse_data).primal_vars
    for variable in extracted.host.variables():
        value = primal.get(variable.id)
        if isinstance(variable, Prediction) and value is not None:
            variable.restore(value)
        else:
            variable.save_value(value)
    problem._status = _STATUSES.get(result.status, result.status.name.lower())
    problem._value = problem.objective.value if primal else _no_value(problem, result)
    problem._solution = Solution(problem._status, problem._value, primal, {}, {})
    problem._solver_stats = SolverStats("DCEMBED", solve_time=result.seconds, num_iters=len(result.history), extra_stats=result)


def _no_value(problem: cvxpy.Problem, result: Result) -> float | None:
    if result.status is not Status.HOST_INFEASIBLE:
        return None
    return np.inf if isinstance(problem.objective, cvxpy.Minimize) else -np.inf


class _Matrices(ConicSolver):
    """What dcembed takes, told to CVXPY as a solver; its data are the matrices, and a point is all it is inverted from."""

    MIP_CAPABLE = True
    BOUNDED_VARIABLES = True
    SUPPORTED_CONSTRAINTS = [*ConicSolver.SUPPORTED_CONSTRAINTS, SOC]  # noqa: RUF012
    MI_SUPPORTED_CONSTRAINTS = SUPPORTED_CONSTRAINTS

    def name(self) -> str:
        return "DCEMBED"

    def import_solver(self) -> None:
        """Nothing is needed."""

    def cite(self, data) -> str:
        return ""

    def supports_quad_obj(self) -> bool:
        return True

    def apply(self, problem):
        data, inverse_data = super().apply(problem)
        data["integer"] = np.array([index[0] for index in problem.x.integer_idx], dtype=np.int64)
        data["boolean"] = np.array([index[0] for index in problem.x.boolean_idx], dtype=np.int64)
        data["offset"] = inverse_data["offset"]
        return data, inverse_data

    def invert(self, solution: Array, inverse_data) -> Solution:
        return Solution("optimal", 0.0, {inverse_data[self.VAR_ID]: solution}, {}, {})

    def solve_via_data(self, data, warm_start: bool, verbose: bool, solver_opts, solver_cache=None):
        raise SolverError(f'Solve with problem.solve(method="{METHOD}").')


def _as_program(
    host: cvxpy.Problem, predictions: list[Prediction], inputs: list[int], data: dict, chain: Any, inverse_data: Any
) -> Extracted:
    """Cut the canonical form A x + s = b, s in K, into program and embeddings; `inputs` are the first columns of each u."""
    variables = data["param_prob"]
    size = data["c"].size
    matrix, rhs = sp.csr_array(data["A"]), np.asarray(data["b"], dtype=np.float64)
    dims = data["dims"]
    is_input = np.zeros(size, dtype=bool)
    for first, prediction in zip(inputs, predictions, strict=True):
        is_input[first : first + prediction.inputs.size] = True
    columns = np.flatnonzero(~is_input)
    number = np.cumsum(~is_input) - 1

    embeddings, is_link = [], np.zeros(rhs.size, dtype=bool)
    by_column = sp.csc_array(matrix)
    for first, prediction in zip(inputs, predictions, strict=True):
        row, pivot = _links(by_column, first, prediction.inputs.size)
        is_link[row] = True
        output = number[variables.var_id_to_col[prediction.id] + _row_major(prediction.shape)]
        embeddings.append(Embedding(prediction.network, _affine_map(matrix, rhs, columns, row, pivot, prediction), output))

    linear = np.flatnonzero(~is_link[: dims.zero + dims.nonneg])
    program = _program(matrix[:, columns], rhs, linear, dims, data, columns)
    return Extracted(program, embeddings, host, columns, size, _current_values(variables, columns, size), chain, inverse_data)


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


def _program(matrix: sp.csr_array, rhs: Array, linear: Array, dims: Any, data: dict, columns: Array) -> Program:
    lb, ub = _bound(data["lower_bounds"], -np.inf, columns), _bound(data["upper_bounds"], np.inf, columns)
    is_boolean, is_integer = np.zeros(data["c"].size, dtype=bool), np.zeros(data["c"].size, dtype=bool)
    is_boolean[data["boolean"]] = is_integer[data["integer"]] = True
    boolean = is_boolean[columns]
    lb, ub = np.where(boolean, np.maximum(lb, 0.0), lb), np.where(boolean, np.minimum(ub, 1.0), ub)
    rows, row_ub = matrix[linear], rhs[linear]
    row_lb = np.where(linear < dims.zero, row_ub, -np.inf)
    plain, lb, ub = _rows_as_bounds(rows, row_lb, row_ub, lb, ub)
    curved = slice(dims.zero + dims.nonneg, None)
    quadratic = sp.csr_array(data["P"])[columns][:, columns] if "P" in data else None
    return Program(
        cost=np.asarray(data["c"])[columns],
        quadratic=quadratic,
        offset=float(data["offset"]),
        rows=rows[plain],
        row_lb=row_lb[plain],
        row_ub=row_ub[plain],
        lb=lb,
        ub=ub,
        integer=(is_boolean | is_integer)[columns],
        cones=[ConeConstraint(-matrix[curved], rhs[curved], dims.soc)] if dims.soc else [],
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


def _current_values(variables: Any, columns: Array, size: int) -> Array | None:
    """The values of the canonical variables that have any."""
    x, is_known = np.zeros(size), False
    for variable in variables.variables:
        if variable.value is not None:
            first = variables.var_id_to_col[variable.id]
            x[first : first + variable.size] = np.asarray(variable.value).reshape(-1, order="F")
            is_known = True
    return x[columns] if is_known else None


def _predictions(problem: cvxpy.Problem) -> list[Prediction]:
    """Predictions in the problem, and those that are inputs of others."""
    found: dict[int, Prediction] = {}
    waiting = list(problem.variables())
    while waiting:
        variable = waiting.pop(0)
        if isinstance(variable, Prediction) and variable.id not in found:
            found[variable.id] = variable
            waiting += variable.inputs.variables()
    return list(found.values())


def _check(problem: cvxpy.Problem, host: cvxpy.Problem, predictions: list[Prediction]) -> None:
    """What CVXPY itself would refuse, with the name of the culprit."""
    if not host.variables():
        raise InputError("The CVXPY problem has no variables: there is nothing to decide.")
    if any(parameter.value is None for parameter in host.parameters()):
        raise _without_value(problem, predictions)
    for variable in host.variables():
        if variable.attributes["PSD"] or variable.attributes["NSD"]:
            raise InputError(f"The variable {variable.name()} is semidefinite (PSD or NSD); dcembed does not take semidefinite cones.")
    for number, constraint in enumerate(problem.constraints):
        if not constraint.is_dcp():
            raise InputError(_not_convex(_constraint_text(number, constraint), constraint))
    if not problem.objective.is_dcp():
        raise InputError(_not_convex(f"The objective ({_text(problem.objective)})", problem.objective))


def _without_value(problem: cvxpy.Problem, predictions: list[Prediction]) -> InputError:
    """The error for the first part of the problem that has parameters without a value."""
    named = ((what, [p.name() for p in part.parameters() if p.value is None]) for what, part in _parts(problem, predictions))
    what, missing = next(entry for entry in named if entry[1])
    return InputError(f"{what} has parameters without a value: {', '.join(missing)}. Set parameter.value before solving.")


def _parts(problem: cvxpy.Problem, predictions: list[Prediction]) -> Iterator[tuple[str, Any]]:
    """Constraints, objective and inputs of networks, each with what to call it."""
    for number, constraint in enumerate(problem.constraints):
        yield _constraint_text(number, constraint), constraint
    yield f"The objective ({_text(problem.objective)})", problem.objective
    for prediction in predictions:
        yield f"The input of {prediction.name()} ({_text(prediction.inputs)})", prediction.inputs


def _not_convex(what: str, part: Any) -> str:
    names = [variable.name() for variable in part.variables() if isinstance(variable, Prediction)]
    if not names:
        return f"{what} is not convex by CVXPY's rules (DCP). dcembed takes convex problems with networks in them."
    return (
        f"{what} is not convex by CVXPY's rules (DCP), and the prediction {', '.join(names)} is in it. "
        "Use predictions in affine expressions, or where a convex expression of them is allowed."
    )


def _unsupported(problem: cvxpy.Problem) -> InputError:
    """Which constraint, or the objective, needs more than rows, quadratics and second-order cones."""
    for number, constraint in enumerate(problem.constraints):
        if not _is_taken(cvxpy.Minimize(0), [constraint]):
            what = _constraint_text(number, constraint)
            break
    else:
        what = f"The objective ({_text(problem.objective)})"
    return InputError(
        f"{what} needs a cone that dcembed does not take (exponential, power or semidefinite). "
        "Accepted are linear, convex quadratic and second-order-cone expressions."
    )


def _is_taken(objective: Any, constraints: list) -> bool:
    try:
        cvxpy.Problem(objective, constraints).get_problem_data(_Matrices())
    except SolverError:
        return False
    return True


def _constraint_text(number: int, constraint: Any) -> str:
    return f"Constraint {number} ({_text(constraint)})"


def _text(part: Any) -> str:
    text = " ".join(str(part).split())
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 3]}..."


def _stacked(X: Any) -> cvxpy.Expression:
    """X as one expression; lists, and arrays of expressions, are stacked."""
    if isinstance(X, np.ndarray) and X.dtype == object:
        X = X.tolist()
    if isinstance(X, Sequence) and not isinstance(X, str):
        if any(isinstance(row, Sequence) or getattr(row, "ndim", 0) for row in X):
            return cvxpy.vstack([_stacked(row) for row in X])
        return cvxpy.hstack(X)
    return cvxpy.Expression.cast_to_const(X)


cvxpy.Problem.register_solve(METHOD, solve_problem)
