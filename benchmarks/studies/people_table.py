"""Problems that people have, one row each: dcembed beside the best of the packages that they would pick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.problems.instance import Instance
from benchmarks.studies.own_methods import PROVED
from benchmarks.studies.race_table import OURS, WIDE_SHARE, Contest
from dcembed.gap import relative_gap

TITLES = (
    "problem",
    "columns / rows / integers",
    "evaluations / hidden units",
    "dcembed",
    "off best",
    "s to 1 % / 0.1 %",
    "best peer",
    "objective",
    "off best",
    "s to 1 % / 0.1 %",
    "dcembed / peer",
    "best known",
    "bound (gap)",
)
HEAD = """# Problems that people have, beside what they would pick

Written by `python -m benchmarks.studies.people`; one thread, {seconds:g} s by the clock for each method and problem, other times are processor seconds.
Models of the packages are built before their clock starts. Objectives are minimized, points are measured by the harness. "off best" is the distance
to the best known objective as a share of it; the best known is that of all runs, an enumeration (e) or a Lagrangian bound (b). The best peer is the
one that was within 0.1 % of it first, else within 1 %, else the one that ended lowest. "dcembed / peer" is the ratio of the times to 0.1 %, of those
to 1 % (in brackets) where only they are there for both; "<" and ">" where one of the two never came there, by the time that it had. The bound is the best one of all
methods, with who has it, and its gap to the best known.
"""


@dataclass(frozen=True)
class Size:
    """How large an instance is."""

    columns: int
    rows: int
    integers: int
    evaluations: int
    hidden: int


def size_of(instance: Instance) -> Size:
    """Of all evaluations of all networks."""
    program = instance.program
    evaluations = [embedding.num_evaluations for embedding in instance.embeddings]
    units = [sum(embedding.network.widths) for embedding in instance.embeddings]
    hidden = sum(number * width for number, width in zip(evaluations, units, strict=True))
    return Size(program.num_columns, program.num_rows, program.num_integers, sum(evaluations), hidden)


def best_peer(contest: Contest) -> str | None:
    """Who was within 0.1 % of the best known first, else within 1 %, else who ended lowest; None if nobody else has a point."""
    peers = [name for name in contest.laps if name not in (OURS, PROVED) and np.isfinite(_objective(contest, name))]
    if not peers:
        return None
    return min(peers, key=lambda name: (*_arrivals(contest, name)[::-1], _objective(contest, name)))


def _objective(contest: Contest, name: str) -> float:
    return contest.middle(name, lambda lap: lap.objective)


def _arrivals(contest: Contest, name: str) -> tuple[float, float]:
    """Processor seconds to 1 % and to 0.1 %."""
    return contest.middle(name, lambda lap: contest.arrival(lap, 0, WIDE_SHARE)), contest.middle(name, lambda lap: contest.arrival(lap, 0))


def compare(contest: Contest, peer: str) -> str:
    """How long dcembed took as a share of what the peer took."""
    ours, theirs = _arrivals(contest, OURS), _arrivals(contest, peer)
    if np.isfinite(ours[1]) and np.isfinite(theirs[1]):
        return _ratio(ours[1], theirs[1])
    if np.isfinite(ours[1]) or np.isfinite(theirs[1]):
        is_ours = np.isfinite(ours[1])
        had = contest.middle(peer if is_ours else OURS, lambda lap: lap.processor_seconds)
        return f"< {_ratio(ours[1], had)}" if is_ours else f"> {_ratio(had, theirs[1])}"
    return f"({_ratio(ours[0], theirs[0])})" if np.isfinite(ours[0]) and np.isfinite(theirs[0]) else "-"


def _ratio(one: float, other: float) -> str:
    return f"{one / max(other, 1e-3):.2g}"


def best_bound(contest: Contest) -> tuple[float, str] | None:
    """The highest bound and who has it; None if nobody has any."""
    bounds = {name: max(lap.bound for lap in laps) for name, laps in contest.laps.items()}
    # Nobody is believed whose bound is above a point that was measured.
    limit = contest.best_known + 1e-4 * max(1.0, abs(contest.best_known))
    credible = {name: bound for name, bound in bounds.items() if -np.inf < bound <= limit}
    name = max(credible, key=credible.__getitem__, default=None)
    return (credible[name], name) if name is not None else None


def build_row(contest: Contest, size: Size, mark: str = "") -> list[str]:
    """What the table says of a problem; `mark` says where the best known is from."""
    peer, bound = best_peer(contest), best_bound(contest)
    cells = [
        contest.case.name.removeprefix("people-"),
        f"{size.columns:,} / {size.rows:,} / {size.integers:,}",
        f"{size.evaluations:,} / {size.hidden:,}",
        *_cells(contest, OURS),
    ]
    cells += [peer, *_cells(contest, peer), compare(contest, peer)] if peer else ["none has a point", "-", "-", "-", "-"]
    shown = "-" if bound is None else f"{bound[0]:.6g} ({_gap(contest.best_known, bound[0])}, {bound[1]})"
    return [*cells, f"{contest.best_known:.6g}{mark}", shown]


def _cells(contest: Contest, name: str) -> list[str]:
    """Objective, distance, and times of a contestant."""
    objective = _objective(contest, name)
    if not np.isfinite(objective):
        return ["no point", "-", "-"]
    times = " / ".join("-" if not np.isfinite(seconds) else f"{seconds:.2f}" for seconds in _arrivals(contest, name))
    return [f"{objective:.6g}", f"{contest.middle(name, contest.distance):.1e}", times]


def _gap(objective: float, bound: float) -> str:
    gap = relative_gap(objective, bound, 1.0)
    return f"{100 * gap:.2g} %" if gap < 10 else "> 1000 %"


def refusals(contests: Sequence[Contest]) -> list[str]:
    """What methods said that could not run, one line each."""
    return [
        f"- {contest.case.name.removeprefix('people-')}, {name}: {lap.status}"
        for contest in contests
        for name, laps in contest.laps.items()
        for lap in laps[:1]
        if not lap.trace and not np.isfinite(lap.processor_seconds)
    ]
