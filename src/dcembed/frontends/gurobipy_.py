"""gurobipy: a model as Program and Embeddings, and the answer back in `var.X` and `model.ObjVal`.

Gurobi forgets a solution as soon as the model is changed, so nothing of the model may be edited after the last solve. The best point is
therefore passed as a MIP start, and Gurobi stops at the first solution, which is that point: bounds, rows and objective stay as they are.
Only mixed-integer models take such a start; the SOS that `add_predictor_constr` puts on one output makes every model one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.verify import predict, verify
from dcembed.engine.solve import solve
from dcembed.errors import InputError, MissingPackageError
from dcembed.options import Options
from dcembed.program.cones import QuadraticConstraint
from dcembed.program.program import Indicator, Program
from dcembed.result import Result, Status

try:
    import gurobipy as gp
except ModuleNotFoundError:
    raise MissingPackageError(
        'dcembed.gurobipy needs the package gurobipy, which is not installed. Run: pip install "dcembed[gurobi]"'
    ) from None

from dcembed.frontends.gurobipy_predictor import registry

# From here on Gurobi takes a bound for infinite.
INFINITY = 1e20

# Gurobi gives this for a start that was not set.
UNDEFINED = 1e101

_KINDS = {value: name.removeprefix("GENCONSTR_") for name, value in vars(gp.GRB).items() if name.startswith("GENCONSTR_")}
_SEMI = {"S": "semi-continuous", "N": "semi-integer"}
_CARRIES = "dcembed takes linear, indicator and convex quadratic constraints beside the networks"


class Model(gp.Model):
    """A gurobipy model whose `optimize` minds the embedded networks; without any it is Gurobi's own."""

    def optimize(self, callback: Any = None, wheres: Any = None, *, time_limit: float | None = None, **options: Any) -> Result | None:
        """Solve with `dcembed.gurobipy.optimize`, or with Gurobi where nothing is embedded.

        `callback` is called with each `dcembed.Iteration`, or, where nothing is embedded, by Gurobi with (model, where).
        """
        if registry(self):
            return optimize(self, time_limit, **({} if callback is None else {"callback": callback}), **options)
        if time_limit is not None or options:
            raise InputError("optimize: no network is embedded in the model, so Gurobi solves it; use its parameters, such as TimeLimit.")
        super().optimize(*(argument for argument in (callback, wheres) if argument is not None))
        return None


def optimize(model: gp.Model, time_limit: float | None = None, start: Any = None, **options: Any) -> Result:
    """Find a good feasible point of a gurobipy model with embedded networks, and put it into the model.

    Afterwards `var.X` and `model.ObjVal` are those of the best feasible point, with every output at its prediction, and
    `model.Status` is SOLUTION_LIMIT: a feasible point, not proven optimal. Without a feasible point `model.SolCount` is 0.
    Everything else in the model is as it was, but for `var.Start`, which is the best point as well.

    Parameters
    ----------
    model
        With at least one network from `add_predictor_constr`.
    time_limit
        Seconds. None takes the model's parameter TimeLimit.
    start
        A point, or several, in the order of `model.getVars()`. None takes `var.Start` where every variable that is no output has it.
    options
        Of `dcembed.Options`. `verbose`, `seed` and `threads` are those of the model's OutputFlag, Seed and Threads if not given, and
        `solver` is "gurobi"; where its licence does not carry a subproblem, an open solver goes on and the log says so.

    Returns
    -------
    The `Result`; `result.x` is in the order of `model.getVars()`. Its objective is minimized: the negative of ObjVal for GRB.MAXIMIZE.
    """
    predictors = registry(model)
    if not predictors:
        raise InputError("optimize: no network is embedded in the model. Call add_predictor_constr first, or model.optimize() for Gurobi.")
    program, embeddings = extract(model)
    settings = {**_settings(model), **options}
    if time_limit is not None:
        settings["time_limit"] = time_limit
    settings.setdefault("solver", "gurobi")
    hint = _find_start(model, embeddings) if start is None else None
    result = solve(program, embeddings, hint if start is None else start, settings)
    if hint is not None and result.status is Status.LOCALLY_INFEASIBLE:
        # To Gurobi a start is a hint. This one, often that of an earlier run on other data, led nowhere: begin as without it.
        settings["time_limit"] = max(Options(**settings).time_limit - result.seconds, 0.0)
        result = solve(program, embeddings, None, settings)
    restore(model, result, bool(settings["verbose"]))
    return result


def extract(model: gp.Model) -> tuple[Program, list[Embedding]]:
    """The model as matrices, columns in the order of `model.getVars()`, and what is embedded in it."""
    model.update()
    columns = model.getVars()
    embeddings = [predictor.embed(columns) for predictor in registry(model)]
    _reject_other(model, columns)
    sign = -1.0 if model.ModelSense == gp.GRB.MAXIMIZE else 1.0
    kinds = np.array(model.getAttr("VType", columns))
    lb, ub = _unlimited(model.getAttr("LB", columns)), _unlimited(model.getAttr("UB", columns))
    crossed = np.flatnonzero(lb > ub)
    if crossed.size:
        name = columns[crossed[0]].VarName
        raise InputError(f"optimize: the bounds of the variable '{name}' cross: lb = {lb[crossed[0]]:g} > ub = {ub[crossed[0]]:g}.")
    binary = kinds == gp.GRB.BINARY
    rows = model.getConstrs()
    sense, rhs = np.array(model.getAttr("Sense", rows)), _unlimited(model.getAttr("RHS", rows))
    program = Program(
        cost=sign * np.array(model.getAttr("Obj", columns), dtype=np.float64),
        quadratic=2.0 * sign * model.getQ() if model.NumQNZs else None,
        offset=sign * model.ObjCon,
        rows=model.getA(),
        row_lb=np.where(sense == gp.GRB.LESS_EQUAL, -np.inf, rhs),
        row_ub=np.where(sense == gp.GRB.GREATER_EQUAL, np.inf, rhs),
        lb=np.where(binary, np.maximum(lb, 0.0), lb),
        ub=np.where(binary, np.minimum(ub, 1.0), ub),
        integer=binary | (kinds == gp.GRB.INTEGER),
        indicators=_indicators(model),
        quadratic_constraints=_quadratic_constraints(model),
    )
    return program, embeddings


def restore(model: gp.Model, result: Result, verbose: bool = True) -> None:
    """Make the best feasible point the solution of the model."""
    _discard_solution(model)
    for predictor in registry(model):
        predictor.forget()
    if not result.is_feasible or result.x is None:
        return
    x = _within_bounds(result)
    reason = _pass_solution(model, x, result)
    if reason is None:
        return
    _discard_solution(model)
    for predictor, embedding in zip(registry(model), result.embeddings, strict=True):
        predictor.keep(embedding.points(x), x[embedding.outputs])
    if verbose:
        print(f"Gurobi does not take the point ({reason}), so var.X is not set: read result.x[var.index], or the values of the predictors.")


def _within_bounds(result: Result) -> Array:
    """The best point, moved onto the bounds that it leaves by a rounding error: Gurobi would do so without predicting again."""
    assert result.x is not None
    x = predict(result.embeddings, np.clip(result.x, result.program.lb, result.program.ub))
    return x if verify(result.program, result.embeddings, x).violation <= result.feasibility_tol else result.x


def _pass_solution(model: gp.Model, x: Array, result: Result) -> str | None:
    """Have Gurobi accept `x` as its solution, and nothing else; the reason if it does not."""
    columns, tolerance = model.getVars(), 2.0 * result.feasibility_tol
    model.NumStart = 1
    model.Params.StartNumber = 0
    model.update()
    model.setAttr("Start", columns, x.tolist())
    settings = {
        "OutputFlag": 0,
        "SolutionLimit": 1,
        # Look at complete starts as they are, and improve nothing; if the start is refused, search nothing.
        "StartNodeLimit": -2,
        "Heuristics": 0.0,
        "NodeLimit": 0.0,
        "IterationLimit": 0.0,
        "TimeLimit": gp.GRB.INFINITY,
        "FeasibilityTol": min(max(tolerance, model.Params.FeasibilityTol), 1e-2),
        # Set back last; without it Gurobi prints a line for each parameter that is set back.
        "LogToConsole": 0,
    }
    with _parameters(model, settings):
        try:
            gp.Model.optimize(model)
        except gp.GurobiError as error:
            return str(error)
    if model.SolCount == 0:
        return "its own tolerances find it infeasible"
    # Gurobi may move a start by the little by which it violates a row; the networks must agree to what it has made of it.
    taken = np.array(model.getAttr("X", columns))
    if not np.allclose(taken, x, rtol=1e-9, atol=tolerance) or verify(result.program, result.embeddings, taken).violation > tolerance:
        return "it made another one of it"
    return None


def _discard_solution(model: gp.Model) -> None:
    with _parameters(model, {"OutputFlag": 0, "LogToConsole": 0}):
        model.reset()


@contextmanager
def _parameters(model: gp.Model, settings: dict[str, Any]) -> Iterator[None]:
    """Parameters of the model for a while, set back in the same order."""
    before = {name: model.getParamInfo(name)[2] for name in settings}
    try:
        for name, value in settings.items():
            model.setParam(name, value)
        yield
    finally:
        for name, value in before.items():
            model.setParam(name, value)


def _settings(model: gp.Model) -> dict[str, Any]:
    parameters = model.Params
    return {
        "time_limit": parameters.TimeLimit if parameters.TimeLimit < INFINITY else np.inf,
        "seed": parameters.Seed,
        "threads": max(parameters.Threads, 1),
        "verbose": bool(parameters.OutputFlag and parameters.LogToConsole),
    }


def _find_start(model: gp.Model, embeddings: list[Embedding]) -> Array | None:
    """`var.Start`, if every variable that is no prediction has it."""
    start = np.array(model.getAttr("Start", model.getVars()), dtype=np.float64) if model.NumStart else np.full(model.NumVars, UNDEFINED)
    for embedding in embeddings:
        start[embedding.outputs] = 0.0
    return start if (np.abs(start) < INFINITY).all() else None


def _unlimited(values: list[float]) -> Array:
    array = np.array(values, dtype=np.float64)
    return np.where(np.abs(array) >= INFINITY, np.copysign(np.inf, array), array)


def _indicators(model: gp.Model) -> list[Indicator]:
    return [_indicator(model, constraint) for constraint in model.getGenConstrs()] if model.NumGenConstrs else []


def _indicator(model: gp.Model, constraint: gp.GenConstr) -> Indicator:
    if constraint.GenConstrType != gp.GRB.GENCONSTR_INDICATOR:
        kind = _KINDS.get(constraint.GenConstrType, str(constraint.GenConstrType))
        raise InputError(f"optimize: the general constraint '{constraint.GenConstrName}' is of kind {kind}; {_CARRIES}.")
    binary, value, expression, sense, rhs = model.getGenConstrIndicator(constraint)
    terms = range(expression.size())
    data = [expression.getCoeff(i) for i in terms]
    position = ([0] * len(data), [expression.getVar(i).index for i in terms])
    row = sp.csr_array((data, position), shape=(1, model.NumVars))
    rhs -= expression.getConstant()
    lb = -np.inf if sense == gp.GRB.LESS_EQUAL else rhs
    ub = np.inf if sense == gp.GRB.GREATER_EQUAL else rhs
    return Indicator(binary.index, int(value), row, lb, ub)


def _quadratic_constraints(model: gp.Model) -> list[QuadraticConstraint]:
    return [_quadratic_constraint(model, constraint) for constraint in model.getQConstrs()] if model.NumQConstrs else []


def _quadratic_constraint(model: gp.Model, constraint: gp.QConstr) -> QuadraticConstraint:
    """x'Qx + a'x <= rhs, or the negative of >=."""
    if constraint.QCSense == gp.GRB.EQUAL:
        raise InputError(f"optimize: the constraint '{constraint.QCName}' is a quadratic equality, which is not convex; {_CARRIES}.")
    sign = -1.0 if constraint.QCSense == gp.GRB.GREATER_EQUAL else 1.0
    quadratic, linear = model.getQCMatrices(constraint)
    try:
        return QuadraticConstraint(2.0 * sign * quadratic, sign * linear.T, sign * constraint.QCRHS)
    except InputError as error:
        raise InputError(f"optimize: the constraint '{constraint.QCName}' is not taken. {error}") from None


def _reject_other(model: gp.Model, columns: list[gp.Var]) -> None:
    """Raise InputError for what a Program cannot hold, by name."""
    markers = {marker.index for predictor in registry(model) for marker in predictor.sos}
    for constraint in model.getSOSs() if model.NumSOS > len(markers) else []:
        if constraint.index not in markers:
            kind, members, _ = model.getSOS(constraint)
            names = ", ".join(variable.VarName for variable in members[:5]) + (", ..." if len(members) > 5 else "")
            raise InputError(f"optimize: the SOS constraint {constraint.index} of type {kind} on {names} is not accepted; {_CARRIES}.")
    for variable, kind in zip(columns, model.getAttr("VType", columns), strict=True):
        if kind in _SEMI:
            raise InputError(
                f"optimize: the variable '{variable.VarName}' is {_SEMI[kind]}. Use a binary variable and an indicator constraint instead."
            )
    if model.NumObj > 1:
        raise InputError(f"optimize: the model has {model.NumObj} objectives; dcembed takes one. Set NumObj = 1 and weigh them yourself.")
    if model.NumPWLObjVars:
        name = next(variable.VarName for variable in columns if model.getPWLObj(variable))
        raise InputError(f"optimize: the objective is piecewise linear in '{name}'; dcembed takes linear and convex quadratic objectives.")
    if model.NumScenarios:
        raise InputError(f"optimize: the model has {model.NumScenarios} scenarios; dcembed solves one. Use model.singleScenarioModel().")
