"""`Model`: a gurobipy model that never leaves its networks out.

`add_predictor_constr` makes the user's own model one, so that a script needs no other change than its import. What would ignore the
networks is either done with them or refused.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import gurobipy as gp

from dcembed.errors import InputError
from dcembed.frontends.gurobipy_accept import discard, give_back_starts
from dcembed.frontends.gurobipy_callback import CODES, ask
from dcembed.frontends.gurobipy_optimize import optimize
from dcembed.frontends.gurobipy_state import current_answer, registry, state_of
from dcembed.frontends.gurobipy_values import drop, is_value, map_values, write_solution
from dcembed.frontends.messages import warn_user
from dcembed.result import Result

MODEL_FILES = (".lp", ".mps", ".rew", ".rlp", ".dua", ".dlp")
COMPRESSED = (".gz", ".bz2", ".zip", ".7z", ".xz")


class Model(gp.Model):  # type: ignore[misc]  # Gurobi has no types
    """A gurobipy model whose methods mind the embedded networks; without any it is Gurobi's own."""

    def optimize(self, callback: Any = None, wheres: Any = None, *, time_limit: float | None = None, **options: Any) -> Result | None:
        """Solve with `dcembed.gurobipy.optimize`, or with Gurobi where nothing is embedded.

        `callback` is called with each `dcembed.Iteration` if it has one argument, as Gurobi would with (model, where) if it has two.
        """
        if registry(self):
            return optimize(self, time_limit, callback=callback, wheres=wheres, **options)
        if time_limit is not None or options:
            raise InputError("optimize: no network is embedded in the model, so Gurobi solves it; use its parameters, such as TimeLimit.")
        super().optimize(*(argument for argument in (callback, wheres) if argument is not None))
        return None

    def getAttr(self, attrname: str, objs: Any = None) -> Any:
        """An attribute as Gurobi gives it, but for those that it would get wrong after a run of dcembed."""
        answer = current_answer(self) if registry(self) else None
        if answer is None:
            return super().getAttr(attrname, *(() if objs is None else (objs,)))
        if objs is None and attrname.lower() in answer.attributes:
            return answer.attributes[attrname.lower()]
        if is_value(attrname) and answer.variables:
            return map_values(self.getVars() if objs is None else objs, lambda variable: variable.getAttr("X"))
        return super().getAttr(attrname, *(() if objs is None else (objs,)))

    def copy(self, *args: Any, **kwargs: Any) -> gp.Model:
        """A copy with the same networks in it."""
        twin = super().copy(*args, **kwargs)
        for predictor in registry(self):
            predictor.copy_to(twin)
        return twin

    def reset(self, *args: Any, **kwargs: Any) -> None:
        """Forget the last answer, so that the next run begins afresh."""
        give_back_starts(self)
        drop(self)
        state_of(self).last_point = None
        super().reset(*args, **kwargs)

    def terminate(self) -> None:
        """End the run at its next subproblem."""
        state_of(self).is_terminated = True
        super().terminate()

    def write(self, filename: str) -> None:
        """Write a file; one of the model is without the networks, which is told."""
        suffixes = [part for part in _suffixes(filename) if part not in COMPRESSED]
        answer = current_answer(self) if registry(self) else None
        if registry(self) and suffixes and suffixes[-1] in MODEL_FILES:
            warn_user(
                f"write: {filename} has the model without {_count(self)}, which no such file can hold: who solves it ignores that part."
            )
        if answer is not None and answer.variables and str(filename).endswith(".sol"):
            write_solution(self, filename, answer)
        else:
            super().write(filename)

    def computeIIS(self, *args: Any, **kwargs: Any) -> None:
        """Constraints that contradict each other without the networks; Gurobi knows no other ones."""
        try:
            super().computeIIS(*args, **kwargs)
        except gp.GurobiError as error:
            if registry(self):
                error.add_note("Gurobi looked at the model without its networks: with them it may be infeasible all the same.")
            raise

    def cbGet(self, what: int) -> Any:
        """What is known in a callback."""
        event = state_of(self).event
        return super().cbGet(what) if event is None else ask(self, event, what)

    def cbGetSolution(self, vars: Any) -> Any:
        """Values of variables at the better point that a callback is told of."""
        event = state_of(self).event
        if event is None:
            return super().cbGetSolution(vars)
        point = event.iteration.point
        if event.where != CODES.MIPSOL or point is None:
            raise InputError("cbGetSolution: it has values only where the callback is called with where == GRB.Callback.MIPSOL.")
        return map_values(vars, lambda variable: float(point[variable.index]))


# Methods of a model that would leave the networks out, with what to do instead.
REFUSED = {
    "optimizeAsync": "Call optimize() in a thread of your own, and terminate() to end it.",
    "optimizeBatch": "Call optimize().",
    "tune": "Give optimize() other options instead.",
    "relax": "Set VType of the variables yourself in a copy().",
    "fixed": "Fix the bounds of the variables yourself in a copy().",
    "convertToFixed": "Fix the bounds of the variables yourself.",
    "presolve": "Call it before add_predictor_constr.",
    "feasibility": "Set the objective of a copy() to 0.",
    "feasRelax": "Add slack variables to the constraints yourself.",
    "feasRelaxS": "Add slack variables to the constraints yourself.",
    "dualize": "There is no dual of a model with a network.",
    "linearize": "Call it before add_predictor_constr.",
    "singleScenarioModel": "Call it before add_predictor_constr.",
}
# The same of a callback in Gurobi's manner.
REFUSED_IN_CALLBACKS = {
    "cbLazy": "Add the constraints to the model before optimize().",
    "cbCut": "dcembed makes its own cuts.",
    "cbSetSolution": "Set var.Start, or give optimize() a start.",
    "cbUseSolution": "Set var.Start, or give optimize() a start.",
    "cbGetNodeRel": "dcembed has no relaxation; cbGetSolution gives the points it has found.",
    "cbSetParam": "Give optimize() the options.",
    "cbProceed": "It has no such phase.",
    "cbStopOneMultiObj": "dcembed takes one objective.",
}


def _refuse(name: str, advice: str) -> Callable[..., Any]:
    inherited = getattr(gp.Model, name)

    @functools.wraps(inherited)
    def method(self: Model, *args: Any, **kwargs: Any) -> Any:
        if registry(self):
            raise InputError(f"{name}: Gurobi does not see {_count(self)}, and would leave that part out. {advice}")
        return inherited(self, *args, **kwargs)

    return method


def _refuse_in_callback(name: str, advice: str) -> Callable[..., Any]:
    inherited = getattr(gp.Model, name)

    @functools.wraps(inherited)
    def method(self: Model, *args: Any, **kwargs: Any) -> Any:
        if state_of(self).event is not None:
            raise InputError(f"{name}: it does nothing in a run of dcembed, which solves without branch and bound. {advice}")
        return inherited(self, *args, **kwargs)

    return method


for _table, _make in ((REFUSED, _refuse), (REFUSED_IN_CALLBACKS, _refuse_in_callback)):
    for _name, _advice in _table.items():
        # Older versions of Gurobi do not have them all.
        if hasattr(gp.Model, _name):
            setattr(Model, _name, _make(_name, _advice))


class _Watched:
    """In front of a class of the user's own: sees to it that its `optimize` ends in ours."""

    def optimize(self, *args: Any, **kwargs: Any) -> Any:
        """Call the user's."""
        drop(self)
        answered: Any = super().optimize(*args, **kwargs)  # type: ignore[misc]
        if registry(self) and state_of(self).answer is None:
            discard(self)
            raise InputError(
                f"optimize: {type(self).__name__}.optimize has solved the model without {_count(self)}. Call super().optimize() in it, not "
                "gp.Model.optimize()."
            )
        return answered


def adopt(model: gp.Model) -> None:
    """Make a user's model a `Model`. A class of the user's own stays in front, so that its methods are called first."""
    own = type(model)
    if not isinstance(model, Model):
        state_of(model).own_class = own
        model.__class__ = Model if own is gp.Model else type(own.__name__, (_Watched, own, Model), {})


def release(model: gp.Model) -> None:
    """Leave a model as it was before anything was embedded in it."""
    give_back_starts(model)
    drop(model)
    state = state_of(model)
    state.last_point = None
    if state.own_class is not None:
        model.__class__, state.own_class = state.own_class, None


def _count(model: gp.Model) -> str:
    count = len(registry(model))
    return "the embedded network" if count == 1 else f"the {count} embedded networks"


def _suffixes(filename: Any) -> list[str]:
    return [f".{part}" for part in str(filename).lower().split(".")[1:]]
