"""The live log of a run, like a solver's.

By default it shows improvements, new phases and, every few seconds, that the run is alive; improvements that follow each other closely share a line.
With `verbose=2` every step has a line.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf, isfinite
from pathlib import Path

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from dcembed.result import Iteration, Result, Sizes, show_count, show_violation
from dcembed.run.heartbeat import Heartbeat
from dcembed.run.table import (
    COLUMNS,
    COLUMNS_OF_STEPS,
    COLUMNS_WITH_BOUNDS,
    Standing,
    line,
    show_seconds,
    standing_cells,
    step_cells,
    step_words,
    titles,
)
from dcembed.run.voice import Voice, fold
from dcembed.version import __version__

# Lines of improvements are so many seconds apart, those of bounds so many, and nothing is said for so many seconds at most.
APART, BOUNDS_APART, SILENCE, TICK = 0.5, 2.0, 4.0, 0.25
# A bound has a line where the gap is at most this share of what was last shown, however soon.
NOTICEABLE = 0.5
# Kinds of starts that are one phase of a search.
PHASES = {"given": "starts", "host": "starts", "scout": "starts", "columns": "blocks", "proof": "proof"}

NOTHING_KNOWN = Standing()


@dataclass(frozen=True)
class Moment:
    """What there is to say: when, in which start, after how many steps, what is known, and what is at work."""

    seconds: float = 0.0
    start: int = 0
    num_steps: int = 0
    standing: Standing = NOTHING_KNOWN
    words: str = ""


class RunLog:
    """Says what happens, with columns for bounds where there may be any."""

    def __init__(
        self,
        verbose: bool | int,
        with_bounds: bool = False,
        log_file: str | Path | None = None,
        ask: Callable[[], Standing] | None = None,
    ) -> None:
        self._voice = Voice(bool(verbose), log_file)
        self._with_bounds, self._has_steps = with_bounds, int(verbose) > 1
        self._notes: dict[str, None] = {}
        # Who knows what is known now.
        self._ask = ask
        # Where the run is, since when, and what it does.
        self._now, self._heard, self._doing = Moment(), time.monotonic(), ""
        self._phases: set[str] = set()
        # When the last line was said, what it said is known, and what is better and still to be said.
        self._said, self._shown = -inf, NOTHING_KNOWN
        self._news: Moment | None = None
        self._lock = threading.RLock()
        self._heartbeat = Heartbeat(self._tick, TICK)

    @property
    def is_quiet(self) -> bool:
        """Whether nobody sees anything."""
        return self._voice.is_silent

    def header(self, sizes: Sizes, method: str, problem_class: str, solver: str) -> None:
        """Sizes and settings."""
        if self.is_quiet:
            return
        self._say(f"dcembed {__version__} on {solver}", "bold")
        host = f"{problem_class}: {show_count(sizes.host_columns, 'column')}, {show_count(sizes.host_rows, 'row')}, {show_count(sizes.integers, 'integer')}"
        told = {"method": method, "host": host}
        if sizes.switches:
            told["switches"] = f"{show_count(sizes.switches, 'row')} read as indicators"
        if sizes.implied_rows:
            told["implied"] = f"{show_count(sizes.implied_rows, 'row')} in the host by networks behind binaries"
        times = f"evaluated {show_count(sizes.evaluations, 'time')}: {show_count(sizes.hidden_units, 'hidden unit')}"
        told["networks"] = f"{sizes.networks}, {times}, {show_count(sizes.neural_rows, 'neural restriction')}"
        if sizes.blocks:
            told["blocks"] = f"{show_count(sizes.blocks, 'block')}, {show_count(sizes.links, 'linking row')}"
        added = f"{show_count(sizes.added_columns, 'column')}, {show_count(sizes.added_rows, 'row')}, {show_count(sizes.slacks, 'slack')}"
        binaries = "1 binary" if sizes.added_binaries == 1 else f"{sizes.added_binaries:,} binaries"
        told["added"] = f"{added}, {binaries}"
        for name, text in told.items():
            self._say(fold(f"  {name:10}{text}", indent=10))
        self._say("")
        self._say(titles(self._columns), "dim")
        self._heartbeat.begin()

    def note(self, text: str) -> None:
        """Something that happened and is worth a line, once."""
        if text not in self._notes:
            self._notes[text] = None
            if not self.is_quiet:
                self._say(fold(text))

    @property
    def notes(self) -> tuple[str, ...]:
        """Everything that was noted, in its order."""
        return tuple(self._notes)

    def start(
        self, number: int, seconds: float, objective: float, violation: float, standing: Standing, origin: str = "", is_new: bool = False
    ) -> None:
        """The starting point itself, and what it comes from."""
        if self.is_quiet:
            return
        if self._has_steps:
            cells = {"time": show_seconds(seconds), "start": str(number), "iter": "0"}
            values = {"objective": f"{objective:.8g}", "violation": show_violation(violation)}
            self._step({**cells, **values}, origin or "start", is_new)
        moment = replace(self._now, seconds=seconds, start=number, standing=standing, words=origin)
        self._hear(moment, is_new, self._enters(PHASES.get(origin, "moves" if origin else "starts")))

    def iteration(self, record: Iteration, standing: Standing) -> None:
        """One subproblem."""
        if self.is_quiet:
            return
        if self._has_steps:
            self._step(step_cells(record), step_words(record), record.is_incumbent)
        now, words = self._now, record.origin or record.kind
        moment = Moment(record.seconds, record.start, now.num_steps + 1, standing, words)
        self._hear(moment, record.is_incumbent)

    def bound(self, seconds: float, standing: Standing, words: str) -> None:
        """A better bound; one that is only a little better soon after another has no line."""
        if self.is_quiet or not self._with_bounds:
            return
        is_new = self._is_better(standing)
        is_due = self._enters("bounds") or standing.gap < NOTICEABLE * self._shown.gap
        if self._has_steps:
            cells = standing_cells(standing)
            self._say(
                line(
                    {"time": 8},
                    {"time": show_seconds(seconds)},
                    f"bound {cells['bound']}, gap {cells['gap']}" + (f": {words}" if words else ""),
                    is_new,
                )
            )
        moment = replace(self._now, seconds=seconds, standing=standing, words=words or "bound")
        self._hear(moment, is_new or time.monotonic() >= self._said + BOUNDS_APART, is_due)

    def summary(self, result: Result) -> None:
        """The closing lines."""
        self.end()
        # The words are measured once more, which a quiet log need not wait for.
        if not self.is_quiet:
            self._say("")
            *lines, words = result.summary().splitlines()
            self._say("\n".join([*(fold(text, indent=12) for text in lines), fold(words, indent=0)]))
        self._voice.close()

    def end(self) -> None:
        """Say what is still to be said, and fall still."""
        self._heartbeat.end()
        with self._lock:
            if self._news is not None and not self.is_quiet:
                self._show(self._news)

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """What a solver works on, or the whole of which it is a part; on a terminal a clock ticks meanwhile."""
        if self._doing or self.is_quiet:
            yield
            return
        self._doing = what
        try:
            with self._ticking(what):
                yield
        finally:
            self._doing = ""

    @contextmanager
    def _ticking(self, what: str) -> Iterator[None]:
        if not self._voice.is_live:
            yield
            return
        columns = SpinnerColumn(), TextColumn("[dim]{task.description}"), TimeElapsedColumn()
        progress = Progress(*columns, console=self._voice.console, transient=True)
        progress.add_task(what, total=None)
        # Not in the middle of a line.
        with self._lock:
            self._voice.attempt(progress.start)
        try:
            yield
        finally:
            with self._lock:
                self._voice.attempt(progress.stop)

    def _is_better(self, standing: Standing) -> bool:
        """Whether there is a better point than was last shown, by the digits that are shown."""
        return isfinite(standing.best) and standing_cells(standing)["best feasible"] != standing_cells(self._shown)["best feasible"]

    def _enters(self, phase: str) -> bool:
        """Whether a phase begins that has not been there before."""
        is_new = phase not in self._phases
        self._phases.add(phase)
        return is_new

    @property
    def _columns(self) -> dict[str, int]:
        if self._has_steps:
            return COLUMNS_OF_STEPS
        return COLUMNS_WITH_BOUNDS if self._with_bounds else COLUMNS

    def _hear(self, moment: Moment, is_new: bool, is_due: bool = False) -> None:
        """Take a moment in, and say it now, soon, or not at all."""
        with self._lock:
            self._now, self._heard = moment, time.monotonic()
            if self._has_steps:
                # It has had its line.
                self._shown = moment.standing
                return
            if is_new:
                self._news = moment
            is_first = is_new and not isfinite(self._shown.best)
            if self._news is not None and (is_due or is_first or self._heard >= self._said + APART):
                self._show(self._news)
            elif is_due:
                self._show(moment)

    def _tick(self) -> None:
        """Say what was held back, and, after a while without a word, that the run is alive."""
        with self._lock:
            now = time.monotonic()
            if self._news is not None and now >= self._said + APART:
                self._show(self._news)
            elif now >= self._said + SILENCE:
                moment = replace(self._now, seconds=self._now.seconds + now - self._heard, words=self._doing or self._now.words)
                self._show(moment if self._ask is None else replace(moment, standing=self._ask()), "dim")

    def _show(self, moment: Moment, style: str = "") -> None:
        known = standing_cells(moment.standing)
        is_new = self._is_better(moment.standing)
        if self._has_steps:
            text = line({"time": 8}, {"time": show_seconds(moment.seconds)}, f"best {known['best feasible']}: {moment.words}")
        else:
            cells = {"time": show_seconds(moment.seconds), "start": str(moment.start), "steps": str(moment.num_steps), **known}
            text = line(self._columns, cells, moment.words, is_new)
        self._shown, self._news = moment.standing, None
        self._say(text, "green" if is_new else style)

    def _step(self, cells: dict[str, str], words: str, is_new: bool) -> None:
        self._say(line(COLUMNS_OF_STEPS, cells, words, is_new), "green" if is_new else "")

    def _say(self, text: str, style: str = "") -> None:
        with self._lock:
            self._said = time.monotonic()
            self._voice.say(text, style)
