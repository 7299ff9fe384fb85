"""Where the time of a run goes, without slowing it down as a tracing profiler does."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable
from types import FrameType

INTERVAL = 0.002
PACKAGE = "dcembed"


class Sampler:
    """Looks at the main thread every few milliseconds and books the time since the last look to the function of the package that is at work.

    A call into compiled code delays the look; all of its time is booked when it returns, to the function that made the call.
    """

    def __init__(self) -> None:
        self.seconds: Counter[tuple[str, str]] = Counter()

    def share(self, counts: Callable[[str, str], bool]) -> float:
        """The share of the time in functions (file, name) that count."""
        return sum(spent for place, spent in self.seconds.items() if counts(*place)) / sum(self.seconds.values())

    def __enter__(self) -> Sampler:
        self._before = signal.signal(signal.SIGALRM, self._look)
        self._last = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, INTERVAL, INTERVAL)
        return self

    def __exit__(self, *_) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, self._before)

    def _look(self, _signal: int, frame: FrameType | None) -> None:
        now = time.perf_counter()
        while frame is not None and f"/{PACKAGE}/" not in frame.f_code.co_filename:
            frame = frame.f_back
        place = (frame.f_code.co_filename, frame.f_code.co_name) if frame else ("", "")
        self.seconds[place] += now - self._last
        self._last = now
