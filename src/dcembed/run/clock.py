"""Time, Ctrl-C and requests to stop."""

from __future__ import annotations

import atexit
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from dcembed.options import Stop
from dcembed.solvers import threads
from dcembed.solvers.base import Limits
from dcembed.status import Status

# How long the end of the process waits for runs in other threads, and how often it looks at them.
EXIT_SECONDS, EXIT_POLL_SECONDS = 10.0, 0.02


class RunEnded(Exception):
    """The run must end now. Long computations raise it, and whoever loops over them answers with the best point so far."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.help)
        self.status = status


class Clock:
    """Time since the run began, time left, and whether somebody asked to stop."""

    def __init__(self, time_limit: float, asked: Stop | None = None) -> None:
        self._began = time.monotonic()
        self._time_limit = time_limit
        self._stop = threading.Event()
        # What the user stops this run with.
        self._asked = asked

    @property
    def seconds(self) -> float:
        """Time since the run began."""
        return time.monotonic() - self._began

    @property
    def is_over(self) -> bool:
        """Whether the time limit has been reached."""
        return self.seconds >= self._time_limit

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return max(0.0, self._time_limit - self.seconds)

    @property
    def is_stopped(self) -> bool:
        """Whether somebody asked to stop."""
        return self._stop.is_set() or (self._asked is not None and self._asked.is_set())

    def stop(self) -> None:
        """Ask the run to end at the next opportunity."""
        self._stop.set()

    def ended(self) -> Status | None:
        """Why the run must end now, if it must."""
        if self.is_stopped:
            return Status.INTERRUPTED
        return Status.TIME_LIMIT if self.is_over else None

    def check(self) -> None:
        """RunEnded if the run must end now; what takes long calls it between its parts."""
        if status := self.ended():
            raise RunEnded(status)

    def part(self, seconds: float) -> Clock:
        """The same clock with no more than so many seconds left."""
        part = Clock(min(self._time_limit, self.seconds + seconds), self._asked)
        part._began, part._stop = self._began, self._stop
        return part

    def limits(self, gap: float = Limits.gap) -> Limits:
        """What is left, for a solver."""
        return Limits(self.left, lambda: self.is_stopped, gap)


_running: set[Clock] = set()


def stop() -> None:
    """Ask every run in this process to end now, with its best point so far.

    It may be called from any thread, from a callback and from a signal handler. `Options(stop=...)` stops one run alone.
    """
    for clock in tuple(_running):
        clock.stop()


@contextmanager
def hear_interrupts(clock: Clock) -> Iterator[None]:
    """Let a run hear `stop` and Ctrl-C. The first Ctrl-C asks all runs to stop; a second one raises KeyboardInterrupt as usual."""
    _running.add(clock)
    try:
        with _handling_interrupts():
            yield
    finally:
        _running.discard(clock)


@dataclass(frozen=True)
class _OnInterrupt:
    """What Ctrl-C does while runs are under way, and what it did before."""

    previous: Callable[[int, FrameType | None], object] | int

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        stop()
        signal.signal(signal.SIGINT, self.previous)


@contextmanager
def _handling_interrupts() -> Iterator[None]:
    """Handle Ctrl-C, where this thread may; a run inside another leaves that to it."""
    previous = signal.getsignal(signal.SIGINT) or signal.SIG_DFL
    if threading.current_thread() is not threading.main_thread() or isinstance(previous, _OnInterrupt):
        yield
        return
    signal.signal(signal.SIGINT, _OnInterrupt(previous))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def _end_all() -> None:
    """Runs in daemon threads end before Python does: a solver that calls into it afterwards aborts the process."""
    stop()
    deadline = time.monotonic() + EXIT_SECONDS
    while _running and time.monotonic() < deadline:
        time.sleep(EXIT_POLL_SECONDS)
    threads.wait_for_those_left_behind()


atexit.register(_end_all)
if hasattr(os, "register_at_fork"):
    # The runs of other threads go on in the parent alone.
    os.register_at_fork(after_in_child=_running.clear)
