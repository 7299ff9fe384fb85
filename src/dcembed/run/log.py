"""The live log of a run, like a solver's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isnan

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from dcembed.result import Iteration, Result, Sizes
from dcembed.version import __version__

TITLES = (
    f"{'start':>5} {'iter':>5} {'time':>8} {'objective':>16} {'violation':>10} {'best feasible':>16} {'penalty':>9} {'step':>9}  solver"
)


class _Console(Console):
    """A console that falls silent where its output goes nowhere, instead of ending the run."""

    def on_broken_pipe(self) -> None:
        """Whoever read the output has had enough of it."""
        self.quiet = True


class RunLog:
    """Prints what happens. A quiet console prints nothing."""

    def __init__(self, verbose: bool) -> None:
        self._notes: dict[str, None] = {}
        self._console = _Console(quiet=not verbose, highlight=False, soft_wrap=True)

    def header(self, sizes: Sizes, method: str, problem_class: str, solver: str) -> None:
        """Sizes and settings."""
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
        self._print(f"[dim]{TITLES}[/]")

    def note(self, text: str) -> None:
        """Something that happened and is worth a line, once."""
        if text not in self._notes:
            self._notes[text] = None
            self._print(text, markup=False)

    @property
    def notes(self) -> tuple[str, ...]:
        """Everything that was noted, in its order."""
        return tuple(self._notes)

    def start(self, number: int, seconds: float, objective: float, violation: float, best: float, is_new: bool) -> None:
        """The starting point itself; `best` is the best feasible objective so far, NaN for none."""
        self._line(number, 0, seconds, objective, violation, best, "", "", "start", is_new)

    def iteration(self, record: Iteration, best: float) -> None:
        """One subproblem."""
        penalty, step = f"{record.penalty:.2g}", f"{record.step:.2g}"
        values = record.start, record.number, record.seconds, record.objective, record.violation
        words = f"{record.kind}: {record.solver_status}" if record.kind else record.solver_status
        self._line(*values, best, penalty, step, words, record.is_incumbent)

    def summary(self, result: Result) -> None:
        """The closing lines."""
        # The words are measured once more, which a quiet log need not wait for.
        if not self._console.quiet:
            self._print("")
            self._print(result.summary())

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """A clock that ticks while a solver works; only on a terminal."""
        if not self._console.is_terminal or self._console.quiet:
            yield
            return
        columns = SpinnerColumn(), TextColumn("[dim]{task.description}"), TimeElapsedColumn()
        progress = Progress(*columns, console=self._console, transient=True)
        progress.add_task(what, total=None)
        self._try(progress.start)
        try:
            yield
        finally:
            self._try(progress.stop)

    def _line(
        self,
        start: int,
        number: int,
        seconds: float,
        objective: float,
        violation: float,
        best: float,
        penalty: str,
        step: str,
        solver: str,
        is_new: bool,
    ) -> None:
        shown = "-" if isnan(best) else f"{best:.9g}"
        mark = "*" if is_new else " "
        text = f"{start:>5} {number:>4}{mark} {seconds:>7.2f}s {objective:>16.9g} {violation:>10.2g} {shown:>16} {penalty:>9} {step:>9}  {solver}"
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
