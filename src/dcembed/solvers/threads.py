"""Threads of solvers: those that are used again, and those that are left behind."""

from __future__ import annotations

import atexit
import os
import queue
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future

# How long the end of the process waits for all that was left behind.
EXIT_SECONDS = 30.0


class ReusedThreads:
    """At most so many daemon threads, for solvers that count the threads they are called in. After a fork there are new ones."""

    def __init__(self, max_threads: int) -> None:
        self._max_threads = max_threads
        self.begin()
        _all.add(self)

    def submit(self, work: Callable[[], object]) -> Future[object]:
        """Have the work done by the next thread that is free."""
        future: Future[object] = Future()
        with self._lock:
            self._num_busy += 1
            self._work.put((work, future))
            if self._num_busy > self._num_threads and self._num_threads < self._max_threads:
                self._num_threads += 1
                threading.Thread(target=self._serve, args=(self._work,), daemon=True).start()
        return future

    def begin(self) -> None:
        """Without threads and without work."""
        self._lock = threading.Lock()
        self._work: queue.SimpleQueue[tuple[Callable[[], object], Future[object]]] = queue.SimpleQueue()
        self._num_threads = self._num_busy = 0

    def _serve(self, source: queue.SimpleQueue[tuple[Callable[[], object], Future[object]]]) -> None:
        while True:
            work, future = source.get()
            try:
                result = work()
            except BaseException as error:
                self._end()
                future.set_exception(error)
            else:
                self._end()
                future.set_result(result)

    def _end(self) -> None:
        with self._lock:
            self._num_busy -= 1


_all: weakref.WeakSet[ReusedThreads] = weakref.WeakSet()
_left_behind: list[Callable[[float], object]] = []


def leave_behind(wait: Callable[[float], object]) -> None:
    """Nobody waits any more for a solver that was told to stop, apart from the end of the process: under a running one that aborts.

    `wait` waits for it for so many seconds at most.
    """
    _left_behind.append(wait)


@atexit.register
def wait_for_those_left_behind() -> None:
    """Called at the end of the process, and by whoever leaves more behind then."""
    deadline = time.monotonic() + EXIT_SECONDS
    for wait in _left_behind:
        wait(max(0.0, deadline - time.monotonic()))


def _begin_anew() -> None:
    _left_behind.clear()
    for threads in tuple(_all):
        threads.begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
