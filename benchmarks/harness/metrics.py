"""What is measured on a trace of feasible points. Objectives are minimized."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.harness.records import Record
from dcembed.gap import relative_gap

# How long after its time limit a run may take to hand over what it has.
STOPPING_SECONDS = 1.0
# What rounding may do to an objective, relative to the larger of 1 and itself.
ROUNDING = 1e-9
# Objectives this close, relative to the best known one, are level when methods are compared.
LEVEL = 1e-6
# Solvers stop at a relative gap of 1e-4; what a point loses when it is measured may come on top.
PROVED_GAP = 2e-4

Trace = Sequence[tuple[float, float]]


def known_trace(record: Record) -> list[tuple[float, float]]:
    """The trace with the best start at second zero: every method knows it. What is handed over on stopping counts at the time limit."""
    points = [(0.0, record.start_objective)] if record.start_objective is not None else []
    points += [(min(seconds, record.time_limit), objective) for seconds, objective in record.trace if _counts(record, seconds)]
    best, trace = np.inf, []
    for seconds, objective in sorted(points):
        if objective < best:
            best = objective
            trace.append((seconds, objective))
    return trace


def _counts(record: Record, seconds: float) -> bool:
    """Whether a point came in time: a solver that is stopped at the limit needs a moment to hand over its last one."""
    return seconds <= record.time_limit + STOPPING_SECONDS


def cut(record: Record, seconds: float) -> Record:
    """The run as it stood at an earlier second, as if that had been its limit; points that came later are not known yet.

    A method that knows its limit may spend a shorter one in another way, and a solver that is stopped hands over what it has: a run with
    that limit can be a little better than this.
    """
    if seconds >= record.time_limit:
        return record
    return replace(record, time_limit=seconds, trace=tuple(point for point in record.trace if point[0] <= seconds))


def best_at(record: Record, times: np.ndarray) -> np.ndarray:
    """The best objective known at each time; infinite before there is one."""
    trace = known_trace(record)
    levels = np.array([np.inf, *(objective for _, objective in trace)])
    return levels[np.searchsorted([seconds for seconds, _ in trace], times, side="right")]


def ahead_from(record: Record, others: Iterable[Record]) -> float | None:
    """The second from which a run was better than all the others to the end; None if one ends level with it, infinite if one ends better."""
    runs = [record, *others]
    times = np.unique([0.0, *(seconds for run in runs for seconds, _ in known_trace(run))])
    ours, *theirs = (best_at(run, times) for run in runs)
    best = np.min(theirs, axis=0) if theirs else np.full(times.size, np.inf)
    if not np.isfinite(ours[-1]):
        return np.inf if np.isfinite(best[-1]) else None
    margin = LEVEL * abs(ours[-1])
    if not ours[-1] < best[-1] - margin:
        return None if ours[-1] <= best[-1] + margin else np.inf
    behind = np.flatnonzero(~(ours < best - margin))
    return float(times[behind[-1] + 1]) if behind.size else 0.0


def references(records: Iterable[Record]) -> dict[tuple[str, str, int], float]:
    """J_ref of each instance: the best feasible objective over all methods, the starts and, where it is known, the true optimum."""
    best: dict[tuple[str, str, int], float] = {}
    for record in records:
        values = [objective for _, objective in record.trace]
        values += [value for value in (record.start_objective, record.optimum) if value is not None]
        if values:
            best[record.instance] = min([*values, best.get(record.instance, np.inf)])
    return best


def primal_integral(trace: Trace, initial: float, reference: float, horizon: float) -> float:
    """NPI in percent: 100/T times the integral over [0, T] of (J_best(t) - J_ref) / (J_0 - J_ref).

    Before the first point, and where a point is worse than J_0, J_best is J_0; where nothing can be gained, it is 0.
    """
    if not initial > reference:
        return 0.0
    times = [min(max(seconds, 0.0), horizon) for seconds, _ in trace]
    levels = np.minimum.accumulate([initial, *(objective for _, objective in trace)])
    spans = np.diff([0.0, *times, horizon])
    return float(100.0 / horizon * (spans @ (levels - reference)) / (initial - reference))


def npi(record: Record, reference: float) -> float | None:
    """NPI of a run over its time limit; None if nothing is known about it (licence) or its instance.

    What a run had when it ended, by itself or because it was stopped at its start, counts to its limit.
    """
    if record.initial_objective is None or record.status == "licence":
        return None
    return primal_integral(known_trace(record), record.initial_objective, reference, record.time_limit)


def with_starts(records: list[Record]) -> list[Record]:
    """The same records; those of processes that were ended get J_0, the start and the optimum from other runs on their instance.

    A run that was killed delivered nothing: it counts as one that stayed at the start.
    """
    known = {record.instance: record for record in records if record.initial_objective is not None}
    optima = {record.instance: record.optimum for record in records if record.optimum is not None}
    filled = []
    for record in records:
        other = known.get(record.instance)
        if record.initial_objective is None and other is not None:
            record = replace(record, initial_objective=other.initial_objective, start_objective=other.start_objective)
        filled.append(record if record.optimum is not None else replace(record, optimum=optima.get(record.instance)))
    return filled


def time_to_feasible(record: Record) -> float | None:
    """Seconds to the first feasible point that the method itself delivered."""
    return min((min(seconds, record.time_limit) for seconds, _ in record.trace if _counts(record, seconds)), default=None)


def time_to(record: Record, reference: float, share: float) -> float | None:
    """Seconds until the best point was within a share of |J_ref| of J_ref."""
    limit = reference + share * abs(reference) + ROUNDING * max(1.0, abs(reference))
    return next((seconds for seconds, objective in known_trace(record) if objective <= limit), None)


def final_objective(record: Record) -> float | None:
    """The best objective within the time limit, the start included."""
    trace = known_trace(record)
    return trace[-1][1] if trace else None


def processors(record: Record) -> float | None:
    """How many processors a run has kept busy on average, its preparation included; None where that was not measured."""
    seconds = (record.seconds or 0.0) + (record.preparation_seconds or 0.0)
    return record.processor_seconds / seconds if record.processor_seconds is not None and seconds > 0 else None


def optimality_gap(record: Record) -> float | None:
    """(J - J_opt) / |J_opt| in percent, where the optimum was enumerated."""
    final = final_objective(record)
    if record.optimum is None or final is None:
        return None
    return max(0.0, 100.0 * (final - record.optimum) / max(abs(record.optimum), 1e-12))


def proved_gap(record: Record) -> float:
    """(J - bound) / |J| of the best point that the harness found feasible and the method's own bound; infinite where one is missing."""
    if record.objective is None or record.bound is None:
        return np.inf
    return relative_gap(record.objective, record.bound)


def is_proved(record: Record) -> bool:
    """Whether the method says that it is optimal, with a bound that closes the gap to what the harness has measured."""
    return record.status == "optimal" and proved_gap(record) <= PROVED_GAP


def is_refuted(record: Record, reference: float) -> bool:
    """Whether a method's bound is above a feasible point, by more than tolerances: what it says about the optimum is wrong."""
    return record.bound is not None and relative_gap(record.bound, reference) > PROVED_GAP
