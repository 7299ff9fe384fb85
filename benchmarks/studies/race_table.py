"""What is measured on the laps of a race, and the table that shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import numpy as np
from rich.table import Table

from benchmarks.harness.metrics import LEVEL, primal_integral
from benchmarks.studies.race_case import Case

OURS, BEFORE, PEERS = "dcembed", "before", ("ipopt", "ipopt-lbfgs")
# How close to the best known objective a method must come for its time to count, as shares of it.
SHARE, WIDE_SHARE = 1e-3, 1e-2
# How much of its own way from the start a method must have gone for its time to count.
OWN_SHARE = 0.97


@dataclass(frozen=True)
class Lap:
    """One run of one method.

    Parameters
    ----------
    trace
        (processor seconds, clock seconds, objective) of every improving feasible point, measured here.
    processor_seconds, wall_seconds
        Of the whole run.
    num_steps, num_first
        Entries of the history, and those of the first start among them.
    memory
        Peak in MiB, NaN where the system does not say it.
    status
        The method's own word, or what went wrong.
    bound
        Below all feasible objectives, by the method's own word; minus infinity where it has none.
    """

    trace: tuple[tuple[float, float, float], ...] = ()
    processor_seconds: float = np.nan
    wall_seconds: float = np.nan
    num_steps: int = 0
    num_first: int = 0
    memory: float = np.nan
    status: str = "failed"
    bound: float = -np.inf

    @property
    def objective(self) -> float:
        """Of the last point, infinite if there is none."""
        return self.trace[-1][2] if self.trace else np.inf


@dataclass(frozen=True)
class Contest:
    """All laps on one case.

    Parameters
    ----------
    laps
        Contestant -> its laps.
    initial, start
        J_0, and the objective of the best start, which all know at second zero; None where there is none.
    best_known
        The best objective of all laps and of what is known from elsewhere.
    host_seconds
        Processor seconds of one solve of the host without networks.
    """

    case: Case
    laps: dict[str, list[Lap]]
    initial: float | None
    start: float | None
    best_known: float
    host_seconds: float

    def middle(self, name: str, measure: Callable[[Lap], float]) -> float:
        """The median of a measure over the laps of a contestant."""
        return median(measure(lap) for lap in self.laps[name])

    def npi(self, lap: Lap, clock: int) -> float:
        """Normalized primal integral in percent, by the processor (0) or by the clock (1); NaN without a start to compare with."""
        if self.initial is None:
            return np.nan
        known = [(0.0, self.start)] if self.start is not None else []
        points = [(entry[clock], entry[2]) for entry in lap.trace if entry[clock] <= self.case.time_limit]
        return primal_integral([*known, *points], self.initial, self.best_known, self.case.time_limit)

    def distance(self, lap: Lap) -> float:
        """How far its last objective is from the best known one, as a share of that; absolute where that is zero."""
        return (lap.objective - self.best_known) / (abs(self.best_known) or 1.0)

    def arrival(self, lap: Lap, clock: int, share: float = SHARE) -> float:
        """Seconds until the objective was within a share of the best known one; infinite if it never was."""
        limit = self.best_known + share * abs(self.best_known) + LEVEL * max(1.0, abs(self.best_known))
        return next((entry[clock] for entry in lap.trace if entry[2] <= limit), np.inf)

    def wide_arrival(self, lap: Lap, clock: int) -> float:
        """The same for the wider share."""
        return self.arrival(lap, clock, WIDE_SHARE)

    def own_arrival(self, lap: Lap, clock: int) -> float:
        """Seconds until 97 % of its own way from the start, or from zero without one, were gone; infinite if it has no point."""
        level = OWN_SHARE * lap.objective + (1 - OWN_SHARE) * (self.initial or 0.0) + LEVEL * max(1.0, abs(lap.objective))
        return next((entry[clock] for entry in lap.trace if entry[2] <= level), np.inf)


@dataclass(frozen=True)
class Column:
    """A column of the table: its title, and what it shows of a contestant."""

    title: str
    show: Callable[[Contest, str], str]
    justify: str = field(default="right", kw_only=True)


def _number(form: str, value: float) -> str:
    return "-" if not np.isfinite(value) else format(value, form)


def _both(contest: Contest, name: str, measure: Callable[[Lap, int], float], form: str) -> str:
    values = (contest.middle(name, lambda lap, clock=clock: measure(lap, clock)) for clock in (0, 1))
    return " / ".join(_number(form, value) for value in values)


def _ratio(contest: Contest, name: str, measure: Callable[[Lap, int], float]) -> str:
    """A measure by the processor, in units of that of the better variant of Ipopt."""
    peers = [contest.middle(peer, lambda lap: measure(lap, 0)) for peer in PEERS if peer in contest.laps]
    if not peers or name in PEERS:
        return ""
    own, best = contest.middle(name, lambda lap: measure(lap, 0)), min(peers)
    return _number(".2f", own / best if best > 0 else np.nan)


def _gain(contest: Contest, name: str) -> str:
    """How many times sooner than the state before it is within the share."""
    if BEFORE not in contest.laps or name == BEFORE:
        return ""
    own, before = (contest.middle(one, lambda lap: contest.arrival(lap, 0)) for one in (name, BEFORE))
    return _number(".1f", before / own)


COLUMNS = (
    Column("case", lambda c, name: c.case.name if name == next(iter(c.laps)) else "", justify="left"),
    Column("method", lambda c, name: name, justify="left"),
    Column("objective", lambda c, name: _number(".8g", c.middle(name, lambda lap: lap.objective))),
    Column("off best", lambda c, name: _number(".1e", c.middle(name, c.distance))),
    Column("NPI %", lambda c, name: _both(c, name, c.npi, ".3f")),
    Column("s to 99 %", lambda c, name: _both(c, name, c.wide_arrival, ".3f")),
    Column("s to 99.9 %", lambda c, name: _both(c, name, c.arrival, ".3f")),
    Column("s to 97 % of own", lambda c, name: _both(c, name, c.own_arrival, ".2f")),
    Column("host solves", lambda c, name: _number(".0f", c.middle(name, lambda lap: c.arrival(lap, 0)) / c.host_seconds)),
    Column("s in all", lambda c, name: _both(c, name, lambda lap, clock: (lap.processor_seconds, lap.wall_seconds)[clock], ".2f")),
    Column(
        "steps (first)", lambda c, name: " ".join(_number(".0f", c.middle(name, m)) for m in (lambda p: p.num_steps, lambda p: p.num_first))
    ),
    Column("MiB", lambda c, name: _number(".0f", c.middle(name, lambda lap: lap.memory))),
    Column("NPI / Ipopt", lambda c, name: _ratio(c, name, c.npi)),
    Column("99 % / Ipopt", lambda c, name: _ratio(c, name, c.wide_arrival)),
    Column("time / Ipopt", lambda c, name: _ratio(c, name, c.arrival)),
    Column("x sooner", _gain),
    Column("ended", lambda c, name: c.laps[name][-1].status, justify="left"),
)


TITLE = "processor / clock seconds, one thread; host solves: seconds to 99.9 % in solves of the host without networks"


def build_table(contests: Sequence[Contest]) -> Table:
    """A row for every contestant of every case, medians over the repeats."""
    table = Table(title=TITLE)
    for column in COLUMNS:
        table.add_column(column.title, justify=column.justify, no_wrap=column.justify == "right")
    for contest in contests:
        for row in build_rows(contest):
            table.add_row(*row)
        table.add_section()
    return table


def build_rows(contest: Contest) -> list[list[str]]:
    """What the table says of each contestant."""
    return [[column.show(contest, name) for column in COLUMNS] for name in contest.laps]


def head_lines() -> list[list[str]]:
    """Titles of the columns as a table in Markdown begins."""
    return [[column.title for column in COLUMNS], ["---" if column.justify == "left" else "---:" for column in COLUMNS]]


def write_markdown(contests: Sequence[Contest], path: Path) -> None:
    """The same table as a file."""
    lines = head_lines()
    lines += [row for contest in contests for row in build_rows(contest)]
    text = "\n".join("| " + " | ".join(cell or " " for cell in line) + " |" for line in lines)
    path.write_text(f"# Methods side by side\n\n{TITLE[0].upper()}{TITLE[1:]}.\n\n{text}\n", encoding="utf-8")
