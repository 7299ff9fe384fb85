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
from dcembed.run.penalty import Penalty, initial_penalty
from dcembed.run.stopping import agree
from dcembed.solvers.base import Solution, SolveStatus
from dcembed.status import Status
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


def run_ccp(problem: Problem, workshop: Workshop, start: Point) -> Outcome:
    """Iterate from w^0 = `start` until a stopping rule holds."""
    state = _begin(problem, start)
    for _ in workshop.steps:
        if status := workshop.journal.clock.ended():
            return Outcome(status, state.point, state.best)
        # Linearize the components H at w^k and solve problem 9 with the penalty tau_k.
        solution = _solve_subproblem(problem, workshop, state)
        # Evaluate F and V at the candidate.
        candidate, met = take_candidate(problem, workshop, solution, state.penalty)
        workshop.record("", state.point, candidate, state.penalty, solution)
        state = _remember(problem, state, candidate, met)
        # Stop where two consecutive feasible candidates agree; else w^{k+1}, and tau_{k+1} = min(mu tau_k, tau_max) if V > eps_feas.
        after = _advance(problem, workshop, state, solution, candidate)
        if isinstance(after, Status):
            return Outcome(after, state.point, state.best)
        state = after
    return Outcome(Status.ITERATION_LIMIT, state.point, state.best)


def _begin(problem: Problem, start: Point) -> State:
    best = best_of((start,), problem.options.feasibility_tol)
    return State(start, initial_penalty(problem.options, problem.embedded, start), best, best)


def _solve_subproblem(problem: Problem, workshop: Workshop, state: State) -> Solution:
    """Linearize the components H at w^k and solve the subproblem."""
    majorant = majorize(*problem.kept_affine, linearize(problem.embedded, state.point.w), problem.reach)
    workshop.master.write(majorant, state.penalty, problem.host_box)
    auxiliary = VALUES[problem.options.formulation](problem.embedded, state.point.w)
    with workshop.journal.log.working("subproblem"):
        start = np.concatenate([state.point.w, auxiliary, state.point.slack])
        return workshop.master.solve(workshop.journal.clock.limits(), start)


def _remember(problem: Problem, state: State, candidate: Point | None, met: tuple[Point, ...]) -> State:
    """The best feasible points so far."""
    tol = problem.options.feasibility_tol
    return replace(state, best=best_of((state.best, *met), tol), reserve=best_of((state.reserve, candidate), tol))


def _advance(problem: Problem, workshop: Workshop, state: State, solution: Solution, candidate: Point | None) -> State | Status:
    """The next state, or how the start ends."""
    if candidate is None or solution.status not in USABLE:
        return _cope(workshop, state, solution)
    if solution.status is not SolveStatus.OPTIMAL and (status := workshop.journal.clock.ended()):
        return status
    tau, tol = state.penalty.value, problem.options.feasibility_tol
    # The model majorizes the merit, so only an inexact solve can make it worse; the point then stays.
    point = candidate if candidate.merit(tau) <= state.point.merit(tau) else state.point
    state, last = replace(state, point=point, num_failed=0), state.point
    if not point.is_feasible(tol):
        return _penalize(problem, state, last)
    if last.is_feasible(tol) and agree(last.objective, point.objective, problem.options.objective_tol):
        return Status.LOCALLY_SOLVED
    return state


def _penalize(problem: Problem, state: State, last: Point) -> State | Status:
    """Raise the penalty; where that has long been impossible, go back to a feasible point, or give up."""
    tau = state.penalty.value
    stands = agree(last.merit(tau), state.point.merit(tau), problem.options.objective_tol)
    num_stalled = state.num_stalled + 1 if stands and state.penalty.is_largest else 0
    if num_stalled < STALLED_STEPS:
        return replace(state, penalty=state.penalty.grown(), num_stalled=num_stalled)
    if state.reserve is None:
        return Status.LOCALLY_INFEASIBLE
    # Feasible points were met on the way: from the best of them the restrictions alone, without slack, stay feasible.
    return replace(state, point=state.reserve, reserve=None, penalty=state.penalty.hardened(), num_stalled=num_stalled)


def _cope(workshop: Workshop, state: State, solution: Solution) -> State | Status:
    """After a solution that is of no use."""
    verdict = judge(
        solution, state.penalty, state.num_failed, False, lambda: workshop.host_is_infeasible(state.point), workshop.journal.clock
    )
    if isinstance(verdict, Status):
        return verdict
    if verdict is Cure.GROW:
        return replace(state, penalty=state.penalty.grown())
    workshop.master.reopen()
    return replace(state, num_failed=state.num_failed + 1)
