"""`optimize` for gurobipy models with embedded networks, with Gurobi's own parameters as defaults."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import gurobipy as gp
import numpy as np

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.frontends import gurobipy_
from dcembed.frontends.contract import Extraction, solve_model
from dcembed.frontends.gurobipy_accept import UNDEFINED, give_back_starts
from dcembed.frontends.gurobipy_callback import hear
from dcembed.frontends.gurobipy_state import registry, state_of
from dcembed.frontends.gurobipy_values import drop
from dcembed.frontends.infinity import INFINITY
from dcembed.options import Options
from dcembed.reading import require, show
from dcembed.result import Result


def optimize(
    model: gp.Model,
    time_limit: float | None = None,
    start: Any = None,
    callback: Callable[..., Any] | None = None,
    wheres: Collection[int] | None = None,
    load_infeasible: bool = False,
    **options: Any,
) -> Result:
    """Find a good feasible point of a gurobipy model with embedded networks, and put it into the model.

    Afterwards `var.X` and `model.ObjVal` are those of the best feasible point, with every output at its prediction, and
    `model.Status` says why the run ended, LOCALLY_OPTIMAL (before Gurobi 13: SUBOPTIMAL) for a local solution, OPTIMAL where `prove` has
    closed the gap; `model.ObjBound` and `model.MIPGap` tell what was proved. Without a feasible point
    `model.SolCount` is 0. Everything else in the model is as it was, but for `var.Start`, which is the best point as well until the
    next run, `reset()` or `remove()`.

    Parameters
    ----------
    model
        With at least one network from `add_predictor_constr`.
    time_limit
        Seconds. None takes the model's parameter TimeLimit.
    start
        A point, or several, in the order of `model.getVars()`, or a `Result` to go on from. None takes `var.Start` where every variable that is no output has it,
        and the best point of the last run.
    callback
        Called with each `dcembed.Iteration`, or, if it has two arguments without a default, with (model, where) as Gurobi does.
    wheres
        Where a callback of Gurobi's is called; None for everywhere.
    load_infeasible
        Give `var.X` the values of the point that is nearest to feasible where none is feasible; `model.SolCount` stays 0.
    options
        Of `dcembed.Options`. `verbose`, `seed`, `threads` and `gap_tol` are those of the model's OutputFlag, Seed, Threads and MIPGap if
        not given, and `solver` is "gurobi"; where its licence does not carry a subproblem, an open solver goes on and the log says so.

    Returns
    -------
    The `Result`; `result.x` is in the order of `model.getVars()`, and its objective is what `model.ObjVal` is, with the
    price of inputs outside of a soft support where there is one.
    """
    require(model, gp.Model, "optimize: model")
    if not (callback is None or callable(callback)):
        raise InputError(f"optimize: callback is not accepted: a function is expected, received {show(callback)}.")
    if not registry(model):
        raise InputError("optimize: no network is embedded in the model. Call add_predictor_constr first, or model.optimize() for Gurobi.")
    given = {"solver": "gurobi", **_settings(model), **options}
    if time_limit is not None:
        given["time_limit"] = time_limit
    settings = Options(callback=hear(model, callback, wheres), **given)
    give_back_starts(model)
    drop(model)
    if start is not None:
        return solve_model(gurobipy_, model, settings, lambda _: start, load_infeasible=load_infeasible)
    # To Gurobi a start is a hint, and this one is often that of an earlier run on other data.
    return solve_model(gurobipy_, model, settings, find_start, is_hint=True, load_infeasible=load_infeasible)


def find_start(extraction: Extraction[gp.Model]) -> list[Array] | None:
    """`var.Start` and the best point of the last run, each if every variable has it that is no prediction and was not created for one."""
    model = extraction.handle
    columns = model.getVars()
    starts = [np.array(model.getAttr("Start", columns), dtype=np.float64)] if model.NumStart else []
    if (last := state_of(model).last_point) is not None:
        start = np.full(len(columns), UNDEFINED)
        for variable, value in zip(*last, strict=True):
            # That of a variable which was removed is negative.
            if variable.index >= 0:
                start[variable.index] = value
        starts.append(start)
    created = [variable.index for predictor in registry(model) for variable in predictor.vars]
    for start in starts:
        start[[column for column in created if start[column] == UNDEFINED]] = 0.0
        for embedding in extraction.embeddings:
            start[embedding.outputs] = 0.0
    return [start for start in starts if (np.abs(start) < INFINITY).all()] or None


def _settings(model: gp.Model) -> dict[str, Any]:
    parameters = model.Params
    return {
        "time_limit": parameters.TimeLimit if parameters.TimeLimit < INFINITY else np.inf,
        "seed": parameters.Seed,
        "threads": max(parameters.Threads, 1),
        "gap_tol": min(parameters.MIPGap, INFINITY),
        "verbose": bool(parameters.OutputFlag and parameters.LogToConsole),
    }
