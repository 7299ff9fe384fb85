"""Callbacks of a run on a gurobipy model: dcembed's, of one `Iteration`, and Gurobi's, of (model, where).

A callback in Gurobi's manner is called at MIPSOL for every better point and at MIP for every subproblem.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import Any

import gurobipy as gp
import numpy as np

from dcembed.errors import InputError
from dcembed.frontends.gurobipy_state import Event, state_of
from dcembed.result import Iteration

CODES = gp.GRB.Callback


def hear(model: gp.Model, callback: Callable[..., Any] | None, wheres: Collection[int] | None) -> Callable[[Iteration], bool]:
    """A callback for a run, which calls the user's and says whether to stop: it returned True, or `model.terminate()` was called."""
    state = state_of(model)
    state.is_terminated = False
    if callback is None:
        return lambda iteration: state.is_terminated
    if takes_iteration(callback):
        return lambda iteration: bool(callback(iteration)) or state.is_terminated
    seen: list[Any] = []
    count = 0

    def call(iteration: Iteration) -> bool:
        nonlocal count
        count += 1
        is_better = iteration.point is not None and (not seen or seen[-1] is not iteration.point)
        if is_better:
            seen.append(iteration.point)
        for where in (CODES.MIPSOL, CODES.MIP) if is_better else (CODES.MIP,):
            if wheres is None or where in wheres:
                state.event = Event(where, iteration, count, len(seen))
                try:
                    callback(model, where)
                finally:
                    state.event = None
        return state.is_terminated

    return call


def takes_iteration(callback: Callable[..., Any]) -> bool:
    """Whether a callback is dcembed's: one argument without a default. Gurobi's has two, model and where."""
    kinds = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = inspect.signature(callback).parameters.values()
    return sum(parameter.kind in kinds and parameter.default is parameter.empty for parameter in parameters) == 1


def ask(model: gp.Model, event: Event, what: int) -> Any:
    """What `cbGet` gives at an event."""
    known = _known(model, event)
    if what not in known:
        names = {getattr(CODES, name): name for name in dir(CODES) if name[0].isupper()}
        accepted = ", ".join(sorted(names.get(code, str(code)) for code in known))
        raise InputError(f"cbGet: {names.get(what, what)} is not known in a run of dcembed. Here it has {accepted}.")
    return known[what]


def _known(model: gp.Model, event: Event) -> dict[int, Any]:
    iteration, sense = event.iteration, float(model.ModelSense)
    best = sense * gp.GRB.INFINITY if np.isnan(iteration.best) else iteration.best
    # While points are searched for, nothing is proved yet.
    bound = -sense * gp.GRB.INFINITY
    known: dict[int, Any] = {CODES.RUNTIME: iteration.seconds}
    if event.where == CODES.MIPSOL:
        return known | {
            CODES.MIPSOL_SOL: iteration.point[: model.NumVars].tolist() if iteration.point is not None else [],
            CODES.MIPSOL_OBJ: best,
            CODES.MIPSOL_OBJBST: best,
            CODES.MIPSOL_OBJBND: bound,
            CODES.MIPSOL_NODCNT: float(event.num_iterations),
            CODES.MIPSOL_SOLCNT: event.num_solutions,
        }
    return known | {
        CODES.MIP_OBJBST: best,
        CODES.MIP_OBJBND: bound,
        CODES.MIP_NODCNT: float(event.num_iterations),
        CODES.MIP_NODLFT: 0.0,
        CODES.MIP_CUTCNT: 0,
        CODES.MIP_SOLCNT: event.num_solutions,
    }
