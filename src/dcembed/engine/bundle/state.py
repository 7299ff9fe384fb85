"""Where the iterations from one start have got to. A step makes a new state; none is changed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dcembed.arrays import Array
from dcembed.embedded.open_block import OpenBlock
from dcembed.embedded.point import Point
from dcembed.engine.bundle.exact_master import NARROW_UNITS, has_small_networks
from dcembed.engine.bundle.master import first_gap
from dcembed.engine.bundle.model import Model, build_model, redraw
from dcembed.engine.outcome import Walk, best_of
from dcembed.engine.problem import Problem
from dcembed.engine.region import Region, first_region
from dcembed.run.clock import Clock
from dcembed.run.penalty import Penalty, initial_penalty


@dataclass(frozen=True)
class Looked:
    """What masters with exact units have shown around a point.

    Parameters
    ----------
    num_units
        How many units could be exact in the last of them, 0 before the first.
    is_cut
        Whether it had too little time.
    is_whole
        Whether one was the problem itself, and solved: what it has found cannot be better.
    """

    num_units: int = 0
    is_cut: bool = False
    is_whole: bool = False


@dataclass(frozen=True, eq=False)
class State:
    """The current point, the model around it, and what is counted.

    Parameters
    ----------
    point, penalty, model
        The current point, the penalty, and the model around the point.
    first
        The box around the start; others are drawn by its widths.
    best
        The best feasible point of this start.
    reserve
        The best candidate among them, as long as the start has not gone back to it.
    last_candidate, is_repeated
        Columns of the last candidate, and whether it was met before: it is the one before it, or the point itself.
    fruitful_radius
        Radius of the last box in which a step was made.
    num_fruitless, num_failed
        Boxes without a step since then, and solver failures in a row.
    num_held
        How many of the next masters hold the integers of the point.
    max_exact
        How many units may be exact in the next master; 0 for one without.
    looked
        What masters with exact units have shown.
    blocks
        The networks on the whole host, once a master with exact units has asked for them.
    """

    point: Point
    penalty: Penalty
    model: Model
    first: Region
    best: Point | None
    reserve: Point | None
    last_candidate: Array
    fruitful_radius: float
    is_repeated: bool = False
    num_fruitless: int = 0
    num_failed: int = 0
    num_held: int = 0
    max_exact: int = 0
    looked: Looked = Looked()
    blocks: tuple[OpenBlock, ...] | None = None


def begin(problem: Problem, walked: Walk, clock: Clock) -> State:
    """The model on the first box around a start, or where it has got to."""
    start = walked.point
    region = first_region(problem.embedded, start.w, problem.box)
    model = build_model(problem, region, start, first_gap(problem.embedded.host.num_integers), clock)
    best = best_of((start, walked.best), problem.options.feasibility_tol)
    penalty = initial_penalty(problem.options, problem.embedded, start)
    max_exact = NARROW_UNITS if problem.is_narrow and has_small_networks(problem) else 0
    return State(start, penalty, model, region, best, best, start.w, region.radius, max_exact=max_exact)


def redrawn(problem: Problem, state: State, radius: float, clock: Clock) -> State:
    """The same with a model on another box around the point."""
    return replace(state, model=redraw(problem, state.model, state.first.around(state.point.w, radius), state.point, clock))


def arrived(problem: Problem, state: State, walk: Walk) -> State:
    """The same at the end of a walk that began at the current point; its model is to be drawn there."""
    tol = problem.options.feasibility_tol
    best, reserve = best_of((state.best, walk.best), tol), best_of((state.reserve, walk.best), tol)
    return replace(state, point=walk.point, best=best, reserve=reserve, last_candidate=walk.point.w, num_held=0)
