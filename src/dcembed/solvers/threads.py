"""Threads that are used again, for solvers that count the threads they have been called in."""

from __future__ import annotations

import atexit
import os
import queue
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, wait

# How long the end of the process waits for work that was told to stop: ending it under a running solver may abort it.
EXIT_SECONDS = 10.0


class ReusedThreads:
    """At most so many daemon threads. After a fork, which leaves all threads behind, there are new ones."""

    def __init__(self, max_threads: int) -> None:
        self._max_threads = max_threads
        self._begin()
        _all.add(self)

    def submit(self, work: Callable[[], object]) -> Future[object]:
        """Have the work done by the next thread that is free."""
        future: Future[object] = Future()
        with self._lock:
            self._under_way.add(future)
            self._work.put((work, future))
            if len(self._under_way) > self._num_threads and self._num_threads < self._max_threads:
                self._num_threads += 1
                threading.Thread(target=self._serve, args=(self._work,), daemon=True).start()
        return future

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._work: queue.SimpleQueue[tuple[Callable[[], object], Future[object]]] = queue.SimpleQueue()
        self._under_way: set[Future[object]] = set()
        self._num_threads = 0

    def _serve(self, source: queue.SimpleQueue[tuple[Callable[[], object], Future[object]]]) -> None:
        while True:
            work, future = source.get()
            try:
                result = work()
            except BaseException as error:
                self._end(future)
                future.set_exception(error)
            else:
                self._end(future)
                future.set_result(result)

    def _end(self, future: Future[object]) -> None:
        with self._lock:
            self._under_way.discard(future)


_all: weakref.WeakSet[ReusedThreads] = weakref.WeakSet()


@atexit.register
def _wait_for_all() -> None:
    for threads in tuple(_all):
        wait(tuple(threads._under_way), EXIT_SECONDS)


def _begin_anew() -> None:
    for threads in tuple(_all):
        threads._begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
