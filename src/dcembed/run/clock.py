"""Time and Ctrl-C."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from dcembed.result import Status
from dcembed.solvers.base import Limits


class RunEnded(Exception):
    """The run must end now. Long computations raise it, and whoever loops over them answers with the best point so far."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.value)
        self.status = status


class Clock:
    """Time since the run began, time left, and whether somebody asked to stop."""

    def __init__(self, time_limit: float) -> None:
        self._began = time.monotonic()
        self._time_limit = time_limit
        self._stop = threading.Event()

    @property
    def seconds(self) -> float:
        """Time since the run began."""
        return time.monotonic() - self._began

    @property
    def is_over(self) -> bool:
        """Whether the time limit has been reached."""
        return self.seconds >= self._time_limit

    @property
    def is_stopped(self) -> bool:
        """Whether somebody asked to stop."""
        return self._stop.is_set()

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

    def limits(self, gap: float = Limits.gap) -> Limits:
        """What is left, for a solver."""
        return Limits(max(0.0, self._time_limit - self.seconds), self._stop.is_set, gap)


@contextmanager
def hear_interrupts(clock: Clock) -> Iterator[None]:
    """Turn the first Ctrl-C into a request to stop; a second one raises KeyboardInterrupt as usual."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.getsignal(signal.SIGINT) or signal.SIG_DFL

    def on_interrupt(signum: int, frame: FrameType | None) -> None:
        clock.stop()
        signal.signal(signal.SIGINT, previous)

    signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
