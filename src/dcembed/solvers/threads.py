"""Threads that are used again, for solvers that count the threads they have been called in."""

from __future__ import annotations

import atexit
import os
import queue
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, wait

# How long the end of the process waits for work that was left behind: ending it under a running solver may abort it.
EXIT_SECONDS = 10.0


class ReusedThreads:
    """At most so many daemon threads. After a fork, which leaves all threads behind, there are new ones."""

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

    def leave_behind(self, future: Future[object]) -> None:
        """Nobody waits any more for work that was told to stop, apart from the end of the process."""
        self._left_behind.append(future)

    def wait(self, seconds: float) -> None:
        """Wait for what was left behind."""
        wait(self._left_behind, seconds)

    def begin(self) -> None:
        """Without threads and without work."""
        self._lock = threading.Lock()
        self._work: queue.SimpleQueue[tuple[Callable[[], object], Future[object]]] = queue.SimpleQueue()
        self._left_behind: list[Future[object]] = []
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


@atexit.register
def _wait_for_all() -> None:
    for threads in tuple(_all):
        threads.wait(EXIT_SECONDS)


def _begin_anew() -> None:
    for threads in tuple(_all):
        threads.begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
