"""One start: a function of the problem, the starting point and what earlier starts have settled, to an outcome.

Whatever it changes on its way is its own: it opens its solvers and closes them. The journal hears of every point and step, and is
asked for the time alone, so that the same start gives the same outcome wherever and whenever it is run.
"""

from __future__ import annotations

from collections.abc import Sequence

from dcembed.arrays import Array
from dcembed.copies import replace
from dcembed.embedded.point import Point
from dcembed.engine.ccp.loop import run_ccp
from dcembed.engine.outcome import Outcome
from dcembed.engine.problem import Problem
from dcembed.engine.strategy import run_strategy
from dcembed.engine.workshop import Steps, open_workshop
from dcembed.run.journal import Journal


def run_start(problem: Problem, point: Point, steps: Steps, settled: Sequence[Array], journal: Journal) -> Outcome:
    """Run from a point; `settled` are points where earlier starts have ended, at which this one has nothing to add."""
    with open_workshop(problem, journal, steps) as workshop:
        if problem.options.formulation == "lazy":
            outcome = run_strategy(problem, workshop, point, settled)
        else:
            outcome = run_ccp(problem, workshop, point)
        backend = workshop.master.solver.backend
        journal.use(backend)
    # What settles when the time is over was cut off.
    status = (outcome.is_settled and journal.clock.ended()) or outcome.status
    return replace(outcome, status=status, backend=backend, num_steps=steps.number, num_pivots=steps.num_pivots)
