"""One step of the bundle: solve the master, weigh what came out against what was promised."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.point import Point
from dcembed.engine.bundle.exact_step import solve_exactly
from dcembed.engine.bundle.master import Mastered, num_held_steps, solve_master
from dcembed.engine.bundle.model import Learned, learn, move
from dcembed.engine.bundle.state import Looked, State
from dcembed.engine.failure import USABLE
from dcembed.engine.outcome import best_of
from dcembed.engine.problem import Problem
from dcembed.engine.segment import search_segment
from dcembed.engine.workshop import Workshop
from dcembed.run.clock import Clock, RunEnded

# A candidate becomes the current point if it brings at least this share of the promised improvement.
FAIR_SHARE = 0.1
# Points that agree to this, absolutely or relatively in every column, are the same to a solver.
SAME_POINT = 1e-9


class Kind(Enum):
    """What came of a step."""

    MOVED = "the candidate is the new point"
    LEARNED = "the candidate did not keep the promise, but its cuts make the model better"
    RELEASED = "with the integers held nothing came of it; they are free again"
    STUCK = "the model promises nothing that it keeps"
    FAILED = "the solver gave no usable solution"
    ENDED = "the time was up before the model around the new point was drawn"


@dataclass(frozen=True, eq=False)
class BundleStep:
    """A step: what came of it, the state after it, and the master that was solved."""

    kind: Kind
    state: State
    mastered: Mastered


def take_step(problem: Problem, workshop: Workshop, state: State) -> BundleStep:
    """Solve the master around the point and go to its solution if that brings a fair share of the promise."""
    is_held = state.num_held > 0
    if state.max_exact:
        state, mastered = solve_exactly(problem, workshop, state)
    else:
        mastered = solve_master(problem, workshop, state.model, state.point, state.penalty, is_held)
    tol = problem.options.feasibility_tol
    state = replace(
        state,
        model=mastered.model,
        num_held=max(state.num_held - 1, 0),
        best=best_of((state.best, *mastered.met), tol),
        max_exact=0,
    )
    if mastered.candidate is None or mastered.solution.x is None or mastered.solution.status not in USABLE:
        return BundleStep(Kind.FAILED, state, mastered)
    state = replace(state, num_failed=0, reserve=best_of((state.reserve, mastered.candidate), tol))
    try:
        kind, state = _weigh(problem, workshop, state, mastered, mastered.solution.x, mastered.candidate, is_held)
    except RunEnded:
        kind = Kind.ENDED
    return BundleStep(kind, state, mastered)


def _weigh(
    problem: Problem, workshop: Workshop, state: State, mastered: Mastered, x: Array, candidate: Point, is_held: bool
) -> tuple[Kind, State]:
    """What the candidate brings against what the model promised, and where the start goes from there."""
    tau, looks = state.penalty.value, state.model.looks
    promise = state.point.merit(tau) - mastered.value
    learned = learn(problem, state.model, x)
    # Cuts at a point that has its cuts already are a solver's tolerance, not news.
    is_repeated = any(np.allclose(candidate.w, w, rtol=SAME_POINT, atol=SAME_POINT) for w in (state.last_candidate, state.point.w))
    state = replace(state, model=learned.model, last_candidate=candidate.w, is_repeated=is_repeated)
    tolerance = problem.options.objective_tol * max(1.0, abs(state.point.objective))
    if promise > tolerance:
        found = search_segment(problem, workshop, state.best, candidate, tau)
        state = replace(state, best=best_of((state.best, found), problem.options.feasibility_tol))
        improvement = state.point.merit(tau) - found.merit(tau)
        if improvement > (tolerance if looks else FAIR_SHARE * promise):
            moved = _go(problem, state, learned, found, improvement / promise, workshop.journal.clock)
            num_held = state.num_held if is_held else num_held_steps(problem.embedded.host.num_integers, moved.model.gap)
            return Kind.MOVED, replace(moved, num_held=num_held)
        if learned.is_news and not is_repeated and not looks:
            return Kind.LEARNED, state
    if is_held:
        # With the integers free there may be more.
        return Kind.RELEASED, replace(state, num_held=0)
    return Kind.STUCK, state


def _go(problem: Problem, state: State, learned: Learned, point: Point, share: float, clock: Clock) -> State:
    """Make a point, which brought this share of the promise, the current one."""
    penalty = state.penalty
    if not point.is_feasible(problem.options.feasibility_tol) and point.violation > 0.5 * state.point.violation > 0:
        penalty = penalty.grown()
    model = move(problem, learned, point, share, clock)
    return replace(
        state,
        point=point,
        penalty=penalty,
        model=model,
        num_fruitless=0,
        looked=Looked(is_whole=state.looked.is_whole),
        fruitful_radius=state.model.region.radius,
    )
