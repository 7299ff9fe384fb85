"""`optimize` for gurobipy models with embedded networks, with Gurobi's own parameters as defaults."""

from __future__ import annotations

from typing import Any

import gurobipy as gp
import numpy as np

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.frontends import gurobipy_
from dcembed.frontends.contract import Extraction, solve_model
from dcembed.frontends.gurobipy_predictor import registry
from dcembed.frontends.infinity import INFINITY
from dcembed.options import Options
from dcembed.result import Result

# Gurobi gives this for a start that was not set.
UNDEFINED = 1e101


class Model(gp.Model):  # type: ignore[misc]  # Gurobi has no types
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
    The `Result`; `result.x` is in the order of `model.getVars()`, and its objective is what `model.ObjVal` is.
    """
    if not registry(model):
        raise InputError("optimize: no network is embedded in the model. Call add_predictor_constr first, or model.optimize() for Gurobi.")
    given = {"solver": "gurobi", **_settings(model), **options}
    if time_limit is not None:
        given["time_limit"] = time_limit
    settings = Options(**given)
    if start is not None:
        return solve_model(gurobipy_, model, settings, lambda _: start)
    # To Gurobi a start is a hint, and this one is often that of an earlier run on other data.
    return solve_model(gurobipy_, model, settings, find_start, is_hint=True)


def find_start(extraction: Extraction[gp.Model]) -> Array | None:
    """`var.Start`, if every variable that is no prediction, and was not created for one, has it."""
    model = extraction.handle
    start = np.array(model.getAttr("Start", model.getVars()), dtype=np.float64) if model.NumStart else np.full(model.NumVars, UNDEFINED)
    created = [variable.index for predictor in registry(model) for variable in predictor.vars if start[variable.index] == UNDEFINED]
    start[created] = 0.0
    for embedding in extraction.embeddings:
        start[embedding.outputs] = 0.0
    return start if (np.abs(start) < INFINITY).all() else None


def _settings(model: gp.Model) -> dict[str, Any]:
    parameters = model.Params
    return {
        "time_limit": parameters.TimeLimit if parameters.TimeLimit < INFINITY else np.inf,
        "seed": parameters.Seed,
        "threads": max(parameters.Threads, 1),
        "verbose": bool(parameters.OutputFlag and parameters.LogToConsole),
    }
