"""The convex-concave procedure on a cutting-plane model of the kept components.

At the current point the components H are linearized; the components G are known by their tangent cuts alone. A solution of this
model is a candidate like any other. If it improves the merit by a fair share of what the model promised, it becomes the current
point; if not, its cuts make the model better there. When the model promises nothing any more, the box is made smaller (the split
gets finer with it), until that does not help either.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dcembed.engine.cuts import CutPool, Heights
from dcembed.engine.fallback import solve_or_switch
from dcembed.engine.global_split import GlobalSplit
from dcembed.engine.local_split import LocalSplit
from dcembed.engine.look_ahead import look_ahead, num_looks, step_columns
from dcembed.engine.penalty import Penalty, initial_penalty
from dcembed.engine.point import Point, measure_point
from dcembed.engine.region import GROWTH, LARGEST_RADIUS, Region, first_region
from dcembed.engine.run import Run, ended, host_is_infeasible, record_iteration, reopen, take_candidate
from dcembed.engine.subproblem import limit_columns, update, with_split
from dcembed.options import Options
from dcembed.program.measurements import Tangents
from dcembed.program.tightening import tighten
from dcembed.result import Status
from dcembed.solvers.base import Solution, SolveStatus
from dcembed.tolerances import MAX_SOLVER_FAILURES

Array = np.ndarray

# A candidate becomes the current point if it brings at least this share of the promised improvement.
FAIR_SHARE = 0.1
# A step that hits the box and brings at least the good share of the promise makes the next box larger, below the poor share smaller.
GOOD_SHARE, POOR_SHARE = 0.7, 0.3
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
# Early masters with many integers are solved to the first gap only; the second follows when the model promises nothing at the first.
LOOSE_GAP, TIGHT_GAP, MANY_INTEGERS = 0.1, 1e-4, 50
# After a step of a master with many integers, so many steps with its choice of integers held, each a linear program.
HELD_STEPS = 3
# Rounds of cuts on the relaxation before a master with integers is solved (fewer where a round is no longer cheap), and what
# violation is worth a round.
RELAXED_ROUNDS, RELAXED_ROUNDS_MANY, RELAXED_CUT_TOL = 8, 3, 1e-4


@dataclass(eq=False)
class Model:
    """The cutting-plane model around the current point.

    Parameters
    ----------
    region, split, pool
        The box, the split that is valid on it, and the cuts of its components G.
    tangents, heights
        Of the components H and G at the current point.
    gap
        To which masters with integers are solved.
    looks
        How often the model has looked ahead from this point; its promises are without warrant then.
    is_turned
        Whether units at their kinks count as off in the tangents, not on.
    """

    region: Region
    split: GlobalSplit | LocalSplit
    pool: CutPool
    tangents: Tangents
    heights: Heights
    gap: float
    looks: int = 0
    is_turned: bool = False


def run_bundle(run: Run, point: Point, start: int) -> Status:
    """Iterate from `point` until the model promises nothing; candidates go to `run.incumbent`."""
    options, incumbent = run.options, run.incumbent
    region = first_region(run.embedded, point.w, *tighten(run.embedded.host))
    penalty = initial_penalty(options, run.embedded, point)
    model = _build_model(run, region, point, LOOSE_GAP if run.embedded.host.num_integers > MANY_INTEGERS else TIGHT_GAP, penalty)
    best_of_start = point if incumbent.accepts(point) else None
    steps = step_columns(run.embedded)
    boxes = BOXES_INTEGER if run.embedded.host.integer.any() else BOXES_CONTINUOUS
    fruitful_radius = region.radius
    num_failed = num_fruitless = 0
    num_held, last_candidate = 0, point.w
    for number in range(1, options.max_iterations + 1):
        if status := ended(run):
            return status
        if any(np.array_equal(point.w, solved) for solved in run.solved):
            return _settled(run, point)
        is_held, num_held = num_held > 0, max(num_held - 1, 0)
        num_known = len(incumbent.trace)
        solution = _solve_master(run, model, point, penalty, is_held)
        candidate, _ = take_candidate(run, solution, penalty)
        record_iteration(run, start, number, point, candidate, penalty, solution, len(incumbent.trace) > num_known)
        if solution.status in (SolveStatus.TIME_LIMIT, SolveStatus.INTERRUPTED):
            return ended(run) or Status.TIME_LIMIT
        if solution.status is SolveStatus.INFEASIBLE:
            if host_is_infeasible(run):
                return Status.HOST_INFEASIBLE
            if not model.region.is_full:
                # A start that violates the host's own rows may have none of its points nearby.
                model = _build_model(run, region.around(point.w, LARGEST_RADIUS), point, model.gap, penalty)
                continue
        if solution.status is SolveStatus.UNBOUNDED:
            if penalty.is_largest:
                return Status.UNBOUNDED
            penalty = penalty.grown()
            continue
        if candidate is None or solution.x is None or solution.status is SolveStatus.FAILED:
            num_failed += 1
            if num_failed == MAX_SOLVER_FAILURES:
                return Status.NUMERICAL_ERROR
            reopen(run, penalty)
            # A smaller box has less curvature and gentler cuts.
            model = _build_model(run, model.region.around(point.w, AFTER_FAILURE * model.region.radius), point, model.gap, penalty)
            continue
        num_failed = 0
        if incumbent.accepts(candidate) and (best_of_start is None or candidate.objective < best_of_start.objective):
            best_of_start = candidate

        promise = point.merit(penalty.value) - _model_value(run, model, solution.x, penalty)
        # Cuts at a point that has its cuts already are a solver's tolerance, not news.
        is_repeated = bool(np.allclose(candidate.w, last_candidate, rtol=SAME_POINT, atol=SAME_POINT))
        has_learned = _learn(run, model, solution.x) and not is_repeated
        last_candidate = candidate.w
        if promise > _tolerance(point, options):
            candidate = _search_segment(run, candidate, penalty)
            improvement = point.merit(penalty.value) - candidate.merit(penalty.value)
            if improvement > (_tolerance(point, options) if model.looks else FAIR_SHARE * promise):
                if not incumbent.accepts(candidate) and candidate.violation > 0.5 * point.violation > 0:
                    penalty = penalty.grown()
                point, num_fruitless = candidate, 0
                fruitful_radius = model.region.radius
                _move(run, model, point, improvement / promise, penalty)
                if not is_held and model.gap > TIGHT_GAP:
                    num_held = HELD_STEPS
                continue
            if has_learned and not model.looks:
                continue
        if is_held:
            num_held = 0
            continue

        # Nothing is left in this model: solve it better, look ahead, make it finer, or stop.
        if model.gap > TIGHT_GAP and solution.gap > TIGHT_GAP:
            model.gap = TIGHT_GAP
        elif not model.is_turned and not model.looks and _turn(model, point):
            continue
        elif model.looks < num_looks(run.embedded, steps):
            side = 1.0 if model.looks == 0 else -1.0
            model.tangents = look_ahead(model.split, point.w, steps, run.embedded.host.lb, run.embedded.host.ub, side)
            model.looks += 1
        elif not incumbent.accepts(point) and not penalty.is_largest:
            penalty = penalty.grown()
            _recenter(model, point)
        elif not incumbent.accepts(point) and best_of_start is not None:
            # Feasible points were met on the way: from the best of them the restrictions alone, without slack, stay feasible.
            point, best_of_start, penalty = best_of_start, None, penalty.hardened()
            model = _build_model(run, model.region.around(point.w, model.region.radius), point, model.gap, penalty)
        elif num_fruitless == len(boxes) or region.columns.size == 0 or options.decomposition == "global":
            run.solved.append(point.w)
            return _settled(run, point)
        else:
            model = _build_model(run, region.around(point.w, boxes[num_fruitless] * fruitful_radius), point, model.gap, penalty)
            num_fruitless += 1
    return Status.ITERATION_LIMIT


def _settled(run: Run, point: Point) -> Status:
    return Status.LOCALLY_SOLVED if run.incumbent.accepts(point) else Status.LOCALLY_INFEASIBLE


def _tolerance(point: Point, options: Options) -> float:
    return options.objective_tol * max(1.0, abs(point.objective))


def _build_model(run: Run, region: Region, point: Point, gap: float, penalty: Penalty) -> Model:
    """Split the networks on a box and begin with the cuts at the point."""
    if run.options.decomposition == "global":
        # Valid everywhere, so the box is the whole host's: for the master and for the M of its indicators.
        region = region.around(point.w, LARGEST_RADIUS)
        split: GlobalSplit | LocalSplit = GlobalSplit(run.embedded, region.lb, region.ub)
    else:
        split = LocalSplit(run.embedded, region.lb, region.ub)
    _limit(run, region, penalty)
    run.subproblem = with_split(run.subproblem, split, region)
    pool = CutPool(point.w.size)
    heights = split.heights(point.w)
    pool.add(heights, point.w, np.full(heights.value.size, -np.inf))
    return Model(region, split, pool, split.tangents(point.w), heights, gap)


def _limit(run: Run, region: Region, penalty: Penalty) -> None:
    """Keep the master inside the box where the split is valid."""
    limit_columns(run.subproblem, run.session, region.lb, region.ub, penalty.slack_ub)


def _move(run: Run, model: Model, point: Point, share: float, penalty: Penalty) -> None:
    """Make `point` the middle of the model; a box that it hit is drawn anew around it."""
    _recenter(model, point)
    if model.region.is_hit(point.w):
        factor = GROWTH if share >= GOOD_SHARE else 1.0 if share >= POOR_SHARE else 1.0 / GROWTH
        renewed = _build_model(run, model.region.around(point.w, factor * model.region.radius), point, model.gap, penalty)
        model.__dict__.update(renewed.__dict__)


def _turn(model: Model, point: Point) -> bool:
    """Count units at their kinks as off: on a kink the model may block what the other side allows. Whether that changes anything."""
    turned = model.split.tangents(point.w, on_at_kinks=False)
    differs = bool(abs(turned.slope - model.tangents.slope).max() > 0)
    model.tangents, model.is_turned = turned, True
    return differs


def _recenter(model: Model, point: Point) -> None:
    model.tangents, model.heights = model.split.tangents(point.w), model.split.heights(point.w)
    model.looks, model.is_turned = 0, False


def _solve_master(run: Run, model: Model, point: Point, penalty: Penalty, is_held: bool) -> Solution:
    """Solve the master, with its integers as at the point if they are held."""
    has_integers = bool(run.embedded.host.integer.any())

    def once() -> Solution:
        if is_held:
            return _solve_held(run, model, point, penalty)
        if has_integers:
            _cut_relaxation(run, model, penalty)
        update(run.subproblem, run.session, model.tangents, penalty.value, model.pool)
        if not has_integers:
            return run.session.solve(run.clock.limits())
        start = np.concatenate([point.w, model.heights.value, point.slack])
        # What the solver finds on its way is a candidate like its last word.
        limits = replace(run.clock.limits(model.gap), on_solution=lambda x: _take_passing(run, x, penalty))
        return run.session.solve(limits, start)

    with run.log.working("solving the master problem"):
        return solve_or_switch(run, once, lambda: _limit(run, model.region, penalty))


def _solve_held(run: Run, model: Model, point: Point, penalty: Penalty) -> Solution:
    region, integer = model.region, run.embedded.host.integer
    lb, ub = np.where(integer, point.w, region.lb), np.where(integer, point.w, region.ub)
    limit_columns(run.subproblem, run.session, lb, ub, penalty.slack_ub)
    update(run.subproblem, run.session, model.tangents, penalty.value, model.pool)
    solution = run.session.solve(run.clock.limits(), relax=True)
    _limit(run, region, penalty)
    return solution


def _take_passing(run: Run, x: Array, penalty: Penalty) -> None:
    take_candidate(run, Solution(SolveStatus.FEASIBLE, x), penalty)


def _cut_relaxation(run: Run, model: Model, penalty: Penalty) -> None:
    """Rounds of cuts where the relaxation of the master violates them: each costs a linear program, not a mixed-integer one."""
    n, num_parts = run.embedded.host.num_columns, run.subproblem.epigraph.num_columns
    many = run.embedded.host.num_integers > MANY_INTEGERS
    for _ in range(RELAXED_ROUNDS_MANY if many else RELAXED_ROUNDS):
        update(run.subproblem, run.session, model.tangents, penalty.value, model.pool)
        solution = run.session.solve(run.clock.limits(), relax=True)
        if solution.x is None or not np.isfinite(solution.x).all() or ended(run):
            return
        w, theta = solution.x[:n], solution.x[n : n + num_parts]
        heights = model.split.heights(w)
        if np.all(heights.value - theta <= RELAXED_CUT_TOL * (1.0 + np.abs(heights.value))):
            return
        model.pool.add(heights, w, theta)


def _model_value(run: Run, model: Model, x: Array, penalty: Penalty) -> float:
    """The objective of the master at its solution."""
    host, num_parts = run.subproblem.host, run.subproblem.epigraph.num_columns
    w, theta, slack = np.split(x, [host.num_columns, host.num_columns + num_parts])
    on_host = run.subproblem.kept_slope[[0]] - model.tangents.slope[[0]]
    constant = run.subproblem.kept_constant[0] - model.tangents.constant[0]
    neural = float((on_host @ w)[0]) + constant + float((run.subproblem.epigraph.kept[[0]] @ theta)[0])
    return host.objective(w) + neural + penalty.value * float(slack.sum())


def _learn(run: Run, model: Model, x: Array) -> bool:
    """Age the cuts at the master's solution and add those that it violates; whether there were any."""
    n, num_parts = run.embedded.host.num_columns, run.subproblem.epigraph.num_columns
    w, theta = np.where(run.embedded.host.integer, np.round(x[:n]), x[:n]), x[n : n + num_parts]
    model.pool.age(w, theta)
    return model.pool.add(model.split.heights(w), w, theta) > 0


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
