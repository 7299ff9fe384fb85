"""The master problem: the cutting-plane model inside a solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.point import Point
from dcembed.engine.bundle.model import Model
from dcembed.engine.problem import Problem
from dcembed.engine.subproblem import model_value
from dcembed.engine.workshop import Workshop, take_candidate
from dcembed.program.tightening import Box
from dcembed.run.penalty import Penalty
from dcembed.solvers.base import Solution, SolveStatus

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


@dataclass(frozen=True, eq=False)
class Mastered:
    """A solved master.

    Parameters
    ----------
    model
        The model, with the cuts that were added on the way.
    solution
        What the solver said.
    candidate
        Its point, measured and completed where that is better; None for none. With exact units, the best point met.
    met
        All points that were measured, those that the solver passed on its way among them.
    value
        The objective of the model at the solution, infinite without one.
    """

    model: Model
    solution: Solution
    candidate: Point | None
    met: tuple[Point, ...]
    value: float


def solve_master(problem: Problem, workshop: Workshop, model: Model, point: Point, penalty: Penalty, is_held: bool) -> Mastered:
    """Solve the master, with its integers as at the point if they are held, and measure what comes out."""
    passed: list[Point] = []
    with workshop.journal.log.working("master problem"):
        if is_held:
            solution = _solve_held(problem, workshop, model, point, penalty)
        elif problem.embedded.host.integer.any():
            model = _cut_relaxation(problem, workshop, model, penalty)
            solution = _solve_integer(problem, workshop, model, point, penalty, passed)
        else:
            workshop.master.write(model.majorant, penalty, model.region.box, model.pool)
            solution = workshop.master.solve(workshop.journal.clock.limits())
    candidate, met = take_candidate(problem, workshop, solution, penalty)
    value = model_value(problem.subproblem, model.majorant, solution.x, penalty.value) if solution.x is not None else np.inf
    return Mastered(model, solution, candidate, (*passed, *met), value)


def _solve_integer(problem: Problem, workshop: Workshop, model: Model, point: Point, penalty: Penalty, passed: list[Point]) -> Solution:
    """From the point, to the gap of the model."""
    workshop.master.write(model.majorant, penalty, model.region.box, model.pool)
    limits = replace(workshop.journal.clock.limits(model.gap), on_solution=take_passing(problem, workshop, penalty, passed))
    return workshop.master.solve(limits, np.concatenate([point.w, model.heights.value, point.slack]))


def take_passing(problem: Problem, workshop: Workshop, penalty: Penalty, passed: list[Point]) -> Callable[[Array], None]:
    """What the solver finds on its way is a candidate like its last word."""

    def take(x: Array) -> None:
        passed.extend(take_candidate(problem, workshop, Solution(SolveStatus.FEASIBLE, x), penalty)[1])

    return take


def _solve_held(problem: Problem, workshop: Workshop, model: Model, point: Point, penalty: Penalty) -> Solution:
    """With the integers of the point nothing is left to branch on."""
    box, integer = model.region.box, problem.embedded.host.integer
    held = Box(np.where(integer, point.w, box.lb), np.where(integer, point.w, box.ub))
    workshop.master.write(model.majorant, penalty, held, model.pool)
    return workshop.master.solve(workshop.journal.clock.limits(), relax=True)


def _cut_relaxation(problem: Problem, workshop: Workshop, model: Model, penalty: Penalty) -> Model:
    """Rounds of cuts where the relaxation of the master violates them: each costs a linear program, not a mixed-integer one."""
    clock = workshop.journal.clock
    several = problem.embedded.host.num_integers > SEVERAL_INTEGERS
    for _ in range(RELAXED_ROUNDS_SEVERAL if several else RELAXED_ROUNDS):
        workshop.master.write(model.majorant, penalty, model.region.box, model.pool)
        solution = workshop.master.solve(clock.limits(), relax=True)
        if solution.x is None or not np.isfinite(solution.x).all() or clock.ended():
            break
        w, theta, _ = problem.subproblem.split_columns(solution.x)
        heights = model.split.heights(w)
        if np.all(heights.value - theta <= RELAXED_CUT_TOL * (1.0 + np.abs(heights.value))):
            break
        model = replace(model, pool=model.pool.add(heights, w, theta))
    return model
