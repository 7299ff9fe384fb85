"""The best point of a run on disk while the run goes on, so that a run that is killed outright leaves it there.

The problem is written once, with the first point. What is better later goes into a small file beside it, which `load_result` reads too,
and at the end all is one file again where that takes no time. A thread writes: a point gets there while a solver works, and the run
does not wait for the disk.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dcembed.embedded.embedding import Embedding
from dcembed.errors import InputError
from dcembed.loading import load_earlier, rank
from dcembed.program.program import Program
from dcembed.result import Result, pack_run
from dcembed.saving.archive import check_target, latest_beside, write_archive
from dcembed.saving.embeddings import pack_embeddings
from dcembed.saving.packed import joined
from dcembed.saving.problem import fingerprint, pack_problem

# Seconds between two points on disk at least, and the share of the time that writing them may take.
LEAST_SECONDS, SHARE = 1.0, 0.01
# A problem that took longer to write is not written again at the end.
QUICK_SECONDS = 0.5
# An objective that is worse by no more, relatively, is as good.
SAME = 1e-9
WHO = "Options: checkpoint"


class Checkpoint:
    """The file of one run. What was in it before stays until the run has something that is worth its place."""

    def __init__(self, path: Path, program: Program, embeddings: Sequence[Embedding], note: Callable[[str], object]) -> None:
        self._path, self._program, self._embeddings, self._note = path, program, embeddings, note
        self._is_taken = path.exists()
        self._earlier = load_earlier(path, program, embeddings) if self._is_taken else None
        # Whether the problem of this run is in the file, how long it took to write it, and whether a feasible point is there.
        self._is_ours, self._seconds, self._has_feasible = False, 0.0, False
        self._about = ""
        self._news: Result | None = None
        self._is_over = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def hear(self, result: Result) -> None:
        """Something better than what was heard before; it is on disk soon, unless something still better is."""
        with self._changed:
            self._news = result
            self._changed.notify_all()
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="dcembed-checkpoint", daemon=True)
            self._thread.start()

    def finish(self, result: Result) -> Result:
        """Write how the run has ended. The result is returned, with a note where that failed or where a better one was there."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
        if result.x is None and result.bound == -result.program.sense * np.inf:
            return result
        words = self._try(result, is_last=True) if self._may_write(result) else f"{self._path} keeps {self._what_is_kept}."
        if not words:
            return result
        self._note(words)
        return replace(result, notes=(*result.notes, words))

    def _work(self) -> None:
        """Write what is heard, one after the other, so rarely that it costs next to nothing."""
        while (news := self._next()) is not None:
            began = time.thread_time()
            is_first = not self._is_ours
            if self._may_write(news) and (words := self._try(news)):
                self._note(f"{words} The run goes on.")
                self._hear_again(news)
            # The first one has the problem with it, which happens once.
            spent = 0.0 if is_first and self._is_ours else time.thread_time() - began
            with self._changed:
                self._changed.wait_for(self._is_urgent, max(LEAST_SECONDS, spent / SHARE))

    def _is_urgent(self) -> bool:
        """Whether there is no time to wait: the run is over, or has its first feasible point."""
        return self._is_over or (self._news is not None and self._news.is_feasible and not self._has_feasible)

    def _next(self) -> Result | None:
        """What is to be written next; None when the run is over, whose end is written by `finish`."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or self._news is not None)
            news, self._news = self._news, None
            return None if self._is_over else news

    def _hear_again(self, news: Result) -> None:
        """What could not be written is tried again, unless something better has come."""
        with self._changed:
            self._news = self._news or news

    def _may_write(self, news: Result) -> bool:
        """A file that was there gives way to a feasible point, or, if it is about the same problem, to one that is as good as its own."""
        if self._is_ours or not self._is_taken:
            return True
        return news.is_feasible if self._earlier is None else _is_as_good(news, self._earlier)

    @property
    def _what_is_kept(self) -> str:
        if self._earlier is None:
            return "a result about another problem, since this run has no feasible point"
        return (
            f"the better point of an earlier run, objective {self._earlier.objective:.9g}; load_result reads it, and start= goes on from it"
        )

    def _try(self, result: Result, is_last: bool = False) -> str:
        """Write; what went wrong, in words. It costs a note, not the run."""
        try:
            self._write(result, is_last)
            self._has_feasible = result.is_feasible
        except (InputError, OSError, MemoryError) as error:
            return f"The checkpoint is not written: {str(error) or 'out of memory.'}"
        return ""

    def _write(self, result: Result, is_last: bool) -> None:
        self._about = self._about or fingerprint(self._program, self._embeddings)
        run, latest = pack_run(result, self._about), latest_beside(self._path)
        if self._is_ours and self._path.exists() and not (is_last and self._seconds <= QUICK_SECONDS):
            write_archive(latest, run)
            return
        began = time.monotonic()
        write_archive(self._path, joined(pack_problem(self._program, self._embeddings, WHO), run))
        self._is_ours, self._seconds = True, time.monotonic() - began
        latest.unlink(missing_ok=True)


def open_checkpoint(
    path: str | Path | None, program: Program, embeddings: Sequence[Embedding], note: Callable[[str], object]
) -> Checkpoint | None:
    """The file that a run is to keep; InputError if there can be none, before the run has begun."""
    if path is None:
        return None
    target = check_target(path, WHO)
    # An activation that no file can keep is named now.
    pack_embeddings(embeddings, WHO)
    try:
        # The folder of the process may change while the run goes on.
        return Checkpoint(target.absolute(), program, embeddings, note)
    except InputError as error:
        raise InputError(f"{WHO}={str(path)!r} is not accepted: what is there stays as it is. Give another path. {error}") from error


def _is_as_good(one: Result, other: Result) -> bool:
    (kind, value), (other_kind, other_value) = rank(one), rank(other)
    return kind < other_kind or (kind == other_kind and value <= other_value + SAME * max(1.0, abs(other_value)))
