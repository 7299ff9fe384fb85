"""Faults put into solvers' libraries, into what solvers say, into memory, and into dcembed's own code. All are taken out again."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from dcembed.solvers import BACKENDS
from dcembed.solvers.base import Solution, SolveStatus

# Where a fault is: what a library raises, what a solver says, what memory refuses, what we got wrong, what a user's callback does.
LAYERS = ("library", "says", "memory", "mistake", "callback")

# Methods of each library's main class that our sessions call, by the class that has them.
LIBRARIES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "highs": (
        "highspy",
        ("Highs",),
        ("run", "changeColsBounds", "changeColsCost", "addRows", "deleteRows", "passModel", "clear", "getSolution"),
    ),
    "scip": ("pyscipopt", ("Model",), ("optimizeNogil", "addVar", "addCons", "setObjective", "getSolVal", "setParam", "getStatus")),
    "piqp": ("piqp", ("DenseSolver", "SparseSolver"), ("setup", "solve")),
    "clarabel": ("clarabel", ("DefaultSolver",), ("__init__", "solve")),
    "gurobi": ("gurobipy", ("Model",), ("__init__", "optimize", "addMConstr", "setObjective", "update", "dispose")),
}

# Functions of the engine as their callers see them.
OWN_CODE = (
    ("dcembed.engine.search.orders", "run_start"),
    ("dcembed.engine.search.turns", "measure_start"),
    ("dcembed.engine.search.host_point", "find_start"),
    ("dcembed.engine.strategy", "run_tangents"),
    ("dcembed.engine.strategy", "run_bundle"),
    ("dcembed.engine.workshop", "take"),
    ("dcembed.engine.workshop", "restriction_rows"),
    ("dcembed.run.completion", "measure_point"),
    ("dcembed.run.journal", "settle"),
)

SAYINGS: dict[str, Callable[[int], Solution]] = {
    "infeasible": lambda n: Solution(SolveStatus.INFEASIBLE, None, "injected"),
    "unbounded": lambda n: Solution(SolveStatus.UNBOUNDED, None, "injected"),
    "failed": lambda n: Solution(SolveStatus.FAILED, None, "injected"),
    "time limit": lambda n: Solution(SolveStatus.TIME_LIMIT, None, "injected"),
    "nothing": lambda n: Solution(SolveStatus.OPTIMAL, None, "injected"),
    "NaN": lambda n: Solution(SolveStatus.OPTIMAL, np.full(n, np.nan), "injected"),
    "infinity": lambda n: Solution(SolveStatus.OPTIMAL, np.full(n, np.inf), "injected"),
    "huge": lambda n: Solution(SolveStatus.OPTIMAL, np.full(n, 1e30), "injected"),
    "zero": lambda n: Solution(SolveStatus.OPTIMAL, np.zeros(n), "injected"),
}

MESSAGE = "injected by the attack"


@dataclass
class Trigger:
    """Goes off at the `first` call, and at `times` calls in all."""

    first: int
    times: float = 1
    calls: int = 0
    fired: int = 0

    def goes_off(self) -> bool:
        self.calls += 1
        goes = self.first <= self.calls < self.first + self.times
        self.fired += goes
        return goes


@contextmanager
def library_raises(backend: str, method: str, error: type[Exception], trigger: Trigger) -> Iterator[None]:
    """A method of a solver's library raises."""
    package, names, _ = LIBRARIES[backend]
    module = importlib.import_module(package)
    with _replaced(module, {name: _failing(getattr(module, name), method, error, trigger) for name in names if hasattr(module, name)}):
        yield


@contextmanager
def solver_says(backend: str, saying: str, trigger: Trigger) -> Iterator[None]:
    """A backend returns what is not so."""
    real = BACKENDS[backend]

    def open_lying(program: Any, options: Any) -> Any:
        return _Lying(real.open(program, options), program.num_columns, SAYINGS[saying], trigger)

    with _backend(backend, open_lying):
        yield


@contextmanager
def memory_refuses(backend: str, method: str, trigger: Trigger) -> Iterator[None]:
    """A session has no memory for one of its methods, or to be opened at all."""
    real = BACKENDS[backend]

    def open_starved(program: Any, options: Any) -> Any:
        if method == "open" and trigger.goes_off():
            raise MemoryError(MESSAGE)
        return _Starved(real.open(program, options), method, trigger)

    with _backend(backend, open_starved):
        yield


@contextmanager
def code_raises(module: str, name: str, error: type[Exception], trigger: Trigger) -> Iterator[None]:
    """A function of dcembed has a mistake."""
    where = importlib.import_module(module)
    with _replaced(where, {name: _or_raise(getattr(where, name), error, trigger)}):
        yield


class _Lying:
    def __init__(self, session: Any, num_columns: int, saying: Callable[[int], Solution], trigger: Trigger) -> None:
        self._session, self._num_columns, self._saying, self._trigger = session, num_columns, saying, trigger

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def solve(self, *args: Any, **kwargs: Any) -> Solution:
        return self._saying(self._num_columns) if self._trigger.goes_off() else self._session.solve(*args, **kwargs)


class _Starved:
    def __init__(self, session: Any, method: str, trigger: Trigger) -> None:
        self._session, self._method, self._trigger = session, method, trigger

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._session, name)
        return _or_raise(real, MemoryError, self._trigger) if name == self._method else real


def _or_raise(real: Callable[..., Any], error: type[Exception], trigger: Trigger) -> Callable[..., Any]:
    """The same function, but for when the trigger goes off."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if trigger.goes_off():
            raise error(MESSAGE)
        return real(*args, **kwargs)

    return call


def _failing(real: Any, method: str, error: type[Exception], trigger: Trigger) -> Any:
    """In place of a library's class: the same, but for the method that fails."""
    if method == "__init__":
        return _or_raise(real, error, trigger)
    # The functions of these libraries want their own class; the classes of the others cannot be inherited from.
    inherits = real.__name__ in ("Highs", "Model")
    return (_inheriting if inherits else _holding)(real, method, lambda found: _or_raise(found, error, trigger))


def _inheriting(real: Any, method: str, wrap: Callable[[Any], Any]) -> Any:
    class Failing(real):
        def __getattribute__(self, name: str) -> Any:
            found = super().__getattribute__(name)
            return wrap(found) if name == method else found

    return Failing


def _holding(real: Any, method: str, wrap: Callable[[Any], Any]) -> Any:
    class Failing:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            object.__setattr__(self, "_real", real(*args, **kwargs))

        def __getattr__(self, name: str) -> Any:
            found = getattr(self._real, name)
            return wrap(found) if name == method else found

        def __setattr__(self, name: str, value: object) -> None:
            setattr(self._real, name, value)

    return Failing


@contextmanager
def _backend(name: str, open_session: Callable[[Any, Any], Any]) -> Iterator[None]:
    real = BACKENDS[name]
    BACKENDS[name] = dataclasses.replace(real, open=open_session)  # type: ignore[index]
    try:
        yield
    finally:
        BACKENDS[name] = real  # type: ignore[index]


@contextmanager
def _replaced(module: ModuleType, names: dict[str, Any]) -> Iterator[None]:
    before = {name: getattr(module, name) for name in names}
    for name, value in names.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)
