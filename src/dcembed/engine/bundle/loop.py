"""The convex-concave procedure on a cutting-plane model of the kept components.

At the current point the components H are linearized; the components G are known by their tangent cuts alone. A solution of this
model is a candidate like any other. If it improves the merit by a fair share of what the model promised, it becomes the current
point; if not, its cuts make the model better there. When the model promises nothing any more, the box is made smaller (the split
gets finer with it), until that does not help either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.embedded.point import Point, measure_point
from dcembed.engine.bundle.look_ahead import look_ahead, num_looks, step_columns
from dcembed.engine.bundle.master import TIGHT_GAP, first_gap, num_held_steps, solve_master, tightened
from dcembed.engine.bundle.model import Model, build_model, learn, model_value, move, recenter, turn
from dcembed.engine.bundle.region import LARGEST_RADIUS, Region, first_region
from dcembed.engine.penalty import Penalty, initial_penalty
from dcembed.engine.run import Run, host_is_infeasible, record_step, reopen, take_candidate
from dcembed.options import Options
from dcembed.program.tightening import tighten
from dcembed.result import Status
from dcembed.solvers.base import Solution, SolveStatus
from dcembed.tolerances import MAX_SOLVER_FAILURES

Array = np.ndarray

# A candidate becomes the current point if it brings at least this share of the promised improvement.
FAIR_SHARE = 0.1
# Points that agree to this, absolutely or relatively in every column, are the same to a solver.
SAME_POINT = 1e-9
# How much smaller the box becomes after a solver has failed.
AFTER_FAILURE = 0.25
# Bisections on the way from the best feasible point to an infeasible candidate.
NUM_BISECTIONS = 6
# Sizes of further boxes, relative to the last that brought something, before the point counts as a local solution: finer ones,
# where the split is tighter, and with integers also wider ones, where the master sees other combinations.
BOXES_CONTINUOUS = (0.25, 0.0625)
BOXES_INTEGER = (0.25, 4.0, 16.0)


@dataclass(eq=False)
class Progress:
    """Where the iterations from one start have got to.

    Parameters
    ----------
    point, penalty, model
        The current point, the penalty, and the model around the point.
    first
        The box around the start; others are drawn by its widths.
    best
        The best feasible point of this start that has not been gone back to.
    fruitful_radius
        Radius of the last box in which a step was made.
    num_fruitless, num_failed
        Boxes without a step since then, and solver failures in a row.
    num_held
        How many of the next masters hold the integers of the point.
    last_candidate
        Columns of the last candidate.
    """

    point: Point
    penalty: Penalty
    model: Model
    first: Region
    best: Point | None
    fruitful_radius: float
    last_candidate: Array
    num_fruitless: int = 0
    num_failed: int = 0
    num_held: int = 0


def run_bundle(run: Run, point: Point, start: int) -> Status:
    """Iterate from `point` until the model promises nothing; candidates go to `run.incumbent`."""
    at = _begin(run, point)
    for number in range(1, run.options.max_iterations + 1):
        if status := run.clock.ended():
            return status
        if any(np.array_equal(at.point.w, solved) for solved in run.solved):
            return _settled(run, at.point)
        is_held, at.num_held = at.num_held > 0, max(at.num_held - 1, 0)
        num_known = len(run.incumbent.trace)
        solution = solve_master(run, at.model, at.point, at.penalty, is_held)
        candidate, _ = take_candidate(run, solution, at.penalty)
        record_step(run, start, number, at.point, candidate, at.penalty, solution, len(run.incumbent.trace) > num_known)
        if candidate is None or solution.x is None or solution.status not in (SolveStatus.OPTIMAL, SolveStatus.FEASIBLE):
            if status := _cope(run, at, solution):
                return status
        elif not _step(run, at, solution.x, candidate, is_held) and (status := _deepen(run, at, solution)):
            return status
    return Status.ITERATION_LIMIT


def _begin(run: Run, point: Point) -> Progress:
    region = first_region(run.embedded, point.w, *tighten(run.embedded.host))
    penalty = initial_penalty(run.options, run.embedded, point)
    model = build_model(run, region, point, first_gap(run.embedded.host.num_integers), penalty)
    best = point if run.incumbent.accepts(point) else None
    return Progress(point, penalty, model, region, best, region.radius, point.w)


def _cope(run: Run, at: Progress, solution: Solution) -> Status | None:
    """Go on after a master that gave no usable solution, or say how the start ends."""
    if solution.status in (SolveStatus.TIME_LIMIT, SolveStatus.INTERRUPTED):
        return run.clock.ended() or Status.TIME_LIMIT
    if solution.status is SolveStatus.INFEASIBLE:
        if host_is_infeasible(run):
            return Status.HOST_INFEASIBLE
        if not at.model.region.is_full:
            # A start that violates the host's own rows may have none of its points nearby.
            _redraw(run, at, LARGEST_RADIUS)
            return None
    if solution.status is SolveStatus.UNBOUNDED:
        if at.penalty.is_largest:
            return Status.UNBOUNDED
        at.penalty = at.penalty.grown()
        return None
    at.num_failed += 1
    if at.num_failed == MAX_SOLVER_FAILURES:
        return Status.NUMERICAL_ERROR
    reopen(run, at.penalty)
    # A smaller box has less curvature and gentler cuts.
    _redraw(run, at, AFTER_FAILURE * at.model.region.radius)
    return None


def _step(run: Run, at: Progress, x: Array, candidate: Point, is_held: bool) -> bool:
    """Go to the candidate if it brings a fair share of the promise, else learn from it; False if nothing came of it."""
    at.num_failed = 0
    if run.incumbent.accepts(candidate) and (at.best is None or candidate.objective < at.best.objective):
        at.best = candidate
    promise = at.point.merit(at.penalty.value) - model_value(run, at.model, x, at.penalty)
    # Cuts at a point that has its cuts already are a solver's tolerance, not news.
    is_repeated = bool(np.allclose(candidate.w, at.last_candidate, rtol=SAME_POINT, atol=SAME_POINT))
    has_learned = learn(run, at.model, x) and not is_repeated
    at.last_candidate = candidate.w
    tolerance = _tolerance(at.point, run.options)
    if promise > tolerance:
        candidate = _search_segment(run, candidate, at.penalty)
        improvement = at.point.merit(at.penalty.value) - candidate.merit(at.penalty.value)
        if improvement > (tolerance if at.model.looks else FAIR_SHARE * promise):
            _go(run, at, candidate, improvement / promise)
            if not is_held:
                at.num_held = num_held_steps(run.embedded.host.num_integers, at.model.gap)
            return True
        if has_learned and not at.model.looks:
            return True
    if is_held:
        # With the integers free there may be more.
        at.num_held = 0
    return is_held


def _go(run: Run, at: Progress, candidate: Point, share: float) -> None:
    """Make the candidate, which brought this share of the promise, the current point."""
    if not run.incumbent.accepts(candidate) and candidate.violation > 0.5 * at.point.violation > 0:
        at.penalty = at.penalty.grown()
    at.point, at.num_fruitless, at.fruitful_radius = candidate, 0, at.model.region.radius
    move(run, at.model, candidate, share, at.penalty)


def _deepen(run: Run, at: Progress, solution: Solution) -> Status | None:
    """Nothing is left in this model: solve it better, look ahead, make it finer, or say how the start ends."""
    steps, is_feasible = step_columns(run.embedded), run.incumbent.accepts(at.point)
    boxes = BOXES_INTEGER if run.embedded.host.integer.any() else BOXES_CONTINUOUS
    if at.model.gap > TIGHT_GAP and solution.gap > TIGHT_GAP:
        at.model.gap = tightened(min(at.model.gap, solution.gap))
    elif not at.model.is_turned and not at.model.looks and turn(at.model, at.point):
        pass
    elif at.model.looks < num_looks(run.embedded, steps):
        side = 1.0 if at.model.looks == 0 else -1.0
        at.model.tangents = look_ahead(
            at.model.split, at.point.w, steps, run.embedded.host.lb, run.embedded.host.ub, side, lambda: run.clock.ended() is not None
        )
        at.model.looks += 1
    elif not is_feasible and not at.penalty.is_largest:
        at.penalty = at.penalty.grown()
        recenter(at.model, at.point)
    elif not is_feasible and at.best is not None:
        # Feasible points were met on the way: from the best of them the restrictions alone, without slack, stay feasible.
        at.point, at.best, at.penalty = at.best, None, at.penalty.hardened()
        _redraw(run, at, at.model.region.radius)
    elif at.num_fruitless == len(boxes) or at.first.columns.size == 0 or run.options.decomposition == "global":
        run.solved.append(at.point.w)
        return _settled(run, at.point)
    else:
        _redraw(run, at, boxes[at.num_fruitless] * at.fruitful_radius)
        at.num_fruitless += 1
    return None


def _redraw(run: Run, at: Progress, radius: float) -> None:
    """A model on another box around the current point."""
    at.model = build_model(run, at.first.around(at.point.w, radius), at.point, at.model.gap, at.penalty)


def _settled(run: Run, point: Point) -> Status:
    return Status.LOCALLY_SOLVED if run.incumbent.accepts(point) else Status.LOCALLY_INFEASIBLE


def _tolerance(point: Point, options: Options) -> float:
    return options.objective_tol * max(1.0, abs(point.objective))


def _search_segment(run: Run, candidate: Point, penalty: Penalty) -> Point:
    """On the way from the best feasible point to an infeasible candidate, the last feasible point, if that is the better one."""
    best = run.incumbent.point
    if run.embedded.host.integer.any() or run.incumbent.accepts(candidate) or best is None or not run.incumbent.is_feasible:
        return candidate
    if candidate.objective >= best.objective:
        return candidate
    feasible, low, high = best, 0.0, 1.0
    for _ in range(NUM_BISECTIONS):
        middle = (low + high) / 2
        trial = measure_point(run.embedded, (1 - middle) * best.w + middle * candidate.w)
        if run.incumbent.accepts(trial):
            feasible, low = trial, middle
        else:
            high = middle
    if low > 0:
        run.incumbent.offer(feasible, run.clock.seconds)
        if feasible.merit(penalty.value) < candidate.merit(penalty.value):
            return feasible
    return candidate
