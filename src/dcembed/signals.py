"""Signals on the command line: SIGTERM, and the SIGHUP of a terminal that is closed, end a run as Ctrl-C does."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

# By name: not every system has all of them.
ENDINGS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def endings_as_interrupts() -> Iterator[None]:
    """Turn what is sent to end the process into a Ctrl-C. What the process was told to ignore (`nohup`) is still ignored."""
    with _handlers([number for number in ENDINGS if signal.getsignal(number) == signal.SIG_DFL], _interrupt):
        yield


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let nothing but a kill come between: for the moment in which the point is written."""
    with _handlers([signal.SIGINT, *ENDINGS], lambda number, frame: None):
        yield


def _interrupt(number: int, frame: FrameType | None) -> None:
    # Shells start what runs in the background with Ctrl-C ignored.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        raise KeyboardInterrupt
    signal.raise_signal(signal.SIGINT)


@contextmanager
def _handlers(numbers: list[signal.Signals], handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Only the main thread hears signals; elsewhere nothing is changed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, before in previous.items():
            signal.signal(number, before if before is not None else signal.SIG_DFL)
