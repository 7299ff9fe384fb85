"""Who does the work: this process alone, or others beside it.

Methods hand independent work to a crew without knowing who is in it. Others are called once a run has taken a while: what is done sooner
than a process begins is done here. Work is cut into the same parts for every crew, so that the results are the same, too.

A task is a function at the top of a module of ours: function(shared, watch, *part).
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from dataclasses import dataclass
from typing import Any

from dcembed.crew.exchange import Exchange
from dcembed.crew.process import WorkerLost
from dcembed.crew.task import Request, Shared, do_task
from dcembed.crew.watch import Timer
from dcembed.crew.workers import Workers

# A run that has taken so many seconds calls for others.
CALL_SECONDS = 0.6
# How long tasks that are told to stop may take for it before their processes are ended, or are left alone where they are not ours.
GRACE_SECONDS = 0.4
POLL_SECONDS = 0.02

# Tasks at a time of an executor that does not say how many it does.
DEFAULT_CAPACITY = 2

Task = Callable[..., Any]
Part = tuple[Any, ...]


def _say_nothing(text: str) -> None:
    """Nobody listens."""


@dataclass(frozen=True, eq=False)
class Errand:
    """A task that is under way in another process; `number` is that of its line."""

    number: int
    function: Task
    shared: Shared
    part: Part
    future: Future[Any]
    num_tries: int = 1


class Crew:
    """The process of the run, and others if there are any.

    Parameters
    ----------
    size
        How many tasks are done at a time; 1 for this process alone.
    executor
        Who does them; None for processes of our own, which are begun when they are needed and ended with the crew.
    note
        Hears what a person should know.
    """

    def __init__(self, size: int = 1, executor: Executor | None = None, note: Callable[[str], None] = _say_nothing) -> None:
        self.size, self.note = size, note
        self._executor, self._is_ours = executor, executor is None
        self._began = time.monotonic()
        self._lock, self._is_closed = threading.Lock(), False
        self._timer: threading.Timer | None = None
        self._num_sent: dict[str, int] = {}
        self._futures: set[Future[Any]] = set()
        self._refused: set[str] = set()
        self.exchange = Exchange()

    @property
    def is_alone(self) -> bool:
        """Whether nobody else is or will be there."""
        return self.size <= 1

    def is_there(self) -> bool:
        """Whether others can be given work now. Where the run has taken a while, they are called."""
        if self.is_alone or time.monotonic() - self._began < CALL_SECONDS:
            return False
        self._call()
        return not isinstance(self._executor, Workers) or self._executor.is_ready

    def expect(self) -> None:
        """Call others as soon as the run has taken a while, whatever it does then."""
        if not self.is_alone and self._executor is None:
            self._timer = threading.Timer(CALL_SECONDS, self._call)
            self._timer.daemon = True
            self._timer.start()

    def _call(self) -> None:
        with self._lock:
            if self._executor is None and not self._is_closed:
                self._executor = Workers(self.size)

    def send(self, function: Task, shared: Shared, part: Part, timer: Timer, num_tries: int = 1) -> Errand | None:
        """Have a task done beside this process, sent with what is shared as long as there may be a process without it; None if nobody takes it."""
        if self._executor is None:
            return None
        number = self._num_sent.get(shared.key, 0)
        data = shared.data if num_tries > 1 or number < self.size else None
        try:
            line = self.exchange.line()
            future = self._executor.submit(do_task, Request(function, shared.key, data, part, timer.left, line))
        except (RuntimeError, OSError) as error:
            self.give_up(error)
            return None
        self._num_sent[shared.key] = number + 1
        self._futures = {each for each in self._futures if not each.done()} | {future}
        return Errand(line.number, function, shared, part, future, num_tries)

    def send_again(self, errand: Errand, timer: Timer) -> Errand | None:
        """The same task once more, with what is shared."""
        return self.send(errand.function, errand.shared, errand.part, timer, errand.num_tries + 1)

    def call_back(self, errand: Errand) -> None:
        """Nobody waits for an errand any more."""
        errand.future.cancel()
        self.exchange.stop_one(errand.number)

    def can_send(self, shared: Shared) -> bool:
        """Whether shared data can travel; where they cannot, that is said once."""
        if shared.obstacle and shared.obstacle not in self._refused:
            self._refused.add(shared.obstacle)
            self.note(f"work stays in this process: {shared.obstacle}.")
        return not shared.obstacle

    def give_up(self, error: BaseException) -> None:
        """Nobody else takes work any more."""
        if not self.is_alone:
            self.note(f"the executor takes no more work ({type(error).__name__}: {error}); going on in this process.")
            self.size = 1

    def close(self) -> None:
        """End all tasks, ours with their processes; those that are under way have a moment for it."""
        with self._lock:
            self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self.exchange.stop()
        for future in self._futures:
            future.cancel()
        deadline = time.monotonic() + GRACE_SECONDS
        while any(not future.done() for future in self._futures) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        if self._is_ours and isinstance(self._executor, Workers):
            self._executor.kill()

    @property
    def are_busy(self) -> bool:
        """Whether all of the others have something to do."""
        return sum(not future.done() for future in self._futures) >= self.size

    def take_back(self, errand: Errand) -> bool:
        """Whether nobody has begun an errand, and nobody will. Of executors of others that is not known."""
        return isinstance(self._executor, Workers) and errand.future.cancel()

    def answer(self, errand: Errand, seconds: float) -> Any:
        """What comes of an errand: its answer, or the error that it ended with; None if there is nothing yet after so many seconds."""
        try:
            return errand.future.result(timeout=seconds)
        except CancelledError as error:
            return WorkerLost(f"a task was cancelled: {error}")
        except Exception as error:
            # A task may end with the same error as one that waits too long.
            return error if errand.future.done() else None

    def hear_of(self, error: BaseException) -> None:
        """What is said of an error, and whether it is the end of the executor."""
        if isinstance(error, BrokenExecutor):
            self.give_up(error)
        elif is_accident(error):
            self.note(f"{error}; what it did is done again.")


def is_accident(error: object) -> bool:
    """Whether a process has ended that did a task; Dask has a name of its own for it."""
    return isinstance(error, WorkerLost) or type(error).__name__ == "KilledWorker"


@contextlib.contextmanager
def open_crew(size: int | None, executor: Executor | None, note: Callable[[str], None]) -> Iterator[Crew]:
    """A crew for a run, of this process alone where nothing else is said; nobody of ours is left behind."""
    crew = Crew(size or (1 if executor is None else capacity(executor)), executor, note)
    crew.expect()
    try:
        yield crew
    finally:
        crew.close()
        crew.exchange.close()


def capacity(executor: Executor) -> int:
    """How many tasks an executor does at a time, as far as it says."""
    for name in ("num_workers", "_max_workers"):
        number = getattr(executor, name, None)
        if isinstance(number, int) and number > 0:
            return number
    # That of Dask knows its client.
    client = getattr(executor, "_client", None)
    with contextlib.suppress(Exception):
        return max(1, sum(client.nthreads().values()))  # type: ignore[union-attr]
    return DEFAULT_CAPACITY
