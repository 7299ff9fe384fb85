"""The penalty convex-concave procedure of the paper (its subsection "Penalty CCP for the Embedded Problem") from one start."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dcembed.embedded.measurements import linearize
from dcembed.embedded.point import Point
from dcembed.embedded.shared_epigraph import shared_values
from dcembed.embedded.two_path_epigraph import two_path_values
from dcembed.engine.failure import USABLE, Cure, judge
from dcembed.engine.outcome import Outcome, best_of
from dcembed.engine.problem import Problem
from dcembed.engine.subproblem import majorize
from dcembed.engine.workshop import Workshop, take_candidate
from dcembed.result import Status
from dcembed.run.journal import Step
from dcembed.run.penalty import Penalty, initial_penalty
from dcembed.run.stopping import agree
from dcembed.solvers.base import Solution, SolveStatus
from dcembed.tolerances import STALLED_STEPS

# The auxiliary columns of each formulation at a point, for solvers that begin from one.
VALUES = {"shared": shared_values, "two-path": two_path_values}


@dataclass(frozen=True, eq=False)
class State:
    """w^k and tau_k, and what the stopping rules count.

    Parameters
    ----------
    point, penalty
        w^k and tau_k.
    best
        The best feasible point of this start.
    reserve
        The same, as long as the start has not gone back to it.
    num_stalled, num_failed
        Steps at the largest penalty that changed nothing, and solver failures, each in a row.
    """

    point: Point
    penalty: Penalty
    best: Point | None
    reserve: Point | None
    num_stalled: int = 0
    num_failed: int = 0


def run_ccp(problem: Problem, workshop: Workshop, start: Point, number: int) -> Outcome:
    """Iterate until a stopping rule holds."""
    options, clock = problem.options, workshop.journal.clock
    best = best_of((start,), options.feasibility_tol)
    state = State(start, initial_penalty(options, problem.embedded, start), best, best)
    for iteration in range(1, options.max_iterations + 1):
        if status := clock.ended():
            return Outcome(status, state.point, state.best)
        # Problem 9 at w^k, and F and V of what comes out of it.
        solution = _solve_subproblem(problem, workshop, state)
        candidate, met = take_candidate(problem, workshop, solution, state.penalty)
        workshop.journal.step(_step(number, iteration, state, candidate, solution))
        best = best_of((state.best, *met), options.feasibility_tol)
        reserve = best_of((state.reserve, candidate), options.feasibility_tol)
        state = replace(state, best=best, reserve=reserve)

        if candidate is None or solution.status not in USABLE:
            after = _cope(workshop, state, solution)
        elif solution.status is not SolveStatus.OPTIMAL and (status := clock.ended()):
            after = status
        else:
            # The model majorizes the merit, so only an inexact solve can make it worse; the point then stays.
            tau = state.penalty.value
            better = candidate if candidate.merit(tau) <= state.point.merit(tau) else state.point
            after = _advance(problem, replace(state, num_failed=0), better)
        if isinstance(after, Status):
            return Outcome(after, state.point, state.best)
        state = after
    return Outcome(Status.ITERATION_LIMIT, state.point, state.best)


def _solve_subproblem(problem: Problem, workshop: Workshop, state: State) -> Solution:
    """Linearize the components H at w^k and solve the subproblem."""
    majorant = majorize(*problem.kept_affine, linearize(problem.embedded, state.point.w), problem.reach)
    workshop.master.write(majorant, state.penalty, problem.host_box)
    auxiliary = VALUES[problem.options.formulation](problem.embedded, state.point.w)
    with workshop.journal.log.working("solving the subproblem"):
        start = np.concatenate([state.point.w, auxiliary, state.point.slack])
        return workshop.master.solve(workshop.journal.clock.limits(), start)


def _advance(problem: Problem, state: State, point: Point) -> State | Status:
    """Stop where two feasible points agree; otherwise raise the penalty where the point is not feasible, and go on from it."""
    tol, objective_tol = problem.options.feasibility_tol, problem.options.objective_tol
    last = state.point
    if point.is_feasible(tol):
        if last.is_feasible(tol) and agree(last.objective, point.objective, objective_tol):
            return Status.LOCALLY_SOLVED
        return replace(state, point=point)
    stands = agree(last.merit(state.penalty.value), point.merit(state.penalty.value), objective_tol)
    num_stalled = state.num_stalled + 1 if stands and state.penalty.is_largest else 0
    if num_stalled < STALLED_STEPS:
        return replace(state, point=point, penalty=state.penalty.grown(), num_stalled=num_stalled)
    if state.reserve is None:
        return Status.LOCALLY_INFEASIBLE
    # Feasible points were met on the way: from the best of them the restrictions alone, without slack, stay feasible.
    return replace(state, point=state.reserve, reserve=None, penalty=state.penalty.hardened(), num_stalled=num_stalled)


def _cope(workshop: Workshop, state: State, solution: Solution) -> State | Status:
    """After a solution that is of no use."""
    num_failed = state.num_failed + (solution.status is not SolveStatus.UNBOUNDED)
    verdict = judge(solution, state.penalty, num_failed, False, workshop.host_is_infeasible, workshop.journal.clock)
    if isinstance(verdict, Status):
        return verdict
    if verdict is Cure.GROW:
        return replace(state, penalty=state.penalty.grown())
    workshop.master.reopen()
    return replace(state, num_failed=num_failed)


def _step(start: int, number: int, state: State, candidate: Point | None, solution: Solution) -> Step:
    message = solution.message or solution.status.value
    return Step(start, number, state.point, candidate, state.penalty.value, message, state.penalty.is_hard)
