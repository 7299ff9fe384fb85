"""Whether a step has ended at a local solution, told from its own master.

Another master would say so as well, by promising nothing; and a bundle would, by a model that knows kinks. Where a run is asked for one local
solution and nothing else, both are saved: the multipliers of the master and the gradients at its solution tell how far that is from
optimal. If no network bends between the point and the solution, the two models are the same and so are their solutions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.measurements import are_on_one_piece, slopes
from dcembed.embedded.point import Point
from dcembed.engine.problem import Problem
from dcembed.engine.tangent.curvature import row_multipliers
from dcembed.engine.tangent.tried import Tried
from dcembed.sparse import subtract, times, transposed_times

# Earlier tangents are in a solution where their multipliers are more than this share of the largest of all.
SMALL_SHARE = 1e-6


@dataclass(frozen=True, eq=False)
class Look:
    """Whether a candidate is a local solution, and the gradients of all measurements there if they were needed to tell."""

    is_settled: bool
    slope: sp.csr_array | None = None


def look(problem: Problem, tried: Tried) -> Look:
    """Whether the candidate is a feasible solution of its master inside the box, and nothing that counts is left to gain there."""
    candidate, multipliers = tried.candidate, row_multipliers(problem, tried.solution)
    if candidate is None or multipliers is None or not _is_inside(problem, tried, candidate):
        return Look(False)
    if are_on_one_piece(problem.embedded, tried.state.point.w, candidate.w):
        return Look(True)
    weights, slope = np.concatenate([[1.0], multipliers]), slopes(problem.embedded, candidate.w)
    most = problem.options.objective_tol * max(1.0, abs(candidate.objective))
    is_best = _left_to_gain(tried, candidate, slope, weights) <= most and not _is_at_kink(problem, candidate, slope, weights, most)
    return Look(is_best, slope)


def _is_inside(problem: Problem, tried: Tried, candidate: Point) -> bool:
    """Whether the candidate is feasible, and what the master says without slack, without earlier tangents and without the box."""
    state = tried.state
    if not candidate.is_feasible(problem.options.feasibility_tol) or state.needs_slack or state.region.is_hit(candidate.w):
        return False
    return _is_solution(problem, tried, candidate) and not _has_cuts(problem, tried)


def _is_solution(problem: Problem, tried: Tried, candidate: Point) -> bool:
    """Whether the candidate is what the master said: no correction of it, and no point on the way."""
    solution = tried.solution.x
    return solution is not None and np.array_equal(candidate.w, problem.subproblem.split_columns(solution)[0])


def _has_cuts(problem: Problem, tried: Tried) -> bool:
    """Whether earlier tangents hold the solution where it is: then it is at a kink."""
    duals, first = tried.solution.duals, problem.subproblem.first_restriction
    if duals is None:
        return True
    of_cuts = np.abs(duals[first + problem.embedded.restrictions.num_restrictions :])
    return bool(of_cuts.max(initial=0.0) > SMALL_SHARE * np.abs(duals).max(initial=0.0))


def _left_to_gain(tried: Tried, candidate: Point, slope: sp.csr_array, weights: Array) -> float:
    """What a further step could bring: no longer than this one, along what is left of the gradient of the Lagrangian.

    The master has made its own gradient vanish at the solution, so what is left is where the networks differ from their model.
    """
    model, step = tried.model.current, candidate.w - tried.state.point.w
    left = transposed_times(subtract(slope, model.slope), weights)
    if model.bend is not None:
        left = left - times(model.bend.matrix, step)
    return float(np.abs(left) @ np.abs(step))


def _is_at_kink(problem: Problem, candidate: Point, slope: sp.csr_array, weights: Array, most: float) -> bool:
    """Whether units at their kinks make a difference: beyond them is another piece, of which nothing is known."""
    embedded = problem.embedded
    if all(not measured.network.is_piecewise_linear for measured in embedded.networks):
        return False
    beyond = transposed_times(subtract(slope, slopes(embedded, candidate.w, on_at_kinks=False)), weights)
    return bool(np.abs(beyond).max(initial=0.0) > most)
