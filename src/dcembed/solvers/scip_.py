"""SCIP for mixed-integer programs with quadratic objectives, quadratic constraints and cones, and for hosts with indicators.

The matrices are kept here and the model is made anew for each solve: SCIP takes no edits once it has presolved.
A quadratic objective goes through an epigraph variable, as SCIP's objectives are linear.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import wait
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pyscipopt
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.program.cones import square_root
from dcembed.program.derive import relaxed
from dcembed.program.indicators import settled_rows
from dcembed.program.program import Program
from dcembed.solvers.base import INFINITE, Limits, SessionOptions, Solution, SolverFailure, SolveStatus, calling, hand_over, told_bound
from dcembed.solvers.edited_program import EditedProgram
from dcembed.solvers.piqp_ import PiqpSession
from dcembed.solvers.threads import ReusedThreads, leave_behind

POLL_SECONDS = 0.05
# Quadratics of more columns are not factorized: that would take seconds.
MAX_ROOT_COLUMNS = 500
# How long SCIP may take to stop when it is asked to.
GRACE_SECONDS = 0.6
FEASIBILITY_TOL = 1e-9

# SCIP counts the threads in which it has seen a nonlinear problem and crashes at the 65th, so threads are used again.
_THREADS = ReusedThreads(16)

_STATUS = {
    "optimal": SolveStatus.OPTIMAL,
    "gaplimit": SolveStatus.OPTIMAL,
    "infeasible": SolveStatus.INFEASIBLE,
    "unbounded": SolveStatus.UNBOUNDED,
    "timelimit": SolveStatus.TIME_LIMIT,
    "nodelimit": SolveStatus.TIME_LIMIT,
    "userinterrupt": SolveStatus.INTERRUPTED,
}

T = TypeVar("T")


class _TooLate(SolverFailure):
    """SCIP was not ready, or did not stop, in time."""


@dataclass(frozen=True)
class _Watch:
    """Looks at the time and for interrupts while a model is built; _TooLate then."""

    deadline: float
    interrupted: Callable[[], bool]

    def __call__(self, parts: Iterable[T]) -> Iterator[T]:
        for part in parts:
            if time.monotonic() > self.deadline or self.interrupted():
                raise _TooLate
            yield part


class ScipSession(EditedProgram):
    """A convex program with or without integers and indicators."""

    def __init__(self, program: Program, options: SessionOptions) -> None:
        super().__init__(program)
        # SCIP's own concurrent mode is off; it has one thread here whatever is asked for.
        # Ctrl-C is heard by whoever handles it in this process, not by a handler of SCIP's own.
        self._own_options: dict[str, object] = {"misc/catchctrlc": False, "randomization/randomseedshift": options.seed}
        if not program.integer.any():
            # Convex programs elsewhere are solved far beyond 1e-6; cuts that differ by less would be added again and again.
            self._own_options["numerics/feastol"] = FEASIBILITY_TOL
        # The user's come after ours, and are refused at once where SCIP does not take them.
        self._options = options.solver_options
        _set_options(pyscipopt.Model(), self._options)
        is_curved = bool(program.quadratic_constraints) or program.cone_rows.heads.size > 0
        # A small relaxation that is a convex QP takes PIQP a millisecond where SCIP needs twenty.
        self._relaxation = PiqpSession(relaxed(program), SessionOptions()) if program.quadratic is not None and not is_curved else None

    def set_quadratic(self, quadratic: sp.csr_array) -> None:
        super().set_quadratic(quadratic)
        # A root that was taken before is that of another matrix.
        self.__dict__.pop("_root", None)
        if self._relaxation is not None:
            self._relaxation.set_quadratic(quadratic)

    def solve(self, limits: Limits, start: Array | None = None, relax: bool = False) -> Solution:
        deadline = time.monotonic() + limits.seconds
        if relax and self._relaxation is not None:
            solution = self._solve_relaxation(self._relaxation, limits)
            if solution.status is SolveStatus.OPTIMAL or limits.interrupted() or time.monotonic() >= deadline:
                return solution
        try:
            with calling("SCIP"):
                model, columns = self._model(_Watch(deadline, limits.interrupted), relax=relax)
                if "limits/gap" not in self._options:
                    # Without integers other solvers have no gap either, and callers count on that.
                    model.setParam("limits/gap", limits.gap if self._program.integer.any() and not relax else 0.0)
                if "limits/nodes" not in self._options and np.isfinite(limits.nodes):
                    model.setParam("limits/nodes", int(limits.nodes))
                if start is not None:
                    self._pass_start(model, columns, start)
            solution = _solve(model, columns, replace(limits, seconds=deadline - time.monotonic()))
            if solution.message == "inforunbd":
                return self._settle(solution.message, deadline, limits)
        except _TooLate:
            status = SolveStatus.INTERRUPTED if limits.interrupted() else SolveStatus.TIME_LIMIT
            return Solution(status, None, "SCIP was not ready or did not stop in time")
        return solution

    def close(self) -> None:
        if self._relaxation is not None:
            self._relaxation.close()

    def _solve_relaxation(self, session: PiqpSession, limits: Limits) -> Solution:
        settled = settled_rows(self._program, self._lb, self._ub)
        session.set_cost(self._cost, self._offset)
        session.set_bounds(self._lb, self._ub)
        session.replace_rows(
            0,
            sp.csr_array(sp.vstack([self._rows, settled.matrix])),
            np.concatenate([self._row_lb, settled.lb]),
            np.concatenate([self._row_ub, settled.ub]),
        )
        return session.solve(limits)

    def _settle(self, message: str, deadline: float, limits: Limits) -> Solution:
        """Tell infeasible from unbounded by a solve without objective."""
        with calling("SCIP"):
            model, columns = self._model(_Watch(deadline, limits.interrupted), with_objective=False)
        solution = _solve(model, columns, Limits(deadline - time.monotonic(), limits.interrupted))
        status = SolveStatus.UNBOUNDED if solution.x is not None else solution.status
        return Solution(status, None, f"{message}, {status.value}")

    def _model(self, watch: _Watch, with_objective: bool = True, relax: bool = False) -> tuple[pyscipopt.Model, list[Any]]:
        """The model and its variables; _TooLate where it takes longer than there is time."""
        model = pyscipopt.Model()
        model.hideOutput()
        with calling("SCIP"):
            model.setParams(self._own_options)
        _set_options(model, self._options)
        kinds = np.where(self._program.integer & ~np.array(relax), "I", "C")
        cost = self._cost if with_objective else np.zeros(self._cost.size)
        columns = [
            model.addVar(f"w{j}", vtype=str(kinds[j]), lb=_limit(self._lb[j]), ub=_limit(self._ub[j]), obj=float(cost[j]))
            for j in range(cost.size)
        ]
        model.addObjoffset(float(self._offset))
        rows = self._rows
        for i in watch(range(rows.shape[0])):
            _add(model, rows, i, columns, self._row_lb[i], self._row_ub[i])
        if relax:
            self._add_settled(model, columns)
        else:
            self._add_indicators(model, columns, watch)
        self._add_curved(model, columns, watch)
        if with_objective:
            self._add_quadratic(model, columns, watch)
        return model, columns

    def _add_indicators(self, model: pyscipopt.Model, columns: list[Any], watch: _Watch) -> None:
        for indicator in watch(self._program.indicators):
            expression = _row(indicator.coefficients, 0, columns)
            binary, active = columns[indicator.column], indicator.value == 1
            if np.isfinite(indicator.ub):
                model.addConsIndicator(expression <= indicator.ub, binary, activeone=active)
            if np.isfinite(indicator.lb):
                model.addConsIndicator(-expression <= -indicator.lb, binary, activeone=active)

    def _add_settled(self, model: pyscipopt.Model, columns: list[Any]) -> None:
        """The indicators of a relaxation as rows: those that bounds switch on. SCIP takes no others without a binary."""
        rows = settled_rows(self._program, self._lb, self._ub)
        for i in range(rows.matrix.shape[0]):
            _add(model, rows.matrix, i, columns, rows.lb[i], rows.ub[i])

    def _add_quadratic(self, model: pyscipopt.Model, columns: list[Any], watch: _Watch) -> None:
        if self._program.quadratic is not None:
            epigraph = model.addVar("objective", lb=None, obj=1.0)
            model.addCons(_form(model, self._program.quadratic, columns, watch, self._root) <= epigraph)

    def _add_curved(self, model: pyscipopt.Model, columns: list[Any], watch: _Watch) -> None:
        """Quadratic constraints as they are; a cone by columns of its own for (t, v), t nonnegative, and v'v <= t^2."""
        for constraint, root in zip(self._program.quadratic_constraints, self._constraint_roots, strict=True):
            form = _form(model, constraint.quadratic, columns, watch, root) + _row(constraint.coefficients, 0, columns)
            model.addCons(form <= constraint.ub)
        cones = self._program.cone_rows
        for first, size in zip(cones.heads, cones.sizes, strict=True):
            entries = [model.addVar(f"c{i}", lb=0.0 if i == first else None) for i in range(first, first + size)]
            for i, entry in watch(enumerate(entries, first)):
                _add_terms(model, model.addCons(-1.0 * entry == -float(cones.offset[i])), cones.matrix, i, columns)
            if size > 1:
                model.addCons(pyscipopt.quicksum(entry * entry for entry in entries[1:]) <= entries[0] * entries[0])

    @cached_property
    def _root(self) -> sp.csr_array | None:
        return _small_root(self._program.quadratic)

    @cached_property
    def _constraint_roots(self) -> list[sp.csr_array | None]:
        return [_small_root(constraint.quadratic) for constraint in self._program.quadratic_constraints]

    def _pass_start(self, model: pyscipopt.Model, columns: list[Any], start: Array) -> None:
        solution = model.createPartialSol()
        for column, value in zip(columns, start, strict=True):
            model.setSolVal(solution, column, float(value))
        model.addSol(solution)


def _solve(model: pyscipopt.Model, columns: list[Any], limits: Limits) -> Solution:
    with calling("SCIP"):
        if np.isfinite(limits.seconds):
            model.setParam("limits/time", max(limits.seconds, 0.0))
        reports = _report_solutions(model, columns) if limits.on_solution is not None else _Reports()
    error = _run(model, limits, reports)
    if error is not None:
        return Solution(SolveStatus.FAILED, None, str(error))
    with calling("SCIP"):
        solution = _solution(model, columns)
    if solution.status is SolveStatus.INTERRUPTED and not limits.interrupted():
        return replace(solution, status=SolveStatus.TIME_LIMIT)
    return solution


def _run(model: pyscipopt.Model, limits: Limits, reports: _Reports) -> BaseException | None:
    """Optimize in a thread, so that this one can hear Ctrl-C and keep the time; what SCIP or a report of its raised, if one did."""
    deadline = time.monotonic() + limits.seconds
    asked = np.inf
    work = _THREADS.submit(model.optimizeNogil)
    try:
        while not wait([work], POLL_SECONDS).done:
            hand_over(reports.found, limits)
            if limits.interrupted() or time.monotonic() > deadline:
                asked = min(asked, time.monotonic())
                _interrupt(model)
            if time.monotonic() > asked + GRACE_SECONDS:
                # SCIP looks neither at its clock nor at the flag while it sets up a solve; its thread is left behind.
                leave_behind(lambda seconds: wait([work], seconds))
                raise _TooLate
        hand_over(reports.found, limits)
    except BaseException:
        _interrupt(model)
        raise
    return reports.error or work.exception()


def _interrupt(model: pyscipopt.Model) -> None:
    """Ask SCIP to stop, unless it is in the one stage where it takes that for an error."""
    if model.getStage() != pyscipopt.SCIP_STAGE.INITSOLVE:
        # It may enter that stage right now; whoever keeps the time asks again.
        with contextlib.suppress(Exception):
            model.interruptSolve()


@dataclass
class _Reports:
    """Each new best point, and what was raised when one was asked for: SCIP swallows what its plugins raise."""

    found: deque[Array] = field(default_factory=deque)
    error: Exception | None = None


def _report_solutions(model: pyscipopt.Model, columns: list[Any]) -> _Reports:
    """Where SCIP will put each new best point."""
    reports = _Reports()
    kind = pyscipopt.SCIP_EVENTTYPE.BESTSOLFOUND

    # pyscipopt has no types.
    class Report(pyscipopt.Eventhdlr):  # type: ignore[misc]
        def eventinit(self) -> None:
            self.model.catchEvent(kind, self)

        def eventexit(self) -> None:
            self.model.dropEvent(kind, self)

        def eventexec(self, event: object) -> None:
            try:
                best = self.model.getBestSol()
                reports.found.append(np.array([self.model.getSolVal(best, column) for column in columns]))
            except Exception as error:
                reports.error = error
                _interrupt(self.model)

    model.includeEventhdlr(Report(), "improving points", "keeps each new best point")
    return reports


def _solution(model: pyscipopt.Model, columns: list[Any]) -> Solution:
    message = model.getStatus()
    status = _STATUS.get(message, SolveStatus.FAILED)
    if status in (SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED):
        return Solution(status, None, message)
    bound = told_bound(model.getDualbound())
    if model.getNSols() == 0:
        return Solution(SolveStatus.FAILED if status is SolveStatus.OPTIMAL else status, None, message, bound=bound)
    best = model.getBestSol()
    x = np.array([model.getSolVal(best, column) for column in columns])
    is_mixed = model.getNIntVars() + model.getNBinVars() > 0
    gap, num_pivots = (float(model.getGap()), int(model.getNLPIterations())) if is_mixed else (0.0, 0)
    shown = status if status is SolveStatus.OPTIMAL else SolveStatus.FEASIBLE
    return Solution(shown, x, message, gap, bound=bound, num_pivots=num_pivots)


def _row(matrix: sp.csr_array, i: int, columns: list[Any]) -> Any:
    entries = range(matrix.indptr[i], matrix.indptr[i + 1])
    terms = [float(matrix.data[e]) * columns[matrix.indices[e]] for e in entries if matrix.data[e] != 0]
    # A row of zeros may still be infeasible.
    return pyscipopt.quicksum(terms) if terms else 0.0 * columns[0]


def _small_root(quadratic: sp.csr_array | None) -> sp.csr_array | None:
    """F with Q = F'F, where it takes no time to find."""
    return square_root(quadratic) if quadratic is not None and np.count_nonzero(np.diff(quadratic.indptr)) <= MAX_ROOT_COLUMNS else None


def _form(model: pyscipopt.Model, quadratic: sp.csr_array, columns: list[Any], watch: _Watch, root: sp.csr_array | None) -> Any:
    """1/2 w'Qw, with a root as half the squares of z = F w: in products SCIP often does not see that they are convex together."""
    if root is None:
        upper = sp.coo_array(sp.triu(quadratic))
        # It counts each pair off the diagonal twice.
        weight = np.where(upper.row == upper.col, 0.5, 1.0) * upper.data
        return pyscipopt.quicksum(float(q) * columns[i] * columns[j] for i, j, q in watch(zip(upper.row, upper.col, weight, strict=True)))
    squares = []
    for i in watch(range(root.shape[0])):
        entries = slice(root.indptr[i], root.indptr[i + 1])
        places, values = root.indices[entries].tolist(), root.data[entries].tolist()
        if len(places) == 1:
            squares.append(0.5 * values[0] ** 2 * columns[places[0]] * columns[places[0]])
            continue
        square = model.addVar(f"z{i}", lb=None)
        row = model.addCons(-1.0 * square == 0.0)
        for column, value in zip(places, values, strict=True):
            model.addCoefLinear(row, columns[column], value)
        squares.append(0.5 * square * square)
    return pyscipopt.quicksum(squares)


def _add(model: pyscipopt.Model, matrix: sp.csr_array, i: int, columns: list[Any], lb: float, ub: float) -> None:
    """Add a row coefficient by coefficient, which takes a fraction of the time that an expression of its terms does."""
    if not (np.isfinite(lb) or np.isfinite(ub)):
        return
    # A row of zeros may still be infeasible.
    nothing = 0.0 * columns[0]
    if np.isfinite(lb) and np.isfinite(ub):
        row = model.addCons((nothing <= float(ub)) >= float(lb))
    else:
        row = model.addCons(nothing <= float(ub) if np.isfinite(ub) else nothing >= float(lb))
    _add_terms(model, row, matrix, i, columns)


def _add_terms(model: pyscipopt.Model, row: Any, matrix: sp.csr_array, i: int, columns: list[Any]) -> None:
    entries = slice(matrix.indptr[i], matrix.indptr[i + 1])
    for column, value in zip(matrix.indices[entries].tolist(), matrix.data[entries].tolist(), strict=True):
        model.addCoefLinear(row, columns[column], value)


def _limit(value: float) -> float | None:
    return float(value) if abs(value) < INFINITE else None


def _set_options(model: pyscipopt.Model, options: Mapping[str, object]) -> None:
    for name, value in options.items():
        try:
            model.setParam(name, value)
        except (KeyError, ValueError, TypeError, Exception) as error:
            raise InputError(
                f"Options: solver_options has {name}={value!r}, which SCIP does not take ({error}). Its parameters are in the SCIP manual."
            ) from None
