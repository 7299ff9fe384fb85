"""The master of a tangent step inside a solver: at first without its slacks, with them where it must be."""

from __future__ import annotations

import numpy as np

from dcembed.engine.cuts import CutPool
from dcembed.engine.problem import Problem
from dcembed.engine.tangent.memory import TangentModel, earlier_rows
from dcembed.engine.tangent.state import State
from dcembed.engine.workshop import NO_SIDES, Sides, Workshop
from dcembed.run.penalty import Penalty
from dcembed.solvers.base import Solution, SolveStatus

# How far two sides of a row may be apart, relative to it.
ROUNDING = 1e-12


def solve_master(problem: Problem, workshop: Workshop, state: State, model: TangentModel, penalty: Penalty) -> tuple[Solution, CutPool]:
    """The solution, and the rows that earlier tangents were.

    Around most points the tangents can be kept, and slacks are a good part of the columns.
    """
    rows = earlier_rows(model, problem.embedded.restrictions, state.region.box, state.num_cuts)
    if not state.needs_slack:
        solution = _solve_once(workshop, state, model, rows, penalty.hardened(), _sides(problem, model))
        # An interior point may take what is infeasible for unbounded.
        if solution.status not in (SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED, SolveStatus.FAILED):
            return solution, rows
    return _solve_once(workshop, state, model, rows, penalty), rows


def uses_slack(problem: Problem, solution: Solution) -> bool:
    """Whether some neural row is not kept; so it is where there is no solution."""
    if solution.x is None:
        return True
    slack = problem.subproblem.split_columns(solution.x)[2]
    return bool(slack.max(initial=0.0) > problem.options.feasibility_tol)


def _sides(problem: Problem, model: TangentModel) -> Sides:
    """The equalities whose tangents are two sides of one row; without slack they can be written so.

    Where a switch is off, neither side is there.
    """
    restrictions = problem.embedded.restrictions
    upper, lower = restrictions.sides
    rhs = restrictions.rhs - model.current.constant[1:]
    fits = np.isfinite(rhs[upper]) & (np.abs(rhs[upper] + rhs[lower]) <= ROUNDING * (1.0 + np.abs(rhs[upper])))
    return upper[fits], lower[fits]


def _solve_once(
    workshop: Workshop, state: State, model: TangentModel, rows: CutPool, penalty: Penalty, sides: Sides = NO_SIDES
) -> Solution:
    workshop.master.write(model.current, penalty, state.region.box, rows, sides)
    with workshop.journal.log.working("master problem"):
        return workshop.master.solve(workshop.journal.clock.limits())
