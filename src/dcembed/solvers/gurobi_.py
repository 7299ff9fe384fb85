"""Gurobi for everything.

The model stays in Gurobi for the whole run: costs, bounds and the trailing rows are edited in place and the basis is carried over.
A size-limited licence shows at the first solve that exceeds it, as a SolverLimitError.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import gurobipy as gp
import numpy as np
import scipy.sparse as sp
from gurobipy import GRB

from dcembed.arrays import Array
from dcembed.errors import InputError, NoBackendError, SolverLimitError
from dcembed.program.indicators import settled_rows
from dcembed.program.program import Program
from dcembed.solvers.base import Limits, SessionOptions, Solution, SolverFailure, SolveStatus, calling, told_bound

_STATUS = {
    GRB.OPTIMAL: SolveStatus.OPTIMAL,
    GRB.SUBOPTIMAL: SolveStatus.FEASIBLE,
    GRB.INFEASIBLE: SolveStatus.INFEASIBLE,
    GRB.UNBOUNDED: SolveStatus.UNBOUNDED,
    GRB.INF_OR_UNBD: SolveStatus.UNBOUNDED,
    GRB.TIME_LIMIT: SolveStatus.TIME_LIMIT,
    GRB.NODE_LIMIT: SolveStatus.TIME_LIMIT,
    GRB.INTERRUPTED: SolveStatus.INTERRUPTED,
}
_NAMES = {
    getattr(GRB, name): name for name in ("OPTIMAL", "SUBOPTIMAL", "INFEASIBLE", "UNBOUNDED", "INF_OR_UNBD", "TIME_LIMIT", "INTERRUPTED")
}
_NAMES |= {
    GRB.NUMERIC: "NUMERIC",
    GRB.ITERATION_LIMIT: "ITERATION_LIMIT",
    GRB.NODE_LIMIT: "NODE_LIMIT",
    GRB.SOLUTION_LIMIT: "SOLUTION_LIMIT",
}
_NAMES |= {GRB.WORK_LIMIT: "WORK_LIMIT", GRB.MEM_LIMIT: "MEM_LIMIT", GRB.USER_OBJ_LIMIT: "USER_OBJ_LIMIT", GRB.LOADED: "LOADED"}


class GurobiSession:
    """A convex program with or without integers, indicators, quadratic constraints and cones, kept inside Gurobi."""

    def __init__(self, program: Program, options: SessionOptions) -> None:
        self._program = program
        self._options = dict(options.solver_options)
        self._environment = _open_environment({"Threads": options.num_threads, "Seed": options.seed % (2**31 - 1), **self._options})
        self._is_mip = bool(program.integer.any())
        self._rows: list[gp.Constr] = []
        # The lower sides of rows with two sides, by the number of the row.
        self._lower: dict[int, gp.Constr] = {}
        with calling("Gurobi"):
            self._model = gp.Model(env=self._environment)
            kinds = np.where(program.integer, GRB.INTEGER, GRB.CONTINUOUS)
            self._columns = self._model.addMVar(program.num_columns, lb=program.lb, ub=program.ub, vtype=kinds)
            _set_objective(self._model, self._columns, program)
            self._add_rows(program.rows, program.row_lb, program.row_ub)
            _add_indicators(self._model, self._columns, program)
            _add_quadratics(self._model, self._columns, program)
            _add_cones(self._model, self._columns, program)
            self._model.update()
        try:
            check_licence(self._model)
        except SolverLimitError:
            self.close()
            raise

    def set_cost(self, cost: Array, offset: float) -> None:
        with calling("Gurobi"):
            self._columns.Obj = cost
            self._model.ObjCon = offset

    def set_quadratic(self, quadratic: sp.csr_array) -> None:
        with calling("Gurobi"):
            self._model.update()
            cost, offset = self._columns.Obj, self._model.ObjCon
            self._model.setMObjective(0.5 * quadratic, cost, offset, self._columns, self._columns, self._columns, GRB.MINIMIZE)

    def set_bounds(self, lb: Array, ub: Array) -> None:
        with calling("Gurobi"):
            self._columns.LB = lb
            self._columns.UB = ub

    def replace_rows(self, first: int, matrix: sp.csr_array, lb: Array, ub: Array, origin: Array | None = None) -> None:
        with calling("Gurobi"):
            basis = None if self._is_mip else _basis(self._model, self._rows)
            self._model.remove(self._rows[first:])
            gone = [number for number in self._lower if number >= first]
            self._model.remove([self._lower.pop(number) for number in gone])
            del self._rows[first:]
            self._add_rows(matrix, lb, ub)
            self._model.update()
            if basis is not None:
                _continue_basis(self._model, self._rows, basis, first, np.arange(lb.size) if origin is None else origin)

    def solve(self, limits: Limits, start: Array | None = None, relax: bool = False) -> Solution:
        if relax and self._is_mip:
            return self._solve_relaxed(limits)
        if start is not None and self._is_mip:
            with calling("Gurobi"):
                self._columns.Start = start
        deadline = time.monotonic() + limits.seconds
        solution = self._run(self._model, limits)
        if solution.status is SolveStatus.UNBOUNDED:
            return self._settle(solution.message, replace(limits, seconds=deadline - time.monotonic()))
        return solution

    def _solve_relaxed(self, limits: Limits) -> Solution:
        """Without integers Gurobi drops the indicators; those that bounds switch on are rows."""
        with calling("Gurobi"):
            self._model.update()
            relaxed = self._model.relax()
            if self._program.indicators:
                settled = settled_rows(self._program, self._columns.LB, self._columns.UB)
                columns = gp.MVar.fromlist(relaxed.getVars()[: self._columns.size])
                for side, sense in ((settled.ub, GRB.LESS_EQUAL), (settled.lb, GRB.GREATER_EQUAL)):
                    finite = np.flatnonzero(np.isfinite(side))
                    if finite.size:
                        relaxed.addMConstr(settled.matrix[finite], columns, sense, side[finite])
        solution = self._run(relaxed, limits)
        with calling("Gurobi"):
            relaxed.dispose()
        return solution

    def close(self) -> None:
        with calling("Gurobi"):
            self._model.dispose()
            self._environment.dispose()

    def _add_rows(self, matrix: sp.csr_array, lb: Array, ub: Array) -> None:
        if lb.size == 0:
            return
        first = len(self._rows)
        sense, rhs = _sides(lb, ub)
        self._rows += self._model.addMConstr(matrix, self._columns, sense, rhs).tolist()
        two_sided = np.flatnonzero(np.isfinite(lb) & np.isfinite(ub) & (lb != ub))
        if two_sided.size:
            lower = self._model.addMConstr(matrix[two_sided], self._columns, np.full(two_sided.size, ">"), lb[two_sided]).tolist()
            self._lower.update(zip((first + two_sided).tolist(), lower, strict=True))

    def _settle(self, message: str, limits: Limits) -> Solution:
        """A ray that improves forever says nothing about whether there is a point: solve without objective."""
        with calling("Gurobi"):
            copy = self._model.copy()
            copy.setObjective(0.0)
            # The homogeneous algorithm is the one that finds infeasibility of curved constraints.
            copy.Params.BarHomogeneous = 1
        solution = self._run(copy, limits)
        with calling("Gurobi"):
            copy.dispose()
        status = SolveStatus.UNBOUNDED if solution.x is not None else solution.status
        return Solution(status, None, f"{message}, {status.value}")

    def _run(self, model: gp.Model, limits: Limits) -> Solution:
        seconds = min(max(limits.seconds, 0.0), float(self._options.get("TimeLimit", np.inf)))  # type: ignore[arg-type]
        with calling("Gurobi"):
            model.Params.TimeLimit = min(seconds, GRB.INFINITY)
            if "MIPGap" not in self._options:
                model.Params.MIPGap = limits.gap
            if "NodeLimit" not in self._options:
                model.Params.NodeLimit = min(limits.nodes, GRB.INFINITY)
        watch = _Watch(limits, model.getVars()[: self._columns.size])
        _optimize(model, watch)
        if watch.error is not None:
            raise watch.error
        if model.Status == GRB.INTERRUPTED and not watch.interrupted:
            _hand_on_interrupt()
        with calling("Gurobi"):
            return _solution(model, self._columns.size)


def _hand_on_interrupt() -> None:
    """While it works Gurobi takes Ctrl-C for itself; this hands it to whoever handles it in the main thread, also if that sleeps."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


def check_licence(model: gp.Model) -> None:
    """Raise SolverLimitError if the licence does not carry a model of this size. Its solution, if it has one, is lost."""
    seconds = model.Params.TimeLimit
    model.Params.TimeLimit = 0.0
    try:
        _optimize(model, None)
    finally:
        model.Params.TimeLimit = seconds


def _optimize(model: gp.Model, callback: Callable[[gp.Model, int], None] | None) -> None:
    with calling("Gurobi"):
        try:
            model.optimize(callback)
        except gp.GurobiError as error:
            if error.errno == GRB.Error.SIZE_LIMIT_EXCEEDED:
                raise SolverLimitError(
                    f"The Gurobi licence does not carry a problem of {model.NumVars} columns and {model.NumConstrs} rows ({error}). "
                    "Use a licence without size limit, or leave solver=None."
                ) from None
            raise SolverFailure(f"Gurobi error {error.errno}: {error}") from None


class _Watch:
    """Gurobi's callback: hears interrupts and hands over improving points. What it raised is kept for the caller's thread."""

    def __init__(self, limits: Limits, columns: list[gp.Var]) -> None:
        self._limits, self._columns, self._best = limits, columns, np.inf
        self.interrupted = False
        self.error: Exception | None = None

    def __call__(self, model: gp.Model, where: int) -> None:
        if self._limits.interrupted():
            self.interrupted = True
            model.terminate()
        elif where == GRB.Callback.MIPSOL and self._limits.on_solution is not None:
            # Gurobi also tells of solutions that do not improve.
            objective = model.cbGet(GRB.Callback.MIPSOL_OBJ)
            if objective < self._best:
                self._best = objective
                self._report(model, self._limits.on_solution)

    def _report(self, model: gp.Model, on_solution: Callable[[Array], None]) -> None:
        try:
            on_solution(np.array(model.cbGetSolution(self._columns)))
        except Exception as error:
            # Gurobi would swallow it.
            self.error, self.interrupted = error, True
            model.terminate()


def _open_environment(parameters: dict[str, object]) -> gp.Env:
    environment = gp.Env(empty=True)
    environment.setParam("OutputFlag", 0)
    for name, value in parameters.items():
        try:
            environment.setParam(name, value)
        except (gp.GurobiError, AttributeError, TypeError, ValueError) as error:
            raise InputError(
                f"Options: solver_options has {name}={value!r}, which Gurobi does not take ({error}). Its parameters are in the Gurobi manual."
            ) from None
    try:
        environment.start()
    except gp.GurobiError as error:
        raise NoBackendError(f"Gurobi does not start: {error}. Check its licence, or leave solver=None.") from None
    return environment


def _set_objective(model: gp.Model, columns: gp.MVar, program: Program) -> None:
    model.ModelSense = GRB.MINIMIZE
    if program.quadratic is not None:
        model.setMObjective(0.5 * program.quadratic, program.cost, program.offset, columns, columns, columns, GRB.MINIMIZE)
        return
    columns.Obj = program.cost
    model.ObjCon = program.offset


def _sides(lb: Array, ub: Array) -> tuple[Array, Array]:
    """Sense and right-hand side of the row: equality, upper side, or lower side where there is no upper one."""
    only_lower = np.isinf(ub) & np.isfinite(lb)
    sense = np.where(lb == ub, "=", np.where(only_lower, ">", "<"))
    return sense, np.where(only_lower, lb, np.minimum(ub, GRB.INFINITY))


def _add_indicators(model: gp.Model, columns: gp.MVar, program: Program) -> None:
    variables = columns.tolist()
    for indicator in program.indicators:
        binary = variables[indicator.column]
        row = indicator.coefficients
        expression = gp.LinExpr(row.data.tolist(), [variables[j] for j in row.indices])
        if np.isfinite(indicator.ub):
            model.addGenConstrIndicator(binary, bool(indicator.value), expression, GRB.LESS_EQUAL, indicator.ub)
        if np.isfinite(indicator.lb):
            model.addGenConstrIndicator(binary, bool(indicator.value), expression, GRB.GREATER_EQUAL, indicator.lb)


def _add_quadratics(model: gp.Model, columns: gp.MVar, program: Program) -> None:
    for constraint in program.quadratic_constraints:
        linear = constraint.coefficients.toarray()[0]
        model.addMQConstr(0.5 * constraint.quadratic, linear, GRB.LESS_EQUAL, constraint.ub, columns, columns, columns)


def _add_cones(model: gp.Model, columns: gp.MVar, program: Program) -> None:
    """Columns of their own for (t, v), t nonnegative, and v'v <= t^2, which Gurobi knows as a cone."""
    cones = program.cone_rows
    if cones.num_cones == 0:
        return
    lb = np.full(cones.offset.size, -GRB.INFINITY)
    lb[cones.heads] = 0.0
    entries = model.addMVar(cones.offset.size, lb=lb)
    model.addConstr(cones.matrix @ columns - entries == -cones.offset)
    for first, size in zip(cones.heads.tolist(), cones.sizes.tolist(), strict=True):
        body = entries[first + 1 : first + size]
        if size > 1:
            model.addConstr(body @ body <= entries[first] * entries[first])


def _basis(model: gp.Model, rows: list[gp.Constr]) -> tuple[list[int], list[int]] | None:
    """Basis status of columns and rows, if the last solve has left any."""
    try:
        return model.getAttr(GRB.Attr.VBasis, model.getVars()), model.getAttr(GRB.Attr.CBasis, rows)
    except (gp.GurobiError, AttributeError):
        return None


def _continue_basis(model: gp.Model, rows: list[gp.Constr], basis: tuple[list[int], list[int]], first: int, origin: Array) -> None:
    """Give each new row the status of the row it continues; new ones are basic. Gurobi mends a count that is off."""
    columns, old = basis
    tail = old[first:]
    status = old[:first] + [tail[i] if 0 <= i < len(tail) else GRB.BASIC for i in origin]
    model.setAttr(GRB.Attr.VBasis, model.getVars(), columns)
    model.setAttr(GRB.Attr.CBasis, model.getConstrs(), [GRB.BASIC] * model.NumConstrs)
    model.setAttr(GRB.Attr.CBasis, rows, status)


def _solution(model: gp.Model, num_columns: int) -> Solution:
    message = _NAMES.get(model.Status, f"status {model.Status}")
    status = _STATUS.get(model.Status, SolveStatus.FAILED)
    if status in (SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED):
        return Solution(status, None, message)
    # A point of an unfinished continuous problem need not be feasible; an incumbent of a mixed-integer one is.
    usable = status in (SolveStatus.OPTIMAL, SolveStatus.FEASIBLE) or bool(model.IsMIP)
    if not usable or model.SolCount == 0:
        return Solution(SolveStatus.FAILED if status is SolveStatus.OPTIMAL else status, None, message, bound=_bound(model))
    x = np.array(model.getAttr(GRB.Attr.X, model.getVars()[:num_columns]))
    gap, num_pivots = (float(model.MIPGap), int(model.IterCount)) if model.IsMIP else (0.0, 0)
    shown = status if status is SolveStatus.OPTIMAL else SolveStatus.FEASIBLE
    return Solution(shown, x, message, gap, bound=_bound(model), num_pivots=num_pivots)


def _bound(model: gp.Model) -> float:
    """Gurobi's bound: of a mixed-integer program always, of others at an optimum."""
    return told_bound(model.ObjBound) if model.IsMIP or model.Status == GRB.OPTIMAL else -np.inf
