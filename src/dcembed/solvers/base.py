"""What every solver backend offers: a table entry, and sessions that are edited in place between solves."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.errors import DcembedError
from dcembed.program.program import Program
from dcembed.solvers.work import Pattern

# Every class that `Program.problem_class` knows.
CLASSES = ("LP", "QP", "QCP", "SOCP", "MILP", "MIQP", "MIQCP", "MISOCP")

# What solvers take for infinity: SCIP this, HiGHS and Gurobi more.
INFINITE = 1e20


class SolveStatus(Enum):
    """How one solve of a subproblem ended."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible point, not proven optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    TIME_LIMIT = "time limit without a point"
    INTERRUPTED = "interrupted"
    FAILED = "solver failed"


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver said. Nothing in it is trusted before it is measured.

    Parameters
    ----------
    status
        How the solve ended.
    x
        The point, or None.
    message
        The solver's own words.
    gap
        Relative gap of a mixed-integer program at which the solver stopped.
    duals
        Multipliers of the rows, positive where an upper side is tight, negative at a lower one; None where the solver has none.
    bound
        The solver's own lower bound on the optimum, constant of the objective included; -inf where it has none. Of a mixed-integer
        program it is there at every end, of others at an optimum alone: the dual objective.
    num_pivots
        Simplex iterations that a mixed-integer program took: what its work was, the same on every machine. 0 where that is not known.
    """

    status: SolveStatus
    x: Array | None = None
    message: str = ""
    gap: float = 0.0
    duals: Array | None = None
    bound: float = -np.inf
    num_pivots: int = 0


def told_bound(value: float) -> float:
    """A bound as a solver tells it; -inf where the number stands for none: NaN, infinity, or as large as what solvers take for it."""
    return float(value) if abs(value) < INFINITE else -np.inf


@dataclass(frozen=True)
class Limits:
    """When to stop a solve: after `seconds`, as soon as `interrupted()` is true, a mixed-integer program at a relative gap or after `nodes`.

    Nodes are the same on every machine, seconds are not. A solve that ends at its nodes says what one says that ends at its time.
    `on_solution` is called, in the thread of the caller, with each improving point of a mixed-integer program soon after the
    solver has found it. HiGHS waits meanwhile.
    """

    seconds: float = np.inf
    interrupted: Callable[[], bool] = lambda: False
    gap: float = 1e-4
    nodes: float = np.inf
    on_solution: Callable[[Array], None] | None = None


def hand_over(found: deque[Array], limits: Limits) -> None:
    """Pass on the improving points that a solver's own thread has left here."""
    while found and limits.on_solution is not None:
        # Taken out last: while a point is in there, its solver may wait.
        limits.on_solution(found[0])
        found.popleft()


@dataclass(frozen=True)
class SessionOptions:
    """Settings of a session.

    Parameters
    ----------
    threads, seed
        Number of threads, and random seed.
    solver_options
        The solver's own options by name.
    accuracy
        How well rows need to hold and optima to be met, for solvers that take much longer for more.
    """

    threads: int = 1
    seed: int = 0
    solver_options: Mapping[str, object] = field(default_factory=dict)
    accuracy: float = 1e-8

    @property
    def num_threads(self) -> int:
        """Threads to use: more than this process has processors would stand in each other's way."""
        return min(self.threads, num_processors())


def num_processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class SolverFailure(Exception):
    """A solver's library gave up in the middle of a call: the step is lost, the run is not."""


@contextmanager
def calling(solver: str) -> Iterator[None]:
    """Around the calls of a solver's library, and those alone: whatever it raises is a SolverFailure.

    Solvers raise types of their own, RuntimeErrors, plain Exceptions, or run out of memory. Mistakes of ours are not made in here.
    """
    try:
        yield
    except (DcembedError, SolverFailure):
        raise
    except Exception as error:
        raise SolverFailure(f"{solver}: {type(error).__name__}: {error}") from error


class Session(Protocol):
    """One problem inside a solver. Edits keep whatever the solver can reuse: matrices, basis, factorization.

    Where the solver's library gives up, each of these raises a SolverFailure.
    """

    def set_cost(self, cost: Array, offset: float) -> None:
        """Replace the linear objective and its constant."""

    def set_quadratic(self, quadratic: sp.csr_array) -> None:
        """Replace the matrix P of the convex quadratic objective 1/2 x'Px; only solvers of quadratic programs are asked for that."""

    def set_bounds(self, lb: Array, ub: Array) -> None:
        """Replace the bounds of all columns."""

    def replace_rows(self, first: int, matrix: sp.csr_array, lb: Array, ub: Array, origin: Array | None = None) -> None:
        """Replace the rows from number `first` to the last.

        `origin` says which of the old rows, counted from `first`, each new one continues, -1 for none; without it they
        continue one another in order. A solver may use that to keep its basis.
        """

    def solve(self, limits: Limits, start: Array | None = None, relax: bool = False) -> Solution:
        """Solve; `start` (n,) is a point to begin from, used where the solver can.

        `relax` lets integers be fractional; of the indicators that the solver takes itself, those that bounds switch on are left.
        """

    def close(self) -> None:
        """Release what the solver holds."""


@dataclass(frozen=True)
class Backend:
    """A row of the solver table.

    Parameters
    ----------
    name
        What users write in `Options(solver=...)`.
    package
        The Python package it needs.
    install
        The command that installs it.
    classes
        The problem classes it takes, out of `CLASSES`.
    has_indicators
        Whether it takes indicators itself; otherwise they are linearized from bounds.
    has_threads
        Whether it uses more than one thread if it may.
    open
        Starts a session on a program, in this process.
    deaf_seconds
        Estimates for how long it may hear neither the clock nor Ctrl-C; `failover.py` decides by it where a problem is solved.
    is_memoryless
        Whether an answer depends on nothing but the problem as it is: no basis, no factors, no cuts of earlier solves.
    """

    name: str
    package: str
    install: str
    classes: frozenset[str]
    has_indicators: bool
    has_threads: bool
    open: Callable[[Program, SessionOptions], Session]
    deaf_seconds: Callable[[Pattern], float] = lambda pattern: 0.0
    is_memoryless: bool = False
