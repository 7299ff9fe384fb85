"""gurobipy: a model as Program and Embeddings, and the answer back in `var.X` and `model.ObjVal`."""

from __future__ import annotations

import gurobipy as gp
import numpy as np
import scipy.sparse as sp

from dcembed.errors import InputError
from dcembed.frontends.contract import Extraction, is_loaded
from dcembed.frontends.extension import extend
from dcembed.frontends.gurobipy_accept import accept, discard, give_back_starts
from dcembed.frontends.gurobipy_generals import read_extension
from dcembed.frontends.gurobipy_state import registry
from dcembed.frontends.gurobipy_values import remember
from dcembed.frontends.infinity import unlimited
from dcembed.frontends.messages import CARRIES, PRODUCT, warn_user
from dcembed.frontends.probability import bound_scores, join
from dcembed.program.cones import QuadraticConstraint
from dcembed.program.nonconvex import split_quadratic
from dcembed.program.program import Indicator, Program
from dcembed.result import Result
from dcembed.words import Words

WORDS = Words(
    go_on="another optimize()",
    nearest="given by var.X with load_infeasible=True",
    prove="optimize(model, prove='auto')",
    named={"time_limit": "the parameter TimeLimit", "gap_tol": "the parameter MIPGap"},
)


def extract(model: gp.Model) -> Extraction[gp.Model]:
    """The model as matrices, columns in the order of `model.getVars()` and after them any that are added, and what is embedded in it."""
    model.update()
    columns = model.getVars()
    embeddings = tuple(predictor.embed(columns) for predictor in registry(model))
    _reject_other(model)
    kinds = np.array(model.getAttr("VType", columns))
    lb, ub = unlimited(model.getAttr("LB", columns)), unlimited(model.getAttr("UB", columns))
    binary = kinds == gp.GRB.BINARY
    rows = model.getConstrs()
    sense, rhs = np.array(model.getAttr("Sense", rows)), unlimited(model.getAttr("RHS", rows))
    is_maximized = model.ModelSense == gp.GRB.MAXIMIZE
    quadratic, concave = split_quadratic(2.0 * model.getQ(), is_maximized) if model.NumQNZs else (None, None)
    program = Program(
        cost=np.array(model.getAttr("Obj", columns), dtype=np.float64),
        quadratic=quadratic,
        concave=concave,
        offset=model.ObjCon,
        rows=model.getA(),
        row_lb=np.where(sense == gp.GRB.LESS_EQUAL, -np.inf, rhs),
        row_ub=np.where(sense == gp.GRB.GREATER_EQUAL, np.inf, rhs),
        lb=np.where(binary, np.maximum(lb, 0.0), lb),
        ub=np.where(binary, np.minimum(ub, 1.0), ub),
        integer=binary | np.isin(kinds, [gp.GRB.INTEGER, gp.GRB.SEMIINT]),
        indicators=_indicators(model),
        quadratic_constraints=_quadratic_constraints(model),
        maximize=is_maximized,
        column_names=model.getAttr("VarName", columns),
        row_names=model.getAttr("ConstrName", rows),
    )
    program, extension = read_extension(model, program)
    program, embeddings = extend(program, embeddings, extension)
    probabilities = join([predictor.probabilities(columns) for predictor in registry(model)])
    return Extraction(bound_scores(program, embeddings, probabilities), embeddings, model, probabilities, extension)


def restore(extraction: Extraction[gp.Model], result: Result, load_infeasible: bool = False) -> Result:
    """Make the best feasible point the solution of the model; the result has the point that the model holds.

    Gurobi takes no point that is not feasible: where one is wanted, dcembed answers for `var.X`.
    """
    model = extraction.handle
    discard(model)
    if not result.is_feasible or result.x is None:
        remember(model, result, is_held=is_loaded(result, load_infeasible))
        return result
    accepted, reason = accept(extraction, result)
    if accepted is None:
        discard(model)
        give_back_starts(model)
        warn_user(
            f"Gurobi does not take the point ({reason}), so dcembed itself answers for var.X and model.ObjVal; what Gurobi works out from a "
            "solution of its own, such as constr.Slack, is not available."
        )
    remember(model, accepted or result, is_held=accepted is None)
    return accepted or result


def _indicators(model: gp.Model) -> list[Indicator]:
    """Those among the general constraints; `read_extension` minds the others."""
    generals = model.getGenConstrs() if model.NumGenConstrs else []
    return [_indicator(model, constraint) for constraint in generals if constraint.GenConstrType == gp.GRB.GENCONSTR_INDICATOR]


def _indicator(model: gp.Model, constraint: gp.GenConstr) -> Indicator:
    binary, value, expression, sense, rhs = model.getGenConstrIndicator(constraint)
    terms = range(expression.size())
    data = [expression.getCoeff(i) for i in terms]
    position = ([0] * len(data), [expression.getVar(i).index for i in terms])
    row = sp.csr_array((data, position), shape=(1, model.NumVars))
    rhs -= expression.getConstant()
    lb = -np.inf if sense == gp.GRB.LESS_EQUAL else rhs
    ub = np.inf if sense == gp.GRB.GREATER_EQUAL else rhs
    return Indicator(binary.index, int(value), row, lb, ub, constraint.GenConstrName)


def _quadratic_constraints(model: gp.Model) -> list[QuadraticConstraint]:
    return [_quadratic_constraint(model, constraint) for constraint in model.getQConstrs()] if model.NumQConstrs else []


def _quadratic_constraint(model: gp.Model, constraint: gp.QConstr) -> QuadraticConstraint:
    """x'Qx + a'x <= rhs, or the negative of >=."""
    if constraint.QCSense == gp.GRB.EQUAL:
        raise InputError(
            f"optimize: the constraint '{constraint.QCName}' is a quadratic equality, which is not convex; {CARRIES}. {PRODUCT}."
        )
    sign = -1.0 if constraint.QCSense == gp.GRB.GREATER_EQUAL else 1.0
    quadratic, linear = model.getQCMatrices(constraint)
    try:
        return QuadraticConstraint(2.0 * sign * quadratic, sign * linear.T, sign * constraint.QCRHS, constraint.QCName)
    except InputError as error:
        raise InputError(f"optimize: the constraint '{constraint.QCName}' is not taken. {error} {PRODUCT}.") from None


def _reject_other(model: gp.Model) -> None:
    """Raise InputError for what a Program cannot hold, by name."""
    if model.NumObj > 1:
        raise InputError(f"optimize: the model has {model.NumObj} objectives; dcembed takes one. Set NumObj = 1 and weigh them yourself.")
    if model.NumScenarios:
        raise InputError(f"optimize: the model has {model.NumScenarios} scenarios; dcembed solves one. Set NumScenarios = 0.")
