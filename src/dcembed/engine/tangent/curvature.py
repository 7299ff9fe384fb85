"""Where networks are smooth, the model of a tangent step has their curvature as well.

The Hessian of the Lagrangian, with the multipliers of the last master, evaluation by evaluation; what curves downwards there is taken to
be straight, so that the master stays convex and the box keeps the step in bounds.
"""

from __future__ import annotations

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.curvature import convexified, curvature, has_curvature
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.engine.problem import Problem
from dcembed.engine.subproblem import Bend
from dcembed.solvers.base import Solution


def bend(embedded: EmbeddedProgram, w: Array, multipliers: Array | None) -> Bend | None:
    """The curvature at w; None where no network has any, or too much of it to be worth its time."""
    if not has_curvature(embedded):
        return None
    weights = np.zeros(embedded.restrictions.num_restrictions + 1)
    weights[0] = 1.0
    if multipliers is not None:
        weights[1:] = multipliers
    return Bend(curvature(embedded, w, weights, convexified), w)


def row_multipliers(problem: Problem, solution: Solution) -> Array | None:
    """Of every restriction in a master; None where the solver gives none."""
    if solution.duals is None:
        return None
    restrictions, first = problem.embedded.restrictions, problem.subproblem.first_restriction
    multipliers: Array = np.abs(solution.duals[first : first + restrictions.num_restrictions])
    return multipliers
