"""A neighbourhood: the same problem with a box in which most integers are held.

A start in it is a start like any other, of a smaller problem: its masters have few integers to choose, and most units of its networks are
settled by the box, so that masters with exact units are often the whole of it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dcembed.arrays import Array
from dcembed.engine.outcome import Outcome
from dcembed.engine.problem import FORMULATIONS, Problem
from dcembed.engine.subproblem import Subproblem
from dcembed.program.derive import derive
from dcembed.program.tightening import Box, tighten
from dcembed.status import Status

# What is true inside of a neighbourhood alone.
INSIDE = (Status.LOCALLY_SOLVED, Status.LOCALLY_INFEASIBLE, Status.HOST_INFEASIBLE, Status.UNBOUNDED)


def hold_others(problem: Problem, w: Array, free: Array) -> Box:
    """The box of the problem in which integers outside of `free`, a mask over the columns, are held as in `w`."""
    box, held = problem.box, problem.embedded.integer & ~free
    return Box(np.where(held, w, box.lb), np.where(held, w, box.ub))


def narrow(problem: Problem, box: Box | None) -> Problem:
    """The problem inside a box; itself without one."""
    if box is None:
        return problem
    host = problem.embedded.host
    lb, ub = np.maximum(host.lb, box.lb), np.minimum(host.ub, box.ub)
    switches = np.zeros(host.num_columns, dtype=bool)
    switches[host.indicator_rows.column] = True
    # A held integer is nothing to choose; one that switches something stays what solvers take for a switch.
    inside = derive(host, lb=lb, ub=ub, integer=host.integer & ((lb < ub) | switches))
    embedded = replace(problem.embedded, host=inside)
    implied = tighten(embedded.bounded_host)
    return replace(
        problem,
        embedded=embedded,
        subproblem=Subproblem(embedded, FORMULATIONS[problem.options.formulation](embedded)),
        box=Box(np.maximum(implied.lb, problem.box.lb), np.minimum(implied.ub, problem.box.ub)),
        is_narrow=True,
    )


def seen_from_outside(outcome: Outcome) -> Outcome:
    """What a start inside of a neighbourhood has shown of the whole problem: its points, but not that anything is settled."""
    return replace(outcome, status=Status.ITERATION_LIMIT) if outcome.status in INSIDE else outcome
