"""What a method hands to the harness, and how the harness checks it: nothing that a method says about its points is believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.problems.instance import Instance
from dcembed import Result, verify
from dcembed.embedded.verify import predict

Array = np.ndarray
FEASIBILITY_TOL = 1e-5
# What SCIP, the first of them, takes for infinity.
INFINITE = 1e20


class LicenceError(RuntimeError):
    """A model does not fit the licence that was found; the message says what it needs."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """The points of a run.

    Parameters
    ----------
    status
        The method's own word for how it ended.
    points
        (seconds, values of all columns) of every point it claims, in order of time.
    seconds
        Time of the run without its preparation.
    preparation_seconds
        Time before the clock started: bound tightening, or building a model in a modelling tool.
    added_columns, added_rows, added_binaries
        What the formulation adds to the host; None where the method builds no formulation.
    bound
        What the method says that no feasible point is below; None where it proves nothing.
    """

    status: str
    points: list[tuple[float, Array]]
    seconds: float
    preparation_seconds: float = 0.0
    added_columns: int | None = None
    added_rows: int | None = None
    added_binaries: int | None = None
    bound: float | None = None


@dataclass(frozen=True)
class Checked:
    """What is left of the points after they have been measured.

    Parameters
    ----------
    trace
        (seconds, objective) of every feasible point that improves on those before it.
    num_rejected
        Points that were not feasible.
    largest_violation
        Over all points.
    """

    trace: list[tuple[float, float]]
    num_rejected: int = 0
    largest_violation: float = 0.0


def outcome_of(result: Result) -> Outcome:
    """A result of dcembed or of one of its baselines; every incumbent must come with its point."""
    if len(result.incumbent_points) != len(result.incumbents):
        raise ValueError(f"{len(result.incumbents)} incumbents came with {len(result.incumbent_points)} points: they cannot be checked")
    times = [seconds for seconds, _ in result.incumbents]
    return Outcome(
        status=result.status.name.lower(),
        # Of very large problems not all points are kept.
        points=[(seconds, x) for seconds, x in zip(times, result.incumbent_points, strict=True) if x is not None],
        seconds=result.seconds,
        preparation_seconds=float(getattr(result, "preparation_seconds", 0.0)),
        added_columns=result.sizes.added_columns,
        added_rows=result.sizes.added_rows,
        added_binaries=int(getattr(result.sizes, "added_binaries", 0)),
        bound=known_bound(result.bound),
    )


def known_bound(value: float) -> float | None:
    """A bound as solvers tell it; None where the number stands for none: NaN, infinity, or what a solver takes for it."""
    return float(value) if abs(value) < INFINITE else None


def check(instance: Instance, points: Sequence[tuple[float, Array]]) -> Checked:
    """Measure every point: integers rounded, predictions replaced by the network's own, then all constraints at one tolerance.

    Rounding and predicting favours methods that work at a solver's tolerances; it is done for all alike.
    """
    trace: list[tuple[float, float]] = []
    num_rejected, largest = 0, 0.0
    for seconds, point in sorted(points, key=lambda entry: entry[0]):
        x = np.where(instance.program.integer, np.round(point), point)
        x = predict(instance.embeddings, x)
        measured = verify(instance.program, instance.embeddings, x)
        largest = max(largest, measured.violation)
        if not measured.violation <= FEASIBILITY_TOL:
            num_rejected += 1
        elif not trace or measured.objective < trace[-1][1]:
            trace.append((float(seconds), measured.objective))
    return Checked(trace, num_rejected, largest)
