"""What processes tell one another while they work, through a folder that all of them see.

Nothing but files is needed for it, so it is the same whoever runs the tasks: processes on this machine, or machines with a common file
system. A process that does not see the folder does its task all the same and is heard when it is done.

The folder has a file `open` as long as work is wanted, a file for every task that is not, a file `best` with the objective of the best point,
and one for every better point that a task meets. What a task has written there outlives its process.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dcembed.arrays import Array

# How often a task looks at the folder.
POLL_SECONDS = 0.05


class Exchange:
    """The side of the run, whose folder is made when it is first needed."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._seen: set[str] = set()
        self._best = np.inf
        self._number = 0

    def line(self) -> Line:
        """For a further task."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="dcembed-"))
            (self._folder / "open").touch()
            _replace(self._folder / "best", np.array([self._best]))
        self._number += 1
        return Line(str(self._folder), self._number)

    def tell(self, best: float) -> None:
        """The best objective so far."""
        if best < self._best:
            self._best = best
            if self._folder is not None:
                with contextlib.suppress(OSError):
                    _replace(self._folder / "best", np.array([best]))

    def found(self) -> Iterator[tuple[int, Array]]:
        """Points that tasks have met since the last time, each with the number of the line that it came by."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
            for name in sorted(set(os.listdir(self._folder)) - self._seen):
                if name.startswith("point-"):
                    self._seen.add(name)
                    with contextlib.suppress(OSError, ValueError, EOFError):
                        yield int(name.split("-")[1]), np.load(self._folder / name, allow_pickle=False)
                    with contextlib.suppress(OSError):
                        (self._folder / name).unlink()

    def stop_one(self, number: int) -> None:
        """The task with the line of this number is not wanted any more."""
        if self._folder is not None:
            with contextlib.suppress(OSError):
                (self._folder / f"stop-{number:06d}").touch()

    def stop(self) -> None:
        """No more work is wanted: tasks that are under way end."""
        if self._folder is not None:
            with contextlib.suppress(OSError):
                (self._folder / "open").unlink()

    def close(self) -> None:
        """Leave nothing behind."""
        self.stop()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


@dataclass(frozen=True)
class Line:
    """A task's way to the folder, as it travels with the task."""

    folder: str
    number: int

    @contextlib.contextmanager
    def connected(self) -> Iterator[Connection]:
        """While the task is done."""
        connection = Connection(Path(self.folder), self.number)
        try:
            yield connection
        finally:
            connection.close()


class Connection:
    """A task's side of the folder: a thread looks at it. `is_set` says whether the task is to end, as that of an event does."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder, self._number, self._sent = folder, number, 0
        self._nonce = secrets.token_hex(4)
        self._stopped, self._closed = threading.Event(), threading.Event()
        self.best = np.inf
        self._is_seen = (folder / "best").exists()
        if self._is_seen:
            self._look()
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()

    def is_set(self) -> bool:
        """Whether the work is not wanted any more."""
        return self._stopped.is_set()

    def send(self, w: Array) -> None:
        """A point that is better than what the task had met before."""
        if self._is_seen:
            self._sent += 1
            with contextlib.suppress(OSError):
                _replace(self._folder / f"point-{self._number:06d}-{self._sent:06d}-{self._nonce}", w)

    def close(self) -> None:
        """Look no more."""
        self._closed.set()

    def _watch(self) -> None:
        while not self._closed.wait(POLL_SECONDS) and not self._stopped.is_set():
            self._look()

    def _look(self) -> None:
        if not (self._folder / "open").exists() or (self._folder / f"stop-{self._number:06d}").exists():
            self._stopped.set()
            return
        with contextlib.suppress(OSError, ValueError, EOFError):
            self.best = float(np.load(self._folder / "best", allow_pickle=False)[0])


def _replace(path: Path, array: Array) -> None:
    """Write a file whole or not at all, quickly: nobody needs it after a loss of power."""
    aside = path.with_name(f".{path.name}-{os.getpid()}-{time.monotonic_ns()}")
    with aside.open("wb") as stream:
        np.save(stream, array, allow_pickle=False)
    aside.replace(path)
