"""What a CVXPY problem may not have, each refused with the name of the culprit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import cvxpy
from cvxpy.error import SolverError

from dcembed.errors import InputError
from dcembed.frontends.cvxpy_matrices import Matrices
from dcembed.frontends.cvxpy_prediction import MAX_TEXT, Prediction
from dcembed.frontends.messages import shorten


def check_problem(problem: cvxpy.Problem, host: cvxpy.Problem, predictions: list[Prediction]) -> None:
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
        raise InputError(_not_convex(f"The objective ({shorten(problem.objective, MAX_TEXT)})", problem.objective))


def _without_value(problem: cvxpy.Problem, predictions: list[Prediction]) -> InputError:
    """The error for the first part of the problem that has parameters without a value."""
    named = ((what, [p.name() for p in part.parameters() if p.value is None]) for what, part in _parts(problem, predictions))
    what, missing = next(entry for entry in named if entry[1])
    return InputError(f"{what} has parameters without a value: {', '.join(missing)}. Set parameter.value before solving.")


def _parts(problem: cvxpy.Problem, predictions: list[Prediction]) -> Iterator[tuple[str, Any]]:
    """Constraints, objective and inputs of networks, each with what to call it."""
    for number, constraint in enumerate(problem.constraints):
        yield _constraint_text(number, constraint), constraint
    yield f"The objective ({shorten(problem.objective, MAX_TEXT)})", problem.objective
    for prediction in predictions:
        yield f"The input of {prediction.name()} ({shorten(prediction.inputs, MAX_TEXT)})", prediction.inputs


def _not_convex(what: str, part: Any) -> str:
    names = [variable.name() for variable in part.variables() if isinstance(variable, Prediction)]
    if not names:
        return f"{what} is not convex by CVXPY's rules (DCP). dcembed takes convex problems with networks in them."
    return (
        f"{what} is not convex by CVXPY's rules (DCP), and the prediction {', '.join(names)} is in it. "
        "Use predictions in affine expressions, or where a convex expression of them is allowed."
    )


def unsupported(problem: cvxpy.Problem) -> InputError:
    """Which constraint, or the objective, needs more than rows, quadratics and second-order cones."""
    for number, constraint in enumerate(problem.constraints):
        if not _is_taken(cvxpy.Minimize(0), [constraint]):
            what = _constraint_text(number, constraint)
            break
    else:
        what = f"The objective ({shorten(problem.objective, MAX_TEXT)})"
    return InputError(
        f"{what} needs a cone that dcembed does not take (exponential, power or semidefinite). "
        "Accepted are linear, convex quadratic and second-order-cone expressions."
    )


def _is_taken(objective: Any, constraints: Sequence[Any]) -> bool:
    try:
        cvxpy.Problem(objective, constraints).get_problem_data(Matrices())
    except SolverError:
        return False
    return True


def _constraint_text(number: int, constraint: Any) -> str:
    return f"Constraint {number} ({shorten(constraint, MAX_TEXT)})"
