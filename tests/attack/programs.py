"""Random programs: what dcembed says of each against the exact answer and our own measurement."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

import dcembed
from dcembed.status import Status

from .case import FEASIBILITY_TOL, Case, measure, to_dcembed
from .generator import KINDS
from .oracle import Answer, Verdict, ask
from .specials import SPECIALS, case_of

# Seconds for a run of dcembed, and for the oracle. Both are ample for programs of this size.
TIME_LIMIT, ORACLE_LIMIT = 10.0, 6.0
# What a run may take beyond its limit.
GRACE = 1.0
# Our measurements and theirs add the same numbers in another order; relative to the sizes of those numbers.
ROUNDING = 1e-9
# An objective this much better than the best one says that the oracle erred; less is what the tolerance gives.
CLEARLY = 1e-2

# What is wrong with a run, worst first.
FAULTS = (
    "false feasible",
    "mismatch",
    "traceback",
    "lost incumbent",
    "missed feasible",
    "wrong status",
    "refused",
    "overrun",
    "better than exact",
)


@dataclass(frozen=True, eq=False)
class Trial:
    """One run.

    Parameters
    ----------
    name, problem_class, traits
        Of the case; `name` draws it again.
    answer, exact, is_optimal
        What the oracle said.
    status, objective, seconds, num_steps, reason
        What dcembed said.
    gap
        How much worse than the exact optimum, relative to max(1, |exact|); NaN where one of them has none.
    faults
        Which of `FAULTS`, with what was seen.
    """

    name: str
    problem_class: str
    traits: tuple[str, ...]
    answer: str
    exact: float
    is_optimal: bool
    status: str
    objective: float
    seconds: float
    num_steps: int
    reason: str
    gap: float
    faults: dict[str, str]

    @property
    def stalled(self) -> bool:
        """The time was over before a single step."""
        return self.status == "TIME_LIMIT" and self.num_steps == 0


def names(seed: int, with_specials: bool = True) -> Iterator[str]:
    """Names of cases without end: the special ones, then the kinds in turn."""
    if with_specials:
        yield from (f"special:{number}" for number in range(len(SPECIALS)))
    for number in count(seed):
        yield from (f"{kind}:{number}" for kind in KINDS)


def attempt(name: str, time_limit: float = TIME_LIMIT, oracle_limit: float = ORACLE_LIMIT, **options: object) -> Trial:
    """Ask dcembed, ask the oracle, compare."""
    case = case_of(name)
    program, embeddings = to_dcembed(case)
    began = time.monotonic()
    result, refusal, trace = None, "", ""
    try:
        result = dcembed.solve(program, embeddings, options={"time_limit": time_limit, "verbose": False, **options})
    except dcembed.errors.DcembedError as error:
        refusal = f"{type(error).__name__}: {error}"
    except Exception:
        trace = traceback.format_exc()
    seconds = time.monotonic() - began
    verdict = ask(case, oracle_limit)
    faults = {"traceback": trace} if trace else {"refused": refusal} if refusal else _judge(case, verdict, result)
    if seconds > time_limit + GRACE:
        faults["overrun"] = f"{seconds - time_limit:.1f} s over"
    return Trial(
        name=name,
        problem_class=case.problem_class,
        traits=case.traits,
        answer=verdict.answer.value,
        exact=verdict.objective,
        is_optimal=verdict.is_optimal,
        status=result.status.name if result is not None else "raised",
        objective=result.objective if result is not None else np.nan,
        seconds=seconds,
        num_steps=len(result.history) if result is not None else 0,
        reason=result.reason if result is not None else "",
        gap=_gap(case, verdict, result),
        faults=faults,
    )


def _judge(case: Case, verdict: Verdict, result: dcembed.Result) -> dict[str, str]:
    faults = _measured_faults(case, result) | _status_faults(verdict, result)
    if verdict.answer is Answer.FEASIBLE and not result.is_feasible:
        faults["missed feasible"] = f"{result.status.name}, violation {result.violation:.3g}: {result.reason}"
    gap = _gap(case, verdict, result)
    if result.is_feasible and (verdict.answer is Answer.INFEASIBLE or gap < -CLEARLY):
        faults["better than exact"] = f"{result.objective:.6g} against {verdict.answer.value} {verdict.objective:.6g}"
    return faults


def _measured_faults(case: Case, result: dcembed.Result) -> dict[str, str]:
    """What does not agree with our own measurement of the points."""
    if result.x is None:
        return {"false feasible": "feasible without a point"} if result.is_feasible else {}
    faults, own = {}, measure(case, result.x)
    if result.is_feasible and own.violation > FEASIBILITY_TOL + ROUNDING * _size(case, result.x):
        faults["false feasible"] = f"violation {own.violation:.3g}"
    for name, ours, theirs in (("objective", own.objective, result.objective), ("violation", own.violation, result.violation)):
        if abs(ours - theirs) > ROUNDING * _size(case, result.x):
            faults["mismatch"] = f"{name} {ours!r}, reported {theirs!r}"
    if loss := _lost(case, result):
        faults["lost incumbent"] = loss
    return faults


def _size(case: Case, x: np.ndarray) -> float:
    """The largest of the numbers that are added up to measure a point, and 1."""
    size = np.abs(x)
    curved = 0.0 if case.quadratic is None else size @ np.abs(case.quadratic) @ size
    rows = (np.abs(case.rows) @ size).max(initial=1.0)
    return float(max(1.0, rows, np.abs(case.cost) @ size + curved, size.max()))


def _lost(case: Case, result: dcembed.Result) -> str:
    """Whether the result is worse than a point of its own trace, or the trace is not true."""
    sense = -1.0 if case.maximize else 1.0
    for (_, objective), x in zip(result.incumbents, result.incumbent_points, strict=True):
        own, rounding = measure(case, x), ROUNDING * _size(case, x)
        if own.violation > FEASIBILITY_TOL + rounding or abs(own.objective - objective) > rounding:
            return f"the trace says {objective!r}, its point has {own}"
        if not result.is_feasible or sense * (result.objective - objective) > rounding:
            return f"{result.objective!r} although {objective!r} was known"
    return ""


def _status_faults(verdict: Verdict, result: dcembed.Result) -> dict[str, str]:
    """Statuses that say more than is true."""
    said, known = result.status, verdict.answer
    wrong = (
        (said is Status.LOCALLY_SOLVED and not result.is_feasible)
        or (said in (Status.INFEASIBLE, Status.HOST_INFEASIBLE) and (known in (Answer.FEASIBLE, Answer.UNBOUNDED) or result.is_feasible))
        or (said is Status.UNBOUNDED and (known is Answer.INFEASIBLE or (known is Answer.FEASIBLE and verdict.is_optimal)))
        or (said is Status.LOCALLY_INFEASIBLE and (known is Answer.UNBOUNDED or result.is_feasible))
    )
    return {"wrong status": f"{said.name} where the oracle says {known.value}"} if wrong else {}


def _gap(case: Case, verdict: Verdict, result: dcembed.Result | None) -> float:
    if result is None or not result.is_feasible or verdict.answer is not Answer.FEASIBLE or not verdict.is_optimal:
        return np.nan
    worse = verdict.objective - result.objective if case.maximize else result.objective - verdict.objective
    return float(worse / max(1.0, abs(verdict.objective)))


def summarize(trials: Sequence[Trial]) -> list[tuple[str, str]]:
    """The lines of the final table."""
    lines = [("programs tried", f"{len(trials)}")]
    lines += [(fault, _listed([t.name for t in trials if fault in t.faults])) for fault in FAULTS]
    for kind in sorted({t.problem_class for t in trials}):
        feasible = [t for t in trials if t.problem_class == kind and t.answer == Answer.FEASIBLE.value]
        missed = [t.name for t in feasible if "missed feasible" in t.faults]
        lines.append((f"missed feasible, {kind}", f"{len(missed)} of {len(feasible)}"))
    lines.append(("stalled before the first step", _listed([t.name for t in trials if t.stalled])))
    gaps = np.array([t.gap for t in trials if np.isfinite(t.gap)])
    for within in (1e-3, 1e-4):
        share = f" ({np.mean(gaps <= within):.1%})" if gaps.size else ""
        lines.append((f"objectives within {within:g} of the exact", f"{int((gaps <= within).sum())} of {gaps.size}{share}"))
    return lines


def _listed(found: list[str]) -> str:
    return f"{len(found)}" + (f": {' '.join(found)}" if found else "")
