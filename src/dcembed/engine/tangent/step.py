"""One tangent step: a master on the tangents, and what its solution is worth."""

from __future__ import annotations

import numpy as np

from dcembed.engine.failure import USABLE
from dcembed.engine.problem import Problem
from dcembed.engine.tangent.funnel_step import weigh_in_funnel
from dcembed.engine.tangent.merit_step import weigh_by_merit
from dcembed.engine.tangent.solved import solve_around
from dcembed.engine.tangent.state import State
from dcembed.engine.tangent.tried import Tried
from dcembed.engine.workshop import Workshop, take_candidate


def try_step(problem: Problem, workshop: Workshop, state: State) -> Tried:
    """Solve the master around the point and weigh what it says."""
    solved = solve_around(problem, workshop, state)
    solution = solved.solution
    candidate, met = take_candidate(problem, workshop, solution, solved.penalty)
    if candidate is None or solution.x is None or solution.status not in USABLE:
        return Tried(solution, None, solved.penalty, np.nan, np.nan, solved.state, solved.model)
    weigh = weigh_in_funnel if solved.is_funnelled else weigh_by_merit
    return weigh(problem, workshop, solved, solution.x, candidate, met)
