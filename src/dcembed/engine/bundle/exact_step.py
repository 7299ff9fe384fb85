"""A look with exact units: bound the networks, choose units, solve the master that has them, and take what it meets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dcembed.embedded.open_block import open_blocks
from dcembed.embedded.point import Point
from dcembed.engine.bundle.exact_master import MORE_UNITS, ExactMaster, build_exact, solve_exact
from dcembed.engine.bundle.master import TIGHT_GAP, Mastered, take_passing
from dcembed.engine.bundle.state import Looked, State
from dcembed.engine.bundle.unit_ranges import bound_units
from dcembed.engine.problem import Problem
from dcembed.engine.workshop import Workshop, take_candidate
from dcembed.solvers.base import SolveStatus


def solve_exactly(problem: Problem, workshop: Workshop, state: State) -> tuple[State, Mastered]:
    """Solve a master with exact units. One that has all there are, or that takes too long twice, is the last around this point."""
    blocks = state.blocks
    if blocks is None:
        blocks = tuple(open_blocks(problem.embedded, bound_units(problem, workshop.host, workshop.journal.clock)))
    exact = build_exact(problem, blocks, state.point, state.max_exact)
    mastered = _solve(problem, workshop, state, exact)
    is_cut = mastered.solution.status is not SolveStatus.OPTIMAL
    is_last = state.looked.is_cut if is_cut else exact.num_units < state.max_exact
    looked = Looked(MORE_UNITS[-1] if is_last else state.max_exact, is_cut, exact.is_whole and not is_cut)
    return replace(state, blocks=blocks, looked=looked), mastered


def _solve(problem: Problem, workshop: Workshop, state: State, exact: ExactMaster) -> Mastered:
    """The solution is written in the columns of the other masters; it violates no cut."""
    passed: list[Point] = []
    limits = replace(workshop.journal.clock.limits(TIGHT_GAP), on_solution=take_passing(problem, workshop, state.penalty, passed))
    with workshop.journal.log.working("exact master"):
        solution, x = solve_exact(exact, workshop, state.penalty, limits)
    _, met = take_candidate(problem, workshop, replace(solution, x=x), state.penalty)
    # The solver's last word is best in the model; what it has passed before may be better in truth.
    candidate = min((*reversed(met), *reversed(passed)), key=lambda point: point.merit(state.penalty.value))
    w, _, slack = exact.subproblem.split_columns(x)
    w = w[: problem.embedded.host.num_columns]
    plain = replace(solution, x=np.concatenate([w, state.model.split.heights(w).value, slack]))
    return Mastered(state.model, plain, candidate, (*passed, *met), exact.value(x, state.penalty))
