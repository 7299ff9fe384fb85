"""HiGHS for linear and mixed-integer linear programs.

The model stays in HiGHS for the whole run: costs, bounds and the trailing rows are edited in place, the basis is
carried over, and a MIP is started from a point that the caller gives (HiGHS drops its own after an edit).
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import highspy
import numpy as np
import scipy.sparse as sp
from highspy import cb

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.program.program import Program
from dcembed.solvers.base import Limits, SessionOptions, Solution, SolverFailure, SolveStatus, calling, hand_over, told_bound
from dcembed.solvers.threads import leave_behind

# How often the waiting thread looks at the clock and the interrupt flag, and how long HiGHS may take to notice them
# (it does not look while it presolves) before its thread is left behind.
POLL_SECONDS = 0.05
GRACE_SECONDS = 0.6
# How often HiGHS, waiting for the caller, looks whether it may go on.
WAIT_SECONDS = 0.001
# A search that is content with such a gap goes without the sub-problem on reduced costs: a third of its time where binaries are many.
QUICK_GAP = 0.01
QUICK_OPTION = "mip_heuristic_run_root_reduced_cost"

_STATUS = {
    highspy.HighsModelStatus.kOptimal: SolveStatus.OPTIMAL,
    highspy.HighsModelStatus.kModelEmpty: SolveStatus.OPTIMAL,
    highspy.HighsModelStatus.kInfeasible: SolveStatus.INFEASIBLE,
    highspy.HighsModelStatus.kUnbounded: SolveStatus.UNBOUNDED,
    highspy.HighsModelStatus.kTimeLimit: SolveStatus.TIME_LIMIT,
    # Also of nodes.
    highspy.HighsModelStatus.kSolutionLimit: SolveStatus.TIME_LIMIT,
    highspy.HighsModelStatus.kInterrupt: SolveStatus.INTERRUPTED,
}
_INTERRUPTS = (
    cb.HighsCallbackType.kCallbackSimplexInterrupt,
    cb.HighsCallbackType.kCallbackIpmInterrupt,
    cb.HighsCallbackType.kCallbackMipInterrupt,
)


class HighsSession:
    """A linear program, with or without integers, kept inside HiGHS."""

    def __init__(self, program: Program, options: SessionOptions) -> None:
        self._integer = program.integer
        self._stop = threading.Event()
        self._found: deque[Array] = deque()
        # Set when there is something in `_found`, and at the end of a run.
        self._news = threading.Event()
        self._lost = False
        # What HiGHS raised in its own thread.
        self._error: Exception | None = None
        # What the user asks for goes before what the engine would be content with.
        self._asked = options.solver_options
        linear = _highs_lp(program)
        with calling("HiGHS"):
            # Threads are a property of the process in HiGHS; a second session may ask for another number.
            highspy.Highs.resetGlobalScheduler(True)
            self._highs = highspy.Highs()
            _set_options(self._highs, {"output_flag": False, "threads": options.num_threads, "random_seed": options.seed})
            _set_options(self._highs, options.solver_options)
            self._highs.setCallback(_watch(self._stop, self._found, self._news), None)
            for kind in _INTERRUPTS:
                self._highs.startCallback(kind)
            if self._highs.passModel(linear) == highspy.HighsStatus.kError:
                raise InputError(f"The solver 'highs' refused the host; {_accepted_sizes(program.rows.data)}")

    def set_cost(self, cost: Array, offset: float) -> None:
        if self._lost:
            return
        with calling("HiGHS"):
            self._set_cost(cost)
            self._highs.changeObjectiveOffset(offset)

    def set_quadratic(self, quadratic: sp.csr_array) -> None:
        raise SolverFailure("HiGHS is asked for linear objectives alone.")

    def set_bounds(self, lb: Array, ub: Array) -> None:
        if self._lost:
            return
        n = lb.size
        with calling("HiGHS"):
            self._highs.changeColsBounds(n, np.arange(n, dtype=np.int32), lb, ub)

    def replace_rows(self, first: int, matrix: sp.csr_array, lb: Array, ub: Array, origin: Array | None = None) -> None:
        if self._lost:
            return
        highs, new = self._highs, lb.size
        starts, indices = matrix.indptr[:-1].astype(np.int32), matrix.indices.astype(np.int32)
        with calling("HiGHS"):
            old, basis = highs.getNumRow() - first, highs.getBasis()
            if new and highs.addRows(new, lb, ub, matrix.nnz, starts, indices, matrix.data) == highspy.HighsStatus.kError:
                raise SolverFailure(f"HiGHS refused new rows; {_accepted_sizes(matrix.data)}")
            if old:
                highs.deleteRows(old, np.arange(first, first + old, dtype=np.int32))
            if basis.valid:
                highs.setBasis(_continued(basis, first, np.arange(new) if origin is None else origin))

    def solve(self, limits: Limits, start: Array | None = None, relax: bool = False) -> Solution:
        if self._lost:
            return Solution(SolveStatus.FAILED, None, "an earlier solve was left behind")
        deadline = time.monotonic() + limits.seconds
        with calling("HiGHS"):
            self._prepare(limits, start, relax)
        solution = self._run(replace(limits, seconds=deadline - time.monotonic()))
        if solution.status is SolveStatus.FAILED and solution.x is None:
            # A basis that has gone bad is the usual cause; once more from scratch.
            with calling("HiGHS"):
                self._highs.clearSolver()
            solution = self._run(replace(limits, seconds=deadline - time.monotonic()))
        if self._may_believe_start(start, solution):
            with calling("HiGHS"):
                self._highs.clearSolver()
            solution = self._run(replace(limits, seconds=deadline - time.monotonic()))
        return solution

    def _may_believe_start(self, start: Array | None, solution: Solution) -> bool:
        """Whether HiGHS may have taken a start for optimal, as it does where its presolve settles all columns with a cost.

        It ends before its first node then, and says more than the bounds of the columns do.
        """
        if start is None or solution.status is not SolveStatus.OPTIMAL or self._lost or int(self._highs.getInfo().mip_node_count) > 0:
            return False
        lp = self._highs.getLp()
        cost = np.array(lp.col_cost_)
        ends = np.where(cost > 0, np.array(lp.col_lower_), np.array(lp.col_upper_))[cost != 0]
        least = lp.offset_ + float(cost[cost != 0] @ ends)
        return bool(solution.bound > least + 1e-9 * max(1.0, abs(least)))

    def close(self) -> None:
        if not self._lost:
            with calling("HiGHS"):
                self._highs.clear()

    def _prepare(self, limits: Limits, start: Array | None, relax: bool) -> None:
        self._highs.setOptionValue("solve_relaxation", relax)
        if "mip_rel_gap" not in self._asked:
            self._highs.setOptionValue("mip_rel_gap", limits.gap)
        if "mip_max_nodes" not in self._asked:
            self._highs.setOptionValue("mip_max_nodes", int(min(limits.nodes, highspy.kHighsIInf)))
        if QUICK_OPTION not in self._asked:
            self._highs.setOptionValue(QUICK_OPTION, limits.gap < QUICK_GAP)
        if start is not None and self._integer.any() and not relax:
            point = highspy.HighsSolution()
            point.col_value = list(start)
            self._highs.setSolution(point)

    def _set_cost(self, cost: Array) -> None:
        n = cost.size
        self._highs.changeColsCost(n, np.arange(n, dtype=np.int32), cost)

    def _run(self, limits: Limits) -> Solution:
        deadline = time.monotonic() + limits.seconds
        solution = self._run_once(limits)
        if not self._lost and self._highs.getModelStatus() == highspy.HighsModelStatus.kUnboundedOrInfeasible:
            return self._settle(solution.message, Limits(deadline - time.monotonic(), limits.interrupted))
        return solution

    def _settle(self, message: str, limits: Limits) -> Solution:
        """Tell infeasible from unbounded by a solve without objective."""
        cost = np.array(self._highs.getLp().col_cost_)
        self._set_cost(np.zeros(cost.size))
        solution = self._run_once(limits)
        if not self._lost:
            self._set_cost(cost)
        status = SolveStatus.UNBOUNDED if solution.x is not None else solution.status
        return Solution(status, None, f"{message}, {status.value}")

    def _run_and_tell(self) -> None:
        try:
            self._highs.run()
        except Exception as error:
            self._error = error
        finally:
            self._news.set()

    def _run_once(self, limits: Limits) -> Solution:
        """Run HiGHS in a thread, so that this one can hear Ctrl-C and keep the time."""
        highs = self._highs
        self._stop.clear()
        self._news.clear()
        self._found.clear()
        self._error = None
        with calling("HiGHS"):
            report = highs.startCallback if limits.on_solution is not None else highs.stopCallback
            report(cb.HighsCallbackType.kCallbackMipImprovingSolution)
            # The clock of HiGHS runs on over all its solves.
            highs.setOptionValue("time_limit", float(highs.getRunTime() + max(limits.seconds, 0.0)))
        thread = threading.Thread(target=self._run_and_tell, daemon=True)
        deadline = time.monotonic() + limits.seconds
        thread.start()
        try:
            while thread.is_alive() and not limits.interrupted() and time.monotonic() < deadline:
                self._news.wait(POLL_SECONDS)
                self._news.clear()
                hand_over(self._found, limits)
        finally:
            self._stop.set()
            thread.join(GRACE_SECONDS)
        hand_over(self._found, limits)
        if thread.is_alive():
            # Its data may be half changed: the thread is left behind and this session takes no more solves.
            self._lost = True
            leave_behind(thread.join)
            status = SolveStatus.INTERRUPTED if limits.interrupted() else SolveStatus.TIME_LIMIT
            return Solution(status, None, "HiGHS did not stop in time and was left behind")
        with calling("HiGHS"):
            if self._error is not None:
                raise self._error
            solution = _solution(highs, bool(self._integer.any()))
        if solution.status is SolveStatus.INTERRUPTED and not limits.interrupted():
            # It was the clock of this thread that stopped HiGHS.
            return replace(solution, status=SolveStatus.TIME_LIMIT)
        return solution


def _continued(basis: highspy.HighsBasis, first: int, origin: Array) -> highspy.HighsBasis:
    """The basis for new rows from number `first` on: each has the status of the row it continues, new ones are basic."""
    status = list(basis.row_status)
    tail = status[first:]
    basic = highspy.HighsBasisStatus.kBasic
    basis.row_status = status[:first] + [tail[i] if 0 <= i < len(tail) else basic for i in origin]
    # Where a tight row was dropped the number of basic columns is off by one; HiGHS mends that in an alien basis.
    basis.alien = True
    return basis


def _highs_lp(program: Program) -> highspy.HighsLp:
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = program.num_columns, program.num_rows
    lp.col_cost_, lp.offset_ = program.cost, program.offset
    lp.col_lower_, lp.col_upper_ = program.lb, program.ub
    lp.row_lower_, lp.row_upper_ = program.row_lb, program.row_ub
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.num_col_, lp.a_matrix_.num_row_ = program.num_columns, program.num_rows
    lp.a_matrix_.start_ = program.rows.indptr
    lp.a_matrix_.index_ = program.rows.indices
    lp.a_matrix_.value_ = program.rows.data
    if program.integer.any():
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[flag] for flag in program.integer.astype(int)]
    return lp


def _accepted_sizes(coefficients: Array) -> str:
    largest = np.abs(coefficients).max(initial=0.0)
    return f"the largest coefficient of the rows is {largest:g} in size, below 1e15 is accepted. Bring rows and columns to similar sizes."


def _watch(stop: threading.Event, found: deque[Array], news: threading.Event) -> Callable[..., None]:
    def callback(kind: Any, _message: str, data_out: Any, data_in: Any, _user_data: object) -> None:
        if kind == cb.HighsCallbackType.kCallbackMipImprovingSolution:
            found.append(np.array(data_out.mip_solution))
            news.set()
            # Whoever looks at the point may solve something for it: one thing at a time.
            while found and not stop.is_set():
                time.sleep(WAIT_SECONDS)
        else:
            # HiGHS keeps the flag from one solve to the next.
            data_in.user_interrupt = stop.is_set()

    return callback


def _set_options(highs: highspy.Highs, options: Mapping[str, object]) -> None:
    for name, value in options.items():
        if highs.setOptionValue(name, value) == highspy.HighsStatus.kError:
            raise InputError(
                f"Options: solver_options has {name}={value!r}, which HiGHS does not take. Its option names and values are in the HiGHS manual."
            )


def _solution(highs: highspy.Highs, is_mip: bool) -> Solution:
    model_status = highs.getModelStatus()
    message = highs.modelStatusToString(model_status)
    status = _STATUS.get(model_status, SolveStatus.FAILED)
    if status in (SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED):
        return Solution(status, None, message)
    # A point of an unfinished LP need not be feasible; an incumbent of a MIP is.
    usable = status is SolveStatus.OPTIMAL or is_mip
    feasible = highs.getInfo().primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    x = np.array(highs.getSolution().col_value) if usable and feasible else None
    if x is not None and status in (SolveStatus.TIME_LIMIT, SolveStatus.INTERRUPTED, SolveStatus.FAILED):
        status = SolveStatus.FEASIBLE
    if x is None and status is SolveStatus.OPTIMAL:
        status = SolveStatus.FAILED
    if is_mip:
        info = highs.getInfo()
        return Solution(status, x, message, float(info.mip_gap), bound=_bound(highs), num_pivots=max(0, int(info.simplex_iteration_count)))
    # HiGHS counts multipliers of upper sides as negative.
    duals = -np.array(highs.getSolution().row_dual) if status is SolveStatus.OPTIMAL else None
    return Solution(status, x, message, duals=duals)


def _bound(highs: highspy.Highs) -> float:
    """The dual bound of a mixed-integer program, of whose relaxation HiGHS says zero."""
    info = highs.getInfo()
    return told_bound(info.mip_dual_bound) if info.valid and not highs.getOptionValue("solve_relaxation")[1] else -np.inf
