"""Mixed-integer programs solved as exactly as solvers go, and what their bounds are worth.

Solvers work to tolerances: a binary that is off by eps lets its unit have eps times its range. At the usual 1e-6 that shows in the bound.
At 1e-9 (SCIP: 1e-8), with ranges and coefficients of the sizes accepted here, it was never more than 1e-8 of the optimum on thousands of small problems
whose optimum is known; a bound loses ten times that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.bounds.exact_lp import bound_minimum
from dcembed.errors import DcembedError
from dcembed.options import Options
from dcembed.program.derive import derive
from dcembed.program.program import Program
from dcembed.solvers import choose_backend
from dcembed.solvers.base import Backend, Limits, SessionOptions, Solution, SolveStatus
from dcembed.solvers.failover import LastingSession, Solver

# What a bound loses to the tolerances of its solver, relative to max(1, |bound|).
MARGIN = 1e-7
# The largest coefficient of a row that is accepted: times the tolerance it is what a binary may leak.
MAX_COEFFICIENT = 1e6
# Coefficients below this are nothing to some solvers.
TINY = 1e-8
# By how much constraints are loosened, relative to max(1, |side|), to see that a program is infeasible beyond all tolerances.
LOOSE = 1e-6

# Each solver's strict settings. SCIP loses a branch now and then: with a feasibility tolerance as small as its own epsilon in one of
# hundreds of small quadratic problems. It is asked twice, once without presolving, and the weaker one of its bounds counts.
STRICT: Mapping[str, Sequence[Mapping[str, object]]] = {
    "highs": (
        {
            "primal_feasibility_tolerance": 1e-9,
            "dual_feasibility_tolerance": 1e-9,
            "mip_feasibility_tolerance": 1e-9,
            "mip_abs_gap": 1e-9,
        },
    ),
    "scip": ({"numerics/feastol": 1e-8}, {"numerics/feastol": 1e-8, "presolving/maxrounds": 0}),
    "gurobi": ({"FeasibilityTol": 1e-9, "OptimalityTol": 1e-9, "IntFeasTol": 1e-9, "MIPGapAbs": 1e-9},),
}


def choose_solver(program: Program, options: Options) -> Backend | None:
    """The user's solver where it searches trees for this class, else the first one that does; None where there is none."""
    # Solvers of convex problems alone are left out: those of mixed-integer ones take these as well, and tell a bound.
    kind = program.problem_class if program.problem_class.startswith("MI") else f"MI{program.problem_class}"
    for name in (options.solver, None):
        try:
            return choose_backend(kind, name)
        except DcembedError:
            continue
    return None


def is_moderate(program: Program) -> bool:
    """Whether the coefficients are of sizes that solvers are exact with."""
    indicators = program.indicator_rows.matrix
    return bool(max(np.abs(program.rows.data).max(initial=0.0), np.abs(indicators.data).max(initial=0.0)) <= MAX_COEFFICIENT)


def without_tiny(program: Program, lb: Array, ub: Array) -> Program:
    """The program without coefficients that solvers take for zero; the rows are wider by what these could say when lb <= w <= ub."""
    rows = program.rows.tocoo()
    is_tiny = (np.abs(rows.data) < TINY) & np.isfinite(lb[rows.col]) & np.isfinite(ub[rows.col])
    if not is_tiny.any():
        return program
    row, column, value = rows.row[is_tiny], rows.col[is_tiny], rows.data[is_tiny]
    ends = value * lb[column], value * ub[column]
    least, largest = (np.bincount(row, some, program.num_rows) for some in (np.minimum(*ends), np.maximum(*ends)))
    kept = sp.csr_array((rows.data[~is_tiny], (rows.row[~is_tiny], rows.col[~is_tiny])), shape=rows.shape)
    return derive(program, rows=kept, row_lb=program.row_lb - largest, row_ub=program.row_ub - least)


def solve_strictly(
    program: Program,
    backend: Backend,
    options: Options,
    limits: Limits,
    start: Array | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> Solution:
    """What the solver says with strict tolerances; its bound is less by the margin, and -inf where it is worth nothing.

    The user's own options of a solver are left out: with some of them its bound is none.
    """
    deadline, asked = time.monotonic() + limits.seconds, STRICT[backend.name]
    solutions: list[Solution] = []
    for number, strict in enumerate(asked):
        share = (deadline - time.monotonic()) / (len(asked) - number)
        solver = Solver(backend, SessionOptions(options.threads_each, options.seed, strict), note)
        solutions.append(_solve(program, solver, replace(limits, seconds=share), start))
        start = start if solutions[-1].x is None else solutions[-1].x
        if solutions[-1].status is SolveStatus.FAILED:
            break
    # They must agree that there is no point.
    open_ = [solution for solution in solutions if solution.status is not SolveStatus.INFEASIBLE]
    chosen = open_[-1] if open_ else solutions[-1]
    return replace(chosen, bound=_outward(min((solution.bound for solution in open_), default=-np.inf)))


def _solve(program: Program, solver: Solver, limits: Limits, start: Array | None) -> Solution:
    with closing(LastingSession(program, solver)) as session:
        try:
            solution = session.solve(limits, start)
        except DcembedError as error:
            return Solution(SolveStatus.FAILED, None, str(error))
        # Where a licence has ended another solver has gone on, with its usual tolerances.
        return solution if session.solver.backend is solver.backend else replace(solution, bound=-np.inf)


def bound_linear(solution: Solution, program: Program, lb: Array, ub: Array) -> float:
    """The bound of a solution; that of a linear program from its multipliers, where columns between lb and ub allow it."""
    if program.problem_class != "LP" or solution.duals is None:
        return solution.bound
    proved = bound_minimum(program, program.cost, solution.duals, lb, ub) + program.offset
    return _outward(proved) if np.isfinite(proved) else solution.bound


def loosened(program: Program) -> Program | None:
    """The program with rows and bounds that allow a little more; None where it has constraints of other kinds."""
    if program.indicators or program.quadratic_constraints or program.cones:
        return None
    slack = {name: LOOSE * np.maximum(1.0, np.abs(getattr(program, name))) for name in ("lb", "ub", "row_lb", "row_ub")}
    return derive(
        program,
        lb=np.where(program.integer, program.lb, program.lb - slack["lb"]),
        ub=np.where(program.integer, program.ub, program.ub + slack["ub"]),
        row_lb=program.row_lb - slack["row_lb"],
        row_ub=program.row_ub + slack["row_ub"],
    )


def _outward(bound: float) -> float:
    return bound - MARGIN * max(1.0, abs(bound)) if np.isfinite(bound) else -np.inf
