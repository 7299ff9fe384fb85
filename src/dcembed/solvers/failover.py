"""A problem inside a solver that stays usable: across licences that do not carry it, calls that fail, and fresh starts.

`LastingSession` is what every method works with. It remembers the edits, so that the same problem can be opened anew, in the same
backend after a failure or in another one where a licence ends; indicators are written as rows for backends that take none.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.errors import DcembedError, NoBackendError, SolverLimitError
from dcembed.program.derive import add_rows, derive, keep_rows
from dcembed.program.indicators import linearize_indicators
from dcembed.program.program import Program
from dcembed.solvers.base import Backend, Limits, Session, SessionOptions, Solution, SolverFailure, SolveStatus
from dcembed.solvers.table import choose_backend


def _say_nothing(text: str) -> None:
    """Nobody listens."""


@dataclass(frozen=True)
class Solver:
    """A backend and its settings; `note` hears what a person should know."""

    backend: Backend
    options: SessionOptions
    note: Callable[[str], None] = _say_nothing


@dataclass(frozen=True, eq=False)
class _Edits:
    """What has been changed since the program was given: the last of each kind, None for none."""

    cost: tuple[Array, float] | None = None
    bounds: tuple[Array, Array] | None = None
    # The first row that was replaced, and all rows from there on.
    rows: tuple[int, sp.csr_array, Array, Array] | None = None


class LastingSession:
    """A problem inside the first backend that carries it. It is opened when it is first solved.

    A call that the solver's library does not survive ends in a Solution that says FAILED; `reopen` makes the session usable again.
    """

    def __init__(self, program: Program, solver: Solver) -> None:
        self._program, self._solver = program, solver
        self._edits = _Edits()
        self._session: Session | None = None
        self._num_indicator_rows = 0
        self._failure: str | None = None

    @property
    def solver(self) -> Solver:
        """The backend in use."""
        return self._solver

    def set_cost(self, cost: Array, offset: float) -> None:
        """Replace the linear objective and its constant."""
        self._edits = replace(self._edits, cost=(cost, offset))
        self._apply(lambda session: session.set_cost(cost, offset))

    def set_bounds(self, lb: Array, ub: Array) -> None:
        """Replace the bounds of all columns."""
        self._edits = replace(self._edits, bounds=(lb, ub))
        self._apply(lambda session: session.set_bounds(lb, ub))

    def replace_rows(self, first: int, matrix: sp.csr_array, lb: Array, ub: Array, origin: Array | None = None) -> None:
        """Replace the rows from number `first`, which is the same at every call, to the last."""
        self._edits = replace(self._edits, rows=(first, matrix, lb, ub))
        self._apply(lambda session: session.replace_rows(self._num_indicator_rows + first, matrix, lb, ub, origin))

    def solve(self, limits: Limits, start: Array | None = None, relax: bool = False) -> Solution:
        """Solve; where a licence does not carry the problem, another backend goes on."""
        try:
            return self._solve(limits, start, relax)
        except SolverLimitError as error:
            try:
                self._switch(error)
                return self._solve(limits, start, relax)
            except DcembedError:
                # Nothing else takes it; what was found so far is kept.
                return Solution(SolveStatus.FAILED, None, str(error))

    def open(self) -> None:
        """Open the problem now, so that mistakes in it show at once; SolverLimitError if no installed backend carries it."""
        # A library that fails here will do so again, or not, when the problem is solved.
        with suppress(SolverFailure):
            try:
                self._open()
            except SolverLimitError as error:
                self._switch(error)
                self._open()

    def reopen(self) -> None:
        """A fresh session after a failure."""
        self.close()

    def close(self) -> None:
        """Release what the solver holds."""
        session, self._session, self._failure = self._session, None, None
        if session is not None:
            # It is given up in any case.
            with suppress(SolverFailure):
                session.close()

    def _solve(self, limits: Limits, start: Array | None, relax: bool) -> Solution:
        try:
            session = self._open()
            if self._failure is not None:
                return Solution(SolveStatus.FAILED, None, self._failure)
            return session.solve(limits, start, relax)
        except SolverFailure as error:
            return Solution(SolveStatus.FAILED, None, str(error))

    def _apply(self, edit: Callable[[Session], None]) -> None:
        """Edit the open session; one that is opened later begins with all edits."""
        if self._session is None or self._failure is not None:
            return
        try:
            edit(self._session)
        except SolverFailure as error:
            self._failure = str(error)

    def _open(self) -> Session:
        if self._session is None:
            program = self._program
            if not self._solver.backend.has_indicators:
                program = linearize_indicators(program)
            self._num_indicator_rows = program.num_rows - self._program.num_rows
            self._session = self._solver.backend.open(_edited(program, self._edits, self._num_indicator_rows), self._solver.options)
        return self._session

    def _switch(self, error: SolverLimitError) -> None:
        """Go over to a backend that has no such limit."""
        old = self._solver
        try:
            backend = choose_backend(self._program.problem_class, without=old.backend)
        except NoBackendError as cause:
            raise SolverLimitError(f"{error} Apart from {old.backend.name}: {cause}") from None
        self.close()
        # Its options go by the names of the old one.
        self._solver = replace(old, backend=backend, options=replace(old.options, solver_options={}))
        old.note(f"{old.backend.name}: {error} Going on with {backend.name}.")


def _edited(program: Program, edits: _Edits, num_indicator_rows: int) -> Program:
    """The program as the edits leave it. Indicators are linearized before, for the bounds that hold at all times."""
    if edits.cost is not None:
        program = derive(program, cost=edits.cost[0], offset=edits.cost[1])
    if edits.bounds is not None:
        program = derive(program, lb=edits.bounds[0], ub=edits.bounds[1])
    if edits.rows is not None:
        first, matrix, lb, ub = edits.rows
        program = add_rows(keep_rows(program, np.arange(num_indicator_rows + first)), matrix, lb, ub)
    return program
