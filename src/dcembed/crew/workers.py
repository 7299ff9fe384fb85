"""A pool of processes as a `concurrent.futures.Executor`.

It needs no guard around the user's script, a process that dies costs its task alone and is replaced, and all of them can be ended at once,
whatever they do. They end with this process, too, however that ends.
"""

from __future__ import annotations

import atexit
import contextlib
import queue
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any, TypeVar

from dcembed.children import can_start
from dcembed.crew.process import Process, WorkerLost
from dcembed.errors import InputError

T = TypeVar("T")

# More than this is a mistake.
MOST = 4096
# What tasks need, which a process imports before it takes any.
PRELOADED = ("dcembed.engine.search.orders", "dcembed.engine.columns.walks", "dcembed.engine.scouting.ways_down", "dcembed.bounds.hull")


@dataclass(frozen=True, eq=False)
class _Job:
    """A task, and where its answer goes."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    future: Future[Any]


class Workers(Executor):
    """So many processes that do tasks, for `Options(executor=...)`; what is wanted again and again is kept in them.

    A process takes about a second to begin. `Options(workers=2)` begins and ends two for one run; where many runs follow one another, they
    share processes that are begun once.

    Parameters
    ----------
    num_workers
        How many.
    threads
        Threads that numerical libraries may have in each.

    Examples
    --------
    >>> import math
    >>> with Workers(1) as workers:
    ...     workers.submit(math.sqrt, 16.0).result()
    4.0
    """

    def __init__(self, num_workers: int, threads: int = 1) -> None:
        for name, number in (("num_workers", num_workers), ("threads", threads)):
            _require_count(name, number)
        self.num_workers, self._threads_each = num_workers, threads
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock, self._turn = threading.Lock(), threading.Lock()
        self._processes: set[Process] = set()
        self._is_closed = self._is_killed = False
        self._begun, self._are_all_begun, self._num_awaited = threading.Event(), threading.Event(), num_workers
        self._attendants = [threading.Thread(target=self._attend, daemon=True) for _ in range(num_workers)]
        _open.add(self)
        for thread in self._attendants:
            thread.start()

    @property
    def is_ready(self) -> bool:
        """Whether a process has begun to take tasks."""
        return self._begun.is_set()

    def wait_until_ready(self, seconds: float | None = None) -> bool:
        """Wait until all processes take tasks that can be started; whether there is one."""
        self._are_all_begun.wait(seconds)
        return self.is_ready

    @property
    def pids(self) -> list[int]:
        """The numbers of the processes that run."""
        with self._lock:
            return [process.pid for process in self._processes if process.is_alive]

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Have fn(*args) done; its module must be one that another Python can import."""
        if kwargs:
            raise TypeError("Workers.submit takes arguments by position only.")
        future: Future[T] = Future()
        with self._lock:
            if self._is_closed:
                raise RuntimeError("These workers have been shut down.")
            self._jobs.put(_Job(fn, args, future))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more tasks, and end the processes when those that were submitted are done; those not begun may be cancelled."""
        self._close(cancel_futures)
        if wait:
            self._join()

    def kill(self) -> None:
        """End all processes now; tasks that were under way are lost."""
        self._close(cancel_futures=True)
        with self._lock:
            # From here on nobody begins another one.
            self._is_killed = True
            processes = list(self._processes)
        for process in processes:
            process.kill()
        self._join()

    def _close(self, cancel_futures: bool) -> None:
        with self._lock:
            first, self._is_closed = not self._is_closed, True
        if cancel_futures:
            with contextlib.suppress(queue.Empty):
                while True:
                    job = self._jobs.get_nowait()
                    if job is not None:
                        job.future.cancel()
        if first or cancel_futures:
            for _ in self._attendants:
                self._jobs.put(None)

    def _join(self) -> None:
        for thread in self._attendants:
            thread.join()
        _open.discard(self)

    def _attend(self) -> None:
        """Keep a process, and hand one task after the other to it."""
        with self._turn:
            # One after the other: what they import takes a processor, and the run has something to do meanwhile.
            process = self._begin()
        with self._lock:
            self._num_awaited -= 1
            if self._num_awaited == 0:
                self._are_all_begun.set()
        while (job := self._jobs.get()) is not None:
            if not job.future.set_running_or_notify_cancel():
                continue
            if process is None or not process.is_alive:
                self._end(process)
                process = self._begin()
            try:
                if process is None:
                    raise WorkerLost("no worker process can be started")
                value = process.ask(job.function, job.arguments)
            except WorkerLost as error:
                self._end(process)
                process = None
                job.future.set_exception(error)
            except BaseException as error:
                job.future.set_exception(error)
            else:
                job.future.set_result(value)
        self._end(process)

    def _begin(self) -> Process | None:
        """A process that takes tasks; None where none can be started, or none is wanted any more."""
        if self._is_killed or not can_start():
            return None
        try:
            process = Process(self._threads_each)
        except OSError:
            return None
        with self._lock:
            self._processes.add(process)
            is_wanted = not self._is_killed
        try:
            if not is_wanted:
                raise WorkerLost("not wanted any more")
            process.wait_until_ready(PRELOADED)
        except WorkerLost:
            self._end(process)
            return None
        self._begun.set()
        return process

    def _end(self, process: Process | None) -> None:
        if process is not None:
            process.end()
            with self._lock:
                self._processes.discard(process)


def _require_count(name: str, number: object) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MOST:
        raise InputError(f"Workers: {name}={number!r:.60} is not accepted. Give a whole number from 1 to {MOST}.")


_open: weakref.WeakSet[Workers] = weakref.WeakSet()


@atexit.register
def _kill_all() -> None:
    for workers in tuple(_open):
        workers.kill()
