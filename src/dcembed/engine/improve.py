"""A start from a point that a proof has met: proofs know where good points are, starts find them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dcembed.arrays import Array
from dcembed.engine.problem import Problem
from dcembed.engine.start import run_start
from dcembed.engine.workshop import Steps
from dcembed.run.journal import Journal
from dcembed.run.starts import measure_start

# Steps of such a start.
MAX_STEPS = 30


def improve(problem: Problem, journal: Journal, w: Array, is_probe: bool = True) -> None:
    """Go downhill from a point of the host, for a few steps; a probe is left where it promises nothing, others are settled."""
    number = journal.num_starts
    point = measure_start(problem.embedded, w)
    journal.start(number, point, "proof")
    outcome = run_start(problem, point, Steps(number, MAX_STEPS, is_probe=is_probe, is_on_foot=is_probe), (), journal)
    journal.reach(number, outcome.best)


@contextmanager
def settled(problem: Problem, journal: Journal) -> Iterator[None]:
    """What a proof has met while it closed the gap is as good as the optimum to the tolerance, and mostly not quite settled: go downhill from there.

    Not where networks are restricted: what is left to gain may be no more than what the feasibility tolerance is worth.
    """
    before = journal.incumbent.point
    yield
    best = journal.incumbent.point
    is_free = problem.embedded.restrictions.num_restrictions == 0
    if is_free and journal.is_closed and best is not None and best is not before:
        improve(problem, journal, best.w, is_probe=False)
