"""The master of a tangent step inside a solver: at first without its slacks, with them where it must be."""

from __future__ import annotations

from dcembed.engine.cuts import CutPool
from dcembed.engine.problem import Problem
from dcembed.engine.tangent.memory import TangentModel, earlier_rows
from dcembed.engine.tangent.state import State
from dcembed.engine.workshop import Workshop
from dcembed.run.penalty import Penalty
from dcembed.solvers.base import Solution, SolveStatus


def solve_master(problem: Problem, workshop: Workshop, state: State, model: TangentModel, penalty: Penalty) -> tuple[Solution, CutPool]:
    """The solution, and the rows that earlier tangents were.

    Around most points the tangents can be kept, and slacks are a good part of the columns.
    """
    rows = earlier_rows(model, problem.embedded.restrictions, state.region.box, state.num_cuts)
    if not state.needs_slack:
        solution = _solve_once(workshop, state, model, rows, penalty.hardened())
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


def _solve_once(workshop: Workshop, state: State, model: TangentModel, rows: CutPool, penalty: Penalty) -> Solution:
    workshop.master.write(model.current, penalty, state.region.box, rows)
    with workshop.journal.log.working("solving the master problem"):
        return workshop.master.solve(workshop.journal.clock.limits())
