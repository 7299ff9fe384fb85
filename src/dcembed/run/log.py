"""The live log of a run, like a solver's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf, isfinite, nan

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from dcembed.result import Iteration, Result, Sizes
from dcembed.run.table import COLUMNS, COLUMNS_WITH_BOUNDS, Standing, line, standing_cells, titles
from dcembed.version import __version__

# A bound has a line of its own where the gap is at most this share of what was last shown, or after so many seconds.
NOTICEABLE, BOUND_SECONDS = 0.9, 1.0


class _Console(Console):
    """A console that falls silent where its output goes nowhere, instead of ending the run."""

    def on_broken_pipe(self) -> None:
        """Whoever read the output has had enough of it."""
        self.quiet = True


_QUIET = _Console(quiet=True)


class RunLog:
    """Prints what happens, with columns for bounds where there may be any. A quiet console prints nothing."""

    def __init__(self, verbose: bool, with_bounds: bool = False) -> None:
        self._notes: dict[str, None] = {}
        self._columns = COLUMNS_WITH_BOUNDS if with_bounds else COLUMNS
        # The best feasible objective that was last shown; when a bound was last shown, and the gap.
        self._best = nan
        self._shown = -inf, inf
        self._is_working = False
        # To make one takes as long as a small master.
        self._console = _Console(highlight=False, soft_wrap=True) if verbose else _QUIET

    @property
    def is_quiet(self) -> bool:
        """Whether nobody sees anything."""
        return self._console.quiet

    def header(self, sizes: Sizes, method: str, problem_class: str, solver: str) -> None:
        """Sizes and settings."""
        if self._console.quiet:
            return
        self._print(f"[bold]dcembed {__version__}[/]  {method}, on {solver}")
        self._print(f"  host      {problem_class}: {sizes.host_columns:,} columns, {sizes.host_rows:,} rows, {sizes.integers:,} integers")
        if sizes.switches:
            self._print(f"  switches  {sizes.switches:,} row{'' if sizes.switches == 1 else 's'} read as indicators")
        if sizes.implied_rows:
            self._print(f"  implied   {sizes.implied_rows:,} rows in the host by networks behind binaries")
        self._print(
            f"  networks  {sizes.networks}, evaluated {sizes.evaluations:,} times: {sizes.hidden_units:,} hidden units, "
            f"{sizes.neural_rows:,} neural restrictions"
        )
        if sizes.blocks:
            self._print(f"  blocks    {sizes.blocks:,} blocks, {sizes.links:,} linking rows")
        self._print(
            f"  added     {sizes.added_columns:,} columns, {sizes.added_rows:,} rows, {sizes.slacks:,} slacks, {sizes.added_binaries:,} binaries"
        )
        self._print("")
        self._print(f"[dim]{titles(self._columns)}[/]")

    def note(self, text: str) -> None:
        """Something that happened and is worth a line, once."""
        if text not in self._notes:
            self._notes[text] = None
            self._print(text, markup=False)

    @property
    def notes(self) -> tuple[str, ...]:
        """Everything that was noted, in its order."""
        return tuple(self._notes)

    def start(self, number: int, seconds: float, objective: float, violation: float, standing: Standing, words: str, is_new: bool) -> None:
        """The starting point itself, and what it comes from."""
        cells = {"start": str(number), "iter": "0", "objective": f"{objective:.9g}", "violation": f"{violation:.2g}"}
        self._line(seconds, cells, standing, words, is_new)

    def iteration(self, record: Iteration, standing: Standing) -> None:
        """One subproblem."""
        values = {"objective": f"{record.objective:.9g}", "violation": f"{record.violation:.2g}"}
        sizes = {"penalty": f"{record.penalty:.2g}", "step": f"{record.step:.2g}"}
        words = f"{record.kind}: {record.solver_status}" if record.kind else record.solver_status
        if record.is_incumbent and record.origin:
            words = f"{words}, from {record.origin}"
        self._line(
            record.seconds,
            {"start": str(record.start), "iter": str(record.number), **values, **sizes},
            standing,
            words,
            record.is_incumbent,
        )

    def bound(self, seconds: float, standing: Standing, words: str) -> None:
        """A better bound; one that is only a little better soon after another has no line."""
        if self._columns is not COLUMNS_WITH_BOUNDS:
            return
        since, gap = self._shown
        is_new = isfinite(standing.best) and standing.best != self._best
        if is_new or standing.gap < NOTICEABLE * gap or seconds >= since + BOUND_SECONDS:
            self._shown = seconds, standing.gap
            self._line(seconds, {}, standing, words, is_new)

    def summary(self, result: Result) -> None:
        """The closing lines."""
        # The words are measured once more, which a quiet log need not wait for.
        if not self._console.quiet:
            self._print("")
            self._print(result.summary())

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """A clock that ticks while a solver works, or the whole of which it is a part; only on a terminal."""
        if self._console.quiet or self._is_working or not self._console.is_terminal:
            yield
            return
        columns = SpinnerColumn(), TextColumn("[dim]{task.description}"), TimeElapsedColumn()
        progress = Progress(*columns, console=self._console, transient=True)
        progress.add_task(what, total=None)
        self._is_working = True
        self._try(progress.start)
        try:
            yield
        finally:
            self._is_working = False
            self._try(progress.stop)

    def _line(self, seconds: float, cells: dict[str, str], standing: Standing, words: str, is_new: bool) -> None:
        # A line that nobody sees takes longer to write than some iterations.
        if self._console.quiet:
            return
        marked = f"{cells.get('iter', '')}{'*' if is_new else ' '}"
        shown = {**cells, **standing_cells(standing), "iter": marked, "time": f"{seconds:.2f}s"}
        self._best = standing.best
        text = line(self._columns, shown, words)
        self._print(f"[green]{text}[/]" if is_new else text)

    def _print(self, text: str, markup: bool = True) -> None:
        # A quiet console renders all the same, which takes longer than some iterations.
        if not self._console.quiet:
            self._try(lambda: self._console.print(_shown_in(text, self._console.encoding), markup=markup))

    def _try(self, show: Callable[[], object]) -> None:
        """A log that cannot be written (a closed pipe or stream, a full disk) ends, and the run goes on."""
        try:
            show()
        except (OSError, ValueError):
            self._console.quiet = True


def _shown_in(text: str, encoding: str) -> str:
    """The text with letters that the screen does not have by their numbers."""
    return text.encode(encoding, "backslashreplace").decode(encoding)
