"""A start from a point that a proof has met: proofs know where good points are, starts find them."""

from __future__ import annotations

from dcembed.arrays import Array
from dcembed.engine.problem import Problem
from dcembed.engine.start import run_start
from dcembed.engine.workshop import Steps
from dcembed.run.journal import Journal
from dcembed.run.starts import measure_start

# Steps of such a start.
MAX_STEPS = 30


def improve(problem: Problem, journal: Journal, w: Array) -> None:
    """Go downhill from a point of the host, for a few steps."""
    number = journal.num_starts
    point = measure_start(problem.embedded, w)
    journal.start(number, point, "proof")
    outcome = run_start(problem, point, Steps(number, MAX_STEPS, is_probe=True, is_on_foot=True), (), journal)
    journal.reach(number, outcome.best)
