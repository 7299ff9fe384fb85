"""Injected faults: the best point is kept, the run goes on, and what happened is told."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, fields
from functools import partial
from importlib.util import find_spec
from itertools import count
from typing import Any

import numpy as np

import dcembed
from dcembed.run.journal import Journal
from dcembed.status import Status

from .case import FEASIBILITY_TOL, Case, measure, to_dcembed
from .injectors import (
    LAYERS,
    LIBRARIES,
    MESSAGE,
    OWN_CODE,
    SAYINGS,
    Trigger,
    code_raises,
    library_raises,
    memory_refuses,
    solver_says,
)
from .specials import case_of

# Which programs each backend is tried on.
HOSTS = {"highs": ("LP", "MILP"), "scip": ("MILP", "MIQP"), "piqp": ("QP",), "clarabel": ("QP", "SOCP"), "gurobi": ("LP", "QP", "MILP")}
# Programs are drawn from so many; each is small.
NUM_PROGRAMS = 40
TIME_LIMIT = 4.0
OPTIONS = {"verbose": False, "time_limit": TIME_LIMIT, "max_starts": 3, "max_iterations": 20}
ERRORS = (RuntimeError, MemoryError, ValueError, Exception)
MISTAKES = (TypeError, IndexError, ZeroDivisionError, AttributeError)
# Where a session is given up anyway nothing of the run is touched, and there is nothing to tell.
RELEASING = ("clear", "dispose", "close")
METHODS = ("open", "solve", "set_cost", "set_bounds", "replace_rows", "close")

FAULTS = ("lost incumbent", "uncaught", "swallowed", "no result attached", "silent", "not gone on", "believed", "false feasible")


class UsersError(Exception):
    """What a user's callback raises."""


@dataclass(frozen=True)
class Plan:
    """A fault to be injected.

    Parameters
    ----------
    layer, where, what
        One of `LAYERS`, the place, and what happens there.
    backend, program
        What is solved with what.
    first, times
        At which call it goes off, and how often.
    """

    layer: str
    where: str
    what: str
    backend: str
    program: str
    first: int
    times: float

    def __str__(self) -> str:
        times = "once" if self.times == 1 else f"{self.times:g} times"
        return f"{self.layer}: {self.where} {self.what} at call {self.first}, {times}, {self.backend} on {self.program}"


@dataclass(frozen=True, eq=False)
class Trial:
    """One run with a fault in it; `fired` says how often it went off."""

    name: str
    plan: Plan
    fired: int
    status: str
    faults: dict[str, str]


def names(seed: int) -> Iterator[str]:
    yield from (f"fault:{number}" for number in count(seed))


def plan_of(name: str) -> Plan:
    rng = np.random.default_rng([77, int(name.partition(":")[2])])
    layer = str(rng.choice(LAYERS, p=[0.4, 0.25, 0.15, 0.1, 0.1]))
    backend = str(rng.choice([b for b in HOSTS if find_spec(LIBRARIES[b][0]) is not None]))
    where, what = _place(rng, layer, backend)
    program = f"{rng.choice(HOSTS[backend])}:{rng.integers(NUM_PROGRAMS)}"
    first = int(rng.choice([1, 2, 3, 5, 8, 13, 21, 34]))
    return Plan(layer, where, what, backend, program, first, float(rng.choice([1, 1, 3, np.inf])))


def _place(rng: np.random.Generator, layer: str, backend: str) -> tuple[str, str]:
    if layer == "library":
        errors = [error.__name__ for error in ERRORS] + (["GurobiError"] if backend == "gurobi" else [])
        return str(rng.choice(LIBRARIES[backend][2])), str(rng.choice(errors))
    if layer == "says":
        return "solve", str(rng.choice(list(SAYINGS)))
    if layer == "memory":
        return str(rng.choice(METHODS)), "MemoryError"
    if layer == "mistake":
        module, function = OWN_CODE[int(rng.integers(len(OWN_CODE)))]
        return f"{module}.{function}", str(rng.choice([error.__name__ for error in MISTAKES]))
    return "callback", str(rng.choice(["raises", "stops"]))


def attempt(name: str) -> Trial:
    """Run with the fault of this name, and without it where that is needed to judge."""
    return run(name, plan_of(name))


def run(name: str, plan: Plan) -> Trial:
    case, trigger = case_of(plan.program), Trigger(plan.first, plan.times)
    error, result, trace = None, None, ""
    with _watching(case) as best, _injected(plan, trigger):
        try:
            result = _solve(case, plan.backend, _callback(plan, trigger))
        except Exception as raised:
            error, result, trace = raised, getattr(raised, "result", None), traceback.format_exc()
    faults = {} if trigger.fired == 0 else _judge(case, plan, best, result, error, trace)
    return Trial(name, plan, trigger.fired, result.status.name if result is not None else "none", faults)


def _solve(case: Case, backend: str, callback: Callable[[Any], bool] | None) -> dcembed.Result:
    program, embeddings = to_dcembed(case)
    return dcembed.solve(program, embeddings, options={**OPTIONS, "solver": backend, "callback": callback})


def _injected(plan: Plan, trigger: Trigger) -> AbstractContextManager[None]:
    if plan.layer == "library":
        return library_raises(plan.backend, plan.where, _error(plan.what), trigger)
    if plan.layer == "says":
        return solver_says(plan.backend, plan.what, trigger)
    if plan.layer == "memory":
        return memory_refuses(plan.backend, plan.where, trigger)
    if plan.layer == "mistake":
        module, _, function = plan.where.rpartition(".")
        return code_raises(module, function, _error(plan.what), trigger)
    return nullcontext()


def _callback(plan: Plan, trigger: Trigger) -> Callable[[Any], bool] | None:
    if plan.layer != "callback":
        return None

    def call(iteration: dcembed.Iteration) -> bool:
        goes = trigger.goes_off()
        if goes and plan.what == "raises":
            raise UsersError(MESSAGE)
        return goes

    return call


def _error(name: str) -> type[Exception]:
    if name == "GurobiError":
        import gurobipy

        return partial(gurobipy.GurobiError, 10001)  # type: ignore[return-value]
    return next(error for error in (*ERRORS, *MISTAKES) if error.__name__ == name)


@contextmanager
def _watching(case: Case) -> Iterator[list[float]]:
    """The objective of the best point, by our own measurement, that the engine has met so far; lower is better."""
    best, real, sense = [np.inf], Journal.offer, -1.0 if case.maximize else 1.0

    def offer(journal: Journal, point: Any) -> None:
        real(journal, point)
        own = measure(case, point.x)
        if own.violation <= FEASIBILITY_TOL:
            best[0] = min(best[0], sense * own.objective)

    Journal.offer = offer  # type: ignore[method-assign]
    try:
        yield best
    finally:
        Journal.offer = real  # type: ignore[method-assign]


def _judge(case: Case, plan: Plan, best: list[float], result: dcembed.Result | None, error: Exception | None, trace: str) -> dict[str, str]:
    faults = _loss(case, best[0], result)
    may_raise = plan.layer == "mistake" or (plan.layer == "callback" and plan.what == "raises")
    if error is not None and not may_raise:
        faults["uncaught"] = trace
    if error is None and may_raise:
        faults["swallowed"] = f"{plan.what} was not raised"
    if error is not None and may_raise and result is None:
        faults["no result attached"] = repr(error)
    if error is None and plan.layer in ("library", "memory") and plan.where not in RELEASING and MESSAGE not in _told(result):
        faults["silent"] = f"{result.status.name}: {result.reason}"
    if error is None:
        faults |= _going_on(case, plan, best[0], result)
    return faults


def _loss(case: Case, best: float, result: dcembed.Result | None) -> dict[str, str]:
    """Whether the result has the best point that was met, and is what it says."""
    if result is None:
        return {"lost incumbent": f"{best!r} was known, nothing was returned"} if np.isfinite(best) else {}
    if result.is_feasible and (result.x is None or measure(case, result.x).violation > 1.01 * FEASIBILITY_TOL):
        return {"false feasible": "a point that violates more than the tolerance"}
    objective = (-1.0 if case.maximize else 1.0) * result.objective if result.is_feasible else np.inf
    # What a run gives up when it takes out what its best point owes to the tolerance.
    if np.isfinite(best) and objective > best + 1e-4 * max(1.0, abs(best)):
        return {"lost incumbent": f"{best!r} was known, {objective!r} returned"}
    return {}


def _told(result: dcembed.Result) -> str:
    """Every word in a result."""
    words = [str(getattr(result, f.name)) for f in fields(result) if f.name not in ("program", "embeddings", "x", "incumbent_points")]
    return " ".join(words)


def _going_on(case: Case, plan: Plan, best: float, result: dcembed.Result) -> dict[str, str]:
    """Whether the run believed the fault, or ended over one that was soon gone."""
    if plan.layer == "callback":
        return {} if result.status is Status.INTERRUPTED else {"not gone on": f"stopped by the callback, but says {result.status.name}"}
    proves = (Status.HOST_INFEASIBLE, Status.INFEASIBLE)
    if result.status in proves and np.isfinite(best):
        return {"believed": f"{result.status.name} although a feasible point is known"}
    if plan.times == 1 and not result.is_feasible and _solve(case, plan.backend, None).is_feasible:
        return {"not gone on": f"{result.status.name}: {result.reason}; feasible without the fault"}
    return {}


def summarize(trials: Sequence[Trial]) -> list[tuple[str, str]]:
    """The lines of the final table."""
    fired = [trial for trial in trials if trial.fired]
    lines = [("faults injected", f"{len(fired)} (of {len(trials)} planned; the others were never reached)")]
    for fault in FAULTS:
        found = [trial for trial in fired if fault in trial.faults]
        layers = ", ".join(f"{layer} {number}" for layer in LAYERS if (number := sum(t.plan.layer == layer for t in found)))
        shown = " ".join(trial.name for trial in found[:12])
        lines.append((fault, f"{len(found)}" + (f" ({layers}): {shown}" if found else "")))
    return lines
