"""The second-order correction of a step: the same master with its neural rows shifted by what their tangents missed."""

from __future__ import annotations

import numpy as np

from dcembed.embedded.point import Point
from dcembed.engine.problem import Problem
from dcembed.engine.tangent.master import solve_master
from dcembed.engine.tangent.solved import Solved
from dcembed.engine.workshop import Workshop, take_candidate

# A correction goes beyond what straight tangents missed by this share of the excess, so that it more often ends on the right side.
OVERSHOOT = 0.1


def correct(problem: Problem, workshop: Workshop, solved: Solved, candidate: Point) -> tuple[Point | None, tuple[Point, ...]]:
    """The corrected candidate, None where there is nothing to correct, and all points that were measured."""
    tangents = solved.model.current
    missed = candidate.neural - (tangents.slope @ candidate.w + tangents.constant)
    if not solved.is_funnelled and missed[1:].max() <= problem.options.feasibility_tol:
        return None, ()
    overshoot = np.zeros(missed.size - 1) if solved.is_funnelled else OVERSHOOT * candidate.excess
    # An equality has no right side.
    overshoot[np.concatenate(problem.embedded.restrictions.sides)] = 0.0
    shifted = solved.model.shifted(np.concatenate([[0.0], missed[1:] + overshoot]))
    solution, _ = solve_master(problem, workshop, solved.state, shifted, solved.penalty)
    return take_candidate(problem, workshop, solution, solved.penalty)
