"""A step weighed by the merit: a search towards what is not feasible, a correction where that brings little."""

from __future__ import annotations

from dcembed.arrays import Array
from dcembed.copies import replace
from dcembed.embedded.point import Point
from dcembed.engine.outcome import best_of
from dcembed.engine.problem import Problem
from dcembed.engine.segment import search_segment
from dcembed.engine.subproblem import model_value
from dcembed.engine.tangent.correction import correct
from dcembed.engine.tangent.solved import Solved
from dcembed.engine.tangent.tried import Tried
from dcembed.engine.workshop import Workshop

# Where the way to the solution brings this share of the promise, the next tangents are worth more than a correction of these.
ENOUGH = 0.5


def weigh_by_merit(problem: Problem, workshop: Workshop, solved: Solved, x: Array, candidate: Point, met: tuple[Point, ...]) -> Tried:
    """Take the candidate, or what is better on the way to it or to its correction."""
    state, tau, tol = solved.state, solved.penalty.value, problem.options.feasibility_tol
    promise = state.point.merit(tau) - model_value(problem.subproblem, solved.model.current, x, tau)
    found = search_segment(problem, workshop, best_of((state.best, *met), tol), candidate, tau)
    # Where the point is outside of the host nothing can be promised, and the candidate is taken whatever it is worth.
    if not state.is_outside and candidate.slack.max(initial=0.0) > tol and state.point.merit(tau) - found.merit(tau) < ENOUGH * promise:
        corrected, more = correct(problem, workshop, solved, candidate)
        met = (*met, found, *more)
        if corrected is not None and corrected.merit(tau) < candidate.merit(tau):
            further = search_segment(problem, workshop, best_of((state.best, *met), tol), corrected, tau)
            found = min(found, further, key=lambda point: point.merit(tau))
    best = best_of((state.best, *met, found), tol)
    improvement = state.point.merit(tau) - found.merit(tau)
    return Tried(solved.solution, found, solved.penalty, promise, improvement, replace(state, best=best), solved.model)
