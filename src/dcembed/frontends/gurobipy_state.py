"""What dcembed keeps of a gurobipy model: the networks in it, and what the last run came to.

It lies in one attribute of the Python object; Gurobi does not see it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import gurobipy as gp
import numpy as np

from dcembed.arrays import Array
from dcembed.frontends.own_objective import has_price, own_objective
from dcembed.result import Iteration, Result
from dcembed.status import Status

STATUS = {
    Status.OPTIMAL: gp.GRB.OPTIMAL,
    # The two local ones came with Gurobi 13.
    Status.LOCALLY_SOLVED: getattr(gp.GRB, "LOCALLY_OPTIMAL", gp.GRB.SUBOPTIMAL),
    Status.LOCALLY_INFEASIBLE: getattr(gp.GRB, "LOCALLY_INFEASIBLE", gp.GRB.LOADED),
    Status.TIME_LIMIT: gp.GRB.TIME_LIMIT,
    Status.ITERATION_LIMIT: gp.GRB.ITERATION_LIMIT,
    Status.INFEASIBLE: gp.GRB.INFEASIBLE,
    Status.HOST_INFEASIBLE: gp.GRB.INFEASIBLE,
    Status.OUTSIDE_SUPPORT: gp.GRB.INFEASIBLE,
    Status.UNBOUNDED: gp.GRB.UNBOUNDED,
    Status.NUMERICAL_ERROR: gp.GRB.NUMERIC,
    Status.INTERRUPTED: gp.GRB.INTERRUPTED,
}


@dataclass(frozen=True, eq=False)
class Answer:
    """What a run came to, until the model changes.

    Parameters
    ----------
    result
        Of the run.
    fingerprint
        Of the model that was solved; another one has no answer yet.
    variables
        Those that `gurobipy_values` gives their values; none where Gurobi holds the point.
    """

    result: Result
    fingerprint: int
    variables: tuple[gp.Var, ...] = ()

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of the model, in lower case, that Gurobi would get wrong or does not have."""
        result = self.result
        known = {"status": STATUS[result.status], "runtime": result.seconds}
        if self.variables:
            known |= {"solcount": 1, "objval": own_objective(result)}
        bound, gap = result.bound, result.gap
        if has_price(result.embeddings):
            # What is proved is about the objective with the price, which is no bound on the one that Gurobi knows.
            bound, gap = -result.program.sense * np.inf, np.inf
        if self.variables or np.isfinite(bound):
            known |= {"objbound": bound, "objboundc": bound, "mipgap": gap}
        return known


@dataclass(frozen=True, eq=False)
class Starts:
    """The MIP starts of a model before its solution was put in their place.

    Parameters
    ----------
    values
        One row for each start, in the order of `variables`.
    point
        What is there now, in each of them.
    """

    variables: list[gp.Var]
    values: Array
    point: Array


@dataclass(frozen=True)
class Event:
    """Where a callback in Gurobi's manner is called, and what it may ask."""

    where: int
    iteration: Iteration
    num_iterations: int
    num_solutions: int


@dataclass(eq=False)
class State:
    """The networks of a model, and what lasts from one run to the next.

    Parameters
    ----------
    predictors
        Each a `PredictorConstr`, in the order of the calls of `add_predictor_constr`.
    own_class
        The class of the model before it became a `Model`; None where the user made it one.
    answer
        Of the last run.
    last_point
        Its best point, from which the next run goes on.
    starts
        The user's, while the solution is in their place.
    event
        While a callback in Gurobi's manner runs.
    is_terminated
        Whether `terminate` was called in this run.
    """

    predictors: list[Any] = field(default_factory=list)
    own_class: type[gp.Model] | None = None
    answer: Answer | None = None
    last_point: tuple[list[gp.Var], Array] | None = None
    starts: Starts | None = None
    event: Event | None = None
    is_terminated: bool = False


def state_of(model: gp.Model) -> State:
    """What is kept of a model."""
    # Not `hasattr`: a model asks Gurobi for every attribute that it does not have.
    kept: State | None = vars(model).get("_dcembed")
    if kept is None:
        kept = model._dcembed = State()
    return kept


def registry(model: gp.Model) -> list[Any]:
    """What was embedded in a model, in order."""
    return state_of(model).predictors


def current_answer(model: gp.Model) -> Answer | None:
    """What the last run came to; None if there was none, or if the model has changed since."""
    answer = state_of(model).answer
    return answer if answer is not None and fingerprint(model) in (None, answer.fingerprint) else None


def fingerprint(model: gp.Model) -> int | None:
    """Gurobi's own; None while changes wait for `update`, until which a solution stays valid."""
    try:
        number: int = gp.Model.getAttr(model, "Fingerprint")
    except (AttributeError, gp.GurobiError):
        return None
    return number
