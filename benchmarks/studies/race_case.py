"""One problem of the race."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.problems.instance import Instance


@dataclass(frozen=True)
class Case:
    """One problem of the race.

    Parameters
    ----------
    name
        FAMILY-..., what the command line calls it.
    build
        Makes the instance; it may have no starts.
    methods
        "dcembed", names of `dcembed.baselines` or of `own_methods.py`, run by default.
    time_limit
        Seconds of each run.
    best_known
        Gives the best objective that is known from elsewhere, minimized; None if there is none.
    """

    name: str
    build: Callable[[], Instance]
    methods: tuple[str, ...]
    time_limit: float
    best_known: Callable[[], float | None] = lambda: None
