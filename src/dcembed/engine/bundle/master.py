"""The master problem: the cutting-plane model inside a solver."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dcembed.embedded.point import Point
from dcembed.engine.bundle.model import Model, limit_to
from dcembed.engine.penalty import Penalty
from dcembed.engine.run import Run, take_candidate
from dcembed.engine.subproblem import limit_columns, update
from dcembed.solvers.base import Solution, SolveStatus
from dcembed.solvers.failover import solve_or_switch

Array = np.ndarray

# Above so many integers the last percent of a gap takes most of the time: early masters are solved to the loose gap only; smaller ones
# follow, by this factor, down to the tight one, whenever the model promises nothing at the last.
SEVERAL_INTEGERS = 20
LOOSE_GAP, GAP_FACTOR, TIGHT_GAP = 0.1, 0.25, 1e-4
# Rounds of cuts on the relaxation before a master with integers is solved (fewer with several of them, where a round is no longer
# cheap), and what violation is worth a round.
RELAXED_ROUNDS, RELAXED_ROUNDS_SEVERAL, RELAXED_CUT_TOL = 8, 3, 1e-4
# Above so many integers a master is followed by steps with its choice of them held, each a linear program.
MANY_INTEGERS, HELD_STEPS = 40, 3


def first_gap(num_integers: int) -> float:
    """To which gap the first masters are solved."""
    return LOOSE_GAP if num_integers > SEVERAL_INTEGERS else TIGHT_GAP


def tightened(gap: float) -> float:
    """The next smaller gap."""
    return max(GAP_FACTOR * gap, TIGHT_GAP)


def num_held_steps(num_integers: int, gap: float) -> int:
    """How many steps hold the integers after a master was solved to a gap."""
    return HELD_STEPS if num_integers > MANY_INTEGERS and gap > TIGHT_GAP else 0


def solve_master(run: Run, model: Model, point: Point, penalty: Penalty, is_held: bool) -> Solution:
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
        return solve_or_switch(run, once, lambda: limit_to(run, model.region, penalty))


def _solve_held(run: Run, model: Model, point: Point, penalty: Penalty) -> Solution:
    """The master with the integers of the point: nothing is left to branch on."""
    region, integer = model.region, run.embedded.host.integer
    lb, ub = np.where(integer, point.w, region.lb), np.where(integer, point.w, region.ub)
    limit_columns(run.subproblem, run.session, lb, ub, penalty.slack_ub)
    update(run.subproblem, run.session, model.tangents, penalty.value, model.pool)
    solution = run.session.solve(run.clock.limits(), relax=True)
    limit_to(run, region, penalty)
    return solution


def _take_passing(run: Run, x: Array, penalty: Penalty) -> None:
    take_candidate(run, Solution(SolveStatus.FEASIBLE, x), penalty)


def _cut_relaxation(run: Run, model: Model, penalty: Penalty) -> None:
    """Rounds of cuts where the relaxation of the master violates them: each costs a linear program, not a mixed-integer one."""
    n, num_parts = run.embedded.host.num_columns, run.subproblem.epigraph.num_columns
    several = run.embedded.host.num_integers > SEVERAL_INTEGERS
    for _ in range(RELAXED_ROUNDS_SEVERAL if several else RELAXED_ROUNDS):
        update(run.subproblem, run.session, model.tangents, penalty.value, model.pool)
        solution = run.session.solve(run.clock.limits(), relax=True)
        if solution.x is None or not np.isfinite(solution.x).all() or run.clock.ended():
            return
        w, theta = solution.x[:n], solution.x[n : n + num_parts]
        heights = model.split.heights(w)
        if np.all(heights.value - theta <= RELAXED_CUT_TOL * (1.0 + np.abs(heights.value))):
            return
        model.pool.add(heights, w, theta)
