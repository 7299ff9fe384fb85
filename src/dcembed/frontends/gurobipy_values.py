"""`var.X` where Gurobi cannot hold the point: its licence is too small for the model, or it would make another point of it.

Gurobi has no way to set `X`. But a variable is one Python object for as long as the model lives, and each of its attributes is read
through its method `getAttr`. So the variables of this one model get a class of ours, which answers for `X` and asks Gurobi for the
rest; they are Gurobi's own again as soon as the answer is dropped. Matrices of variables are made anew at every slice, so
`MVar.getAttr` is the one method of gurobipy that is replaced, once, when it is first needed; for other models it does what it did.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gurobipy as gp
import numpy as np

from dcembed.arrays import Array
from dcembed.frontends.gurobipy_state import Answer, current_answer, fingerprint, state_of
from dcembed.frontends.own_objective import own_objective
from dcembed.result import Result

_MVAR_GET_ATTR = gp.MVar.getAttr


class ValuedVar(gp.Var):  # type: ignore[misc]  # Gurobi has no types
    """A variable that knows its value."""

    def getAttr(self, attrname: str) -> Any:
        """`X` from the best point, everything else from Gurobi."""
        if is_value(attrname):
            model, value = self._dcembed
            if current_answer(model) is not None:
                return value
        return super().getAttr(attrname)


def remember(model: gp.Model, result: Result, is_held: bool = False) -> None:
    """Keep what a run came to. Where `is_held`, the variables answer for the point, as Gurobi does not have it."""
    state, x = state_of(model), result.x[: model.NumVars] if result.x is not None else None
    drop(model)
    variables: tuple[gp.Var, ...] = ()
    if result.is_feasible and x is not None:
        state.last_point = model.getVars(), x
    if is_held and x is not None:
        variables = _hold(model, x)
    number = fingerprint(model)
    assert number is not None
    state.answer = Answer(result, number, variables)


def drop(model: gp.Model) -> None:
    """Forget the answer of the last run; the variables are Gurobi's own again."""
    state = state_of(model)
    answer, state.answer = state.answer, None
    for variable in answer.variables if answer is not None else ():
        object.__setattr__(variable, "__class__", gp.Var)
        del variable._dcembed


def write_solution(model: gp.Model, filename: str, answer: Answer) -> None:
    """The point as a file in Gurobi's format .sol."""
    names, values = model.getAttr("VarName", model.getVars()), model.getAttr("X", model.getVars())
    with open(filename, "w", encoding="utf-8") as file:
        file.write(f"# Solution for model {model.ModelName}\n# Objective value = {own_objective(answer.result)!r}\n")
        file.writelines(f"{name} {value!r}\n" for name, value in zip(names, values, strict=True))


def is_value(attrname: str) -> bool:
    """Whether an attribute is `X`; to Gurobi their case does not matter."""
    return attrname.lower() == "x"


def map_values(objects: Any, read: Any) -> Any:
    """What `read` gives for variables in any of the forms that gurobipy takes, in the form that it gives back."""
    if isinstance(objects, Mapping):
        return gp.tupledict({key: map_values(value, read) for key, value in objects.items()})
    if isinstance(objects, gp.MVar):
        variables = _variables_of(objects)
        return np.array([read(variable) for variable in variables.flat], dtype=np.float64).reshape(variables.shape)
    if isinstance(objects, gp.Var):
        return read(objects)
    return [map_values(value, read) for value in objects]


def _hold(model: gp.Model, x: Array) -> tuple[gp.Var, ...]:
    """Give each variable of the model its value; these variables."""
    columns = model.getVars()
    for variable, value in zip(columns, x.tolist(), strict=True):
        variable._dcembed = model, value
        object.__setattr__(variable, "__class__", ValuedVar)
    gp.MVar.getAttr = _get_matrix_attr
    return tuple(columns)


def _get_matrix_attr(self: gp.MVar, attrname: str) -> Any:
    variables = _variables_of(self) if is_value(attrname) else np.empty(0, dtype=object)
    if variables.size and isinstance(variables.flat[0], ValuedVar):
        return map_values(self, lambda variable: variable.getAttr("X"))
    return _MVAR_GET_ATTR(self, attrname)


def _variables_of(matrix: gp.MVar) -> Array:
    variables = np.empty(matrix.shape, dtype=object)
    variables[...] = matrix.tolist()
    return variables
