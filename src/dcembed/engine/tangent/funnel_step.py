"""A step of a model that knows the curvature, weighed in the funnel."""

from __future__ import annotations

from dcembed.arrays import Array
from dcembed.copies import replace
from dcembed.embedded.point import Point
from dcembed.engine.outcome import best_of
from dcembed.engine.problem import Problem
from dcembed.engine.segment import search_segment
from dcembed.engine.subproblem import model_value
from dcembed.engine.tangent.correction import correct
from dcembed.engine.tangent.funnel import Judged, judge
from dcembed.engine.tangent.multipliers import HEADROOM
from dcembed.engine.tangent.solved import Solved
from dcembed.engine.tangent.tried import Tried
from dcembed.engine.workshop import Workshop

# A candidate that brings this share of the promise needs no correction.
ENOUGH = 0.5


def weigh_in_funnel(problem: Problem, workshop: Workshop, solved: Solved, x: Array, candidate: Point, met: tuple[Point, ...]) -> Tried:
    """Take the candidate, or its correction where the funnel prefers it; feasible points on the way there are met, not taken."""
    state, tol = solved.state, problem.options.feasibility_tol
    taken, judged = candidate, _judge(problem, solved, x, candidate)
    # Where the point is outside of the host nothing can be promised, and the candidate is taken whatever it is worth.
    if not state.is_outside and judged.improvement < ENOUGH * judged.promise and candidate.slack.max(initial=0.0) > 0.0:
        corrected, more = correct(problem, workshop, solved, candidate)
        met = (*met, *more)
        again = None if corrected is None else _judge(problem, solved, x, corrected)
        if corrected is not None and again is not None and again.improvement > judged.improvement:
            taken, judged = corrected, again
    best = best_of((state.best, *met), tol)
    if best is not None and not taken.is_feasible(tol):
        best = best_of((best, search_segment(problem, workshop, best, taken, solved.penalty.value)), tol)
    after = replace(state, best=best, funnel=judged.width)
    return Tried(solved.solution, taken, solved.penalty, judged.promise, judged.improvement, after, solved.model, is_funnelled=True)


def _judge(problem: Problem, solved: Solved, x: Array, candidate: Point) -> Judged:
    state, worth = solved.state, solved.penalty.value / HEADROOM
    slack = float(problem.subproblem.split_columns(x)[2].sum())
    objective = model_value(problem.subproblem, solved.model.current, x, 0.0)
    return judge(state.point, candidate, objective, slack, worth, state.funnel, problem.options.feasibility_tol)
