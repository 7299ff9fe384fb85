"""Have Gurobi itself hold a point, so that `var.X`, `constr.Slack` and all the rest are its own.

Gurobi forgets a solution as soon as the model is changed, so nothing of the model may be edited after the last solve. The point is
therefore passed as a MIP start, and Gurobi stops at the first solution, which is that point: bounds, rows and objective stay as they are.
Only mixed-integer models take such a start; the SOS that `add_predictor_constr` puts on one output makes every model one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import gurobipy as gp
import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.verify import predict, verify
from dcembed.frontends.contract import Extraction
from dcembed.frontends.gurobipy_state import Starts, state_of
from dcembed.frontends.probability import fill
from dcembed.result import Result

# Gurobi gives this for a start that was not set.
UNDEFINED = 1e101
# Gurobi rounds values that lie near simple fractions. What is predicted from rounded inputs is passed again, and may be rounded itself.
NUM_PASSES = 3
# An output this close to its prediction is off by the rounding of sums only.
PREDICTION_TOL = 1e-9


def accept(extraction: Extraction[gp.Model], result: Result) -> tuple[Result | None, str]:
    """Make the best point the solution of the model.

    Returns
    -------
    The result with the point that Gurobi holds, measured; None and the reason if Gurobi holds no feasible point near it.
    """
    model, extension, size = extraction.handle, extraction.extension, extraction.handle.NumVars
    x = held = _within_bounds(result, extraction)
    for _ in range(NUM_PASSES):
        taken, reason = _offer(model, x[:size], 2.0 * result.feasibility_tol)
        if taken is None:
            return None, reason
        held = np.concatenate([taken, x[size:]])
        x = extension.complete(fill(predict(result.embeddings, held), extraction.probabilities))
        held[size:] = x[size:]
        if np.allclose(held, x, rtol=PREDICTION_TOL, atol=PREDICTION_TOL):
            break
    measured = verify(result.program, result.embeddings, held)
    if measured.violation > result.feasibility_tol:
        return None, "it makes another one of it"
    return replace(result, x=held, objective=measured.objective, violation=measured.violation), ""


def discard(model: gp.Model) -> None:
    """Have Gurobi forget its solution."""
    with _parameters(model, {"OutputFlag": 0, "LogToConsole": 0}):
        gp.Model.reset(model)


def give_back_starts(model: gp.Model) -> None:
    """Put the user's MIP starts back; an entry that was set since is left."""
    state = state_of(model)
    starts, state.starts = state.starts, None
    if starts is None or model.NumStart != max(len(starts.values), 1):
        return
    model.update()
    # Of a variable that was removed the index is negative.
    left = [i for i, variable in enumerate(starts.variables) if variable.index >= 0]
    variables = [starts.variables[i] for i in left]
    before = starts.values if len(starts.values) else np.full((1, len(starts.point)), UNDEFINED)
    with _start_number(model):
        for number, values in enumerate(before):
            model.Params.StartNumber = number
            now = np.array(model.getAttr("Start", variables))
            mine = now == starts.point[left]
            model.setAttr("Start", variables, np.where(mine, values[left], now).tolist())
            if mine.all() and not len(starts.values):
                model.NumStart = 0
    model.update()


def _within_bounds(result: Result, extraction: Extraction[gp.Model]) -> Array:
    """The best point, moved onto the bounds that it leaves by a rounding error: Gurobi would do so without predicting again."""
    assert result.x is not None
    x = fill(predict(result.embeddings, np.clip(result.x, result.program.lb, result.program.ub)), extraction.probabilities)
    x = extraction.extension.complete(x)
    return x if verify(result.program, result.embeddings, x).violation <= result.feasibility_tol else result.x


def _offer(model: gp.Model, x: Array, tolerance: float) -> tuple[Array | None, str]:
    """Have Gurobi take `x` as its solution, and nothing else; what it has made of it, or the reason if it does not."""
    _set_starts(model, x)
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
            return None, str(error)
    if gp.Model.getAttr(model, "SolCount") == 0:
        return None, "its own tolerances find it infeasible"
    taken = np.array(gp.Model.getAttr(model, "X", model.getVars()))
    return (taken, "") if np.allclose(taken, x, rtol=1e-6, atol=tolerance) else (None, "it makes another one of it")


def _set_starts(model: gp.Model, x: Array) -> None:
    """Put a point into every MIP start, so that Gurobi knows no other; what was there before is remembered."""
    state, columns, count = state_of(model), model.getVars(), model.NumStart
    with _start_number(model):
        rows = []
        for number in range(count):
            model.Params.StartNumber = number
            rows.append(np.array(model.getAttr("Start", columns)))
        before = state.starts.values if state.starts is not None else np.reshape(rows, (count, len(columns)))
        state.starts = Starts(columns, before, x)
        model.NumStart = max(count, 1)
        model.update()
        for number in range(model.NumStart):
            model.Params.StartNumber = number
            model.setAttr("Start", columns, x.tolist())
        model.update()


@contextmanager
def _start_number(model: gp.Model) -> Iterator[None]:
    """Leave the parameter StartNumber as it was."""
    with _parameters(model, {"OutputFlag": 0, "StartNumber": 0, "LogToConsole": 0}):
        yield


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
