"""A problem inside a solver that stays usable: across licences that do not carry it, calls that fail, and fresh starts.

`LastingSession` is what every method works with. It remembers the edits, so that the same problem can be opened anew, in the same
backend after a failure or in another one where a licence ends; indicators are written as rows for backends that take none. What may
take long without hearing the clock or Ctrl-C is solved in a process that can be ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.copies import replace
from dcembed.errors import DcembedError, NoBackendError, SolverLimitError
from dcembed.program.derive import derive
from dcembed.program.indicators import linearize_indicators
from dcembed.program.program import Program
from dcembed.solvers import work, workers
from dcembed.solvers.base import Backend, Limits, Session, SessionOptions, Solution, SolverFailure, SolveStatus
from dcembed.solvers.remote import RemoteSession
from dcembed.solvers.table import choose_backend
from dcembed.sparse import rows_from

# Where a problem is solved is decided anew when its rows have so many times the coefficients they had.
GROWTH = 1.2
# What a solver may do in the middle of a run: the step is lost, the run is not.
FAILURES = (SolverFailure, MemoryError)


def _say_nothing(text: str) -> None:
    """Nobody listens."""


@dataclass(frozen=True)
class Solver:
    """A backend and its settings; `note` hears what a person should know."""

    backend: Backend
    options: SessionOptions
    note: Callable[[str], None] = _say_nothing

    def moved_to(self, backend: Backend) -> Solver:
        """The same in another backend, without the options that go by the names of this one."""
        return replace(self, backend=backend, options=replace(self.options, solver_options={}))


@dataclass(eq=False)
class _Edits:
    """What has been changed since the program was given: the last of each kind, None for none."""

    cost: tuple[Array, float] | None = None
    quadratic: sp.csr_array | None = None
    bounds: tuple[Array, Array] | None = None
    # The first row that was replaced, and all rows from there on.
    rows: tuple[int, sp.csr_array, Array, Array] | None = None

    def num_entries(self, program: Program) -> int:
        """Coefficients of the rows and cones."""
        first, matrix = self.rows[:2] if self.rows is not None else (program.num_rows, None)
        of_rows = int(program.rows.indptr[first]) + (0 if matrix is None else int(matrix.nnz))
        return of_rows + sum(int(cone.matrix.nnz) for cone in program.cones)

    def pattern(self, program: Program) -> work.Pattern:
        """What the time of a solve depends on."""
        first, matrix = self.rows[:2] if self.rows is not None else (program.num_rows, rows_from(program.rows, program.num_rows))
        return work.Pattern(program if self.quadratic is None else derive(program, quadratic=self.quadratic), first, matrix)


class LastingSession:
    """A problem inside the first backend that carries it. It is opened when it is first solved.

    A solve that the solver's library does not survive ends in a Solution that says FAILED; `reopen` begins afresh.
    """

    def __init__(self, program: Program, solver: Solver) -> None:
        if program.concave is not None:
            raise ValueError("A solver is asked for convex problems only; the concave part of an objective is linearized before.")
        self._program, self._solver, self._tell = program, solver, solver.note
        self._edits = _Edits()
        self._session: Session | None = None
        self._num_indicator_rows = 0
        # Coefficients of the rows when it was last decided where to solve.
        self._num_weighed = -1

    @property
    def solver(self) -> Solver:
        """The backend in use."""
        return self._solver

    def tell(self, note: Callable[[str], None]) -> None:
        """Who hears what a person should know from now on."""
        self._tell = note

    def set_cost(self, cost: Array, offset: float) -> None:
        """Replace the linear objective and its constant."""
        self._edits.cost = cost, offset
        self._apply(lambda session: session.set_cost(cost, offset))

    def set_quadratic(self, quadratic: sp.csr_array) -> None:
        """Replace the matrix of the quadratic objective."""
        self._edits.quadratic = quadratic
        self._apply(lambda session: session.set_quadratic(quadratic))

    def set_bounds(self, lb: Array, ub: Array) -> None:
        """Replace the bounds of all columns."""
        self._edits.bounds = lb, ub
        self._apply(lambda session: session.set_bounds(lb, ub))

    def replace_rows(self, first: int, matrix: sp.csr_array, lb: Array, ub: Array, origin: Array | None = None) -> None:
        """Replace the rows from number `first`, which is the same at every call, to the last."""
        self._edits.rows = first, matrix, lb, ub
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
        """Open the problem now, so that mistakes in it show at once; SolverLimitError if no installed backend carries it.

        One that belongs into another process is sent there when it is solved; many are not. A process begins meanwhile.
        """
        if self._session is not None:
            # It was opened before; where it belongs is decided when it is solved.
            return
        if self._belongs_elsewhere():
            workers.prepare()
            return
        # A library that fails here will do so again, or not, when the problem is solved.
        with self._surviving("it is opened again when it is needed"):
            try:
                self._open()
            except SolverLimitError as error:
                self._switch(error)

    def reopen(self) -> None:
        """A fresh session after a failure."""
        self.close()

    def close(self) -> None:
        """Release what the solver holds."""
        session, self._session = self._session, None
        if session is not None:
            # It is given up in any case.
            with self._surviving("closing it failed"):
                session.close()

    def _solve(self, limits: Limits, start: Array | None, relax: bool) -> Solution:
        deadline = time.monotonic() + limits.seconds
        try:
            solution = self._open().solve(limits, start, relax)
            if solution.status is SolveStatus.FAILED and isinstance(self._session, RemoteSession) and not workers.can_start():
                # Better deaf than not at all.
                solution = self._open().solve(replace(limits, seconds=deadline - time.monotonic()), start, relax)
        except FAILURES as error:
            self._note(error, "that solve is lost")
            return Solution(SolveStatus.FAILED, None, _words(error))
        if solution.x is not None and not np.isfinite(solution.x).all():
            solution = Solution(SolveStatus.FAILED, None, f"{solution.message}, with entries that are not finite")
        if "interrupt" in solution.message.lower() and not limits.interrupted():
            # Solvers say so whoever stopped them; here it was the clock.
            solution = replace(solution, message="time limit")
        if solution.status is SolveStatus.FAILED:
            self._tell(f"{self._solver.backend.name}: {solution.message or solution.status.value}: a solve brought nothing.")
        if solution.duals is None or self._num_indicator_rows == 0:
            return solution
        return replace(solution, duals=solution.duals[self._num_indicator_rows :])

    def _apply(self, edit: Callable[[Session], None]) -> None:
        """Edit the open session. One that fails is given up: the next solve opens another, with all edits."""
        if self._session is not None:
            try:
                edit(self._session)
            except FAILURES as error:
                self._note(error, "an edit is lost, and the problem is opened again")
                self.close()

    def _open(self) -> Session:
        """The session, opened on the program as it was given, so that what is wrong with that is the user's, and then edited."""
        if isinstance(self._session, RemoteSession) and self._session.is_lost:
            self.close()
        elsewhere = self._belongs_elsewhere()
        if elsewhere and not isinstance(self._session, RemoteSession):
            self.close()
        if self._session is None:
            program = self._program if self._solver.backend.has_indicators else linearize_indicators(self._program)
            self._num_indicator_rows = program.num_rows - self._program.num_rows
            backend, options = self._solver.backend, self._solver.options
            self._session = _open_elsewhere(backend, program, options) if elsewhere else backend.open(program, options)
            try:
                _replay(self._edits, self._session, self._num_indicator_rows)
            except BaseException:
                # Half edited it would answer for another problem.
                self.close()
                raise
        return self._session

    def _belongs_elsewhere(self) -> bool:
        """Whether the solver could be deaf for too long in this process; it is asked again when the rows have grown."""
        if isinstance(self._session, RemoteSession):
            return True
        if self._session is not None and self._edits.num_entries(self._program) <= GROWTH * self._num_weighed:
            return False
        pattern = self._edits.pattern(self._program)
        self._num_weighed = pattern.num_entries
        return workers.can_start() and self._solver.backend.deaf_seconds(pattern) > work.HERE_SECONDS

    def _switch(self, error: SolverLimitError) -> None:
        """Go over to a backend that has no such limit; where that does not take the problem, everything stays."""
        old = self._solver
        try:
            backend = choose_backend(self._program.problem_class, without=old.backend)
        except NoBackendError as cause:
            raise SolverLimitError(f"{error} Apart from {old.backend.name}: {cause}") from None
        self.close()
        self._solver = old.moved_to(backend)
        try:
            with self._surviving("it is opened again when it is needed"):
                self._open()
        except DcembedError:
            self._solver = old
            raise
        self._tell(f"{old.backend.name}: {error} Going on with {backend.name}.")

    @contextmanager
    def _surviving(self, consequence: str) -> Iterator[None]:
        """A failure of the library is noted and goes no further."""
        try:
            yield
        except FAILURES as error:
            self._note(error, consequence)

    def _note(self, error: BaseException, consequence: str) -> None:
        self._tell(f"{self._solver.backend.name}: {_words(error)}: {consequence}.")


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _open_elsewhere(backend: Backend, program: Program, options: SessionOptions) -> Session:
    """In a process of its own, here if none can be started."""
    with suppress(SolverFailure):
        return RemoteSession(backend.name, program, options)
    return backend.open(program, options)


def _replay(edits: _Edits, session: Session, num_indicator_rows: int) -> None:
    """Make all edits on a fresh session."""
    if edits.cost is not None:
        session.set_cost(*edits.cost)
    if edits.quadratic is not None:
        session.set_quadratic(edits.quadratic)
    if edits.bounds is not None:
        session.set_bounds(*edits.bounds)
    if edits.rows is not None:
        first, matrix, lb, ub = edits.rows
        session.replace_rows(num_indicator_rows + first, matrix, lb, ub)
