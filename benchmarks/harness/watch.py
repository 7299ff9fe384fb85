"""A run that is still at its start after a while is ended before its time limit, where its method allows that."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness.metrics import LEVEL
from benchmarks.harness.outcome import check
from benchmarks.problems.instance import Instance
from dcembed import Iteration, Options

Array = np.ndarray


class Watch:
    """Looks at the points of a run until one of them is better than the best start; without one, the run is asked to end.

    It is the `stop` of the run's options: whoever hears that ends with what it has, and its sizes and bounds are known. Methods of
    dcembed tell their points through the callback, the packages of others by `offer`.

    Parameters
    ----------
    instance, best
        What is solved, and the objective of its best start; None where no start is feasible.
    seconds
        How long after `begin` a run may stay at its start; infinite for as long as it likes.
    on_begin, on_improved
        Hear that the method's own clock has begun, with fields of its record that are known by then, and that a better point than the
        start is there.
    """

    def __init__(
        self,
        instance: Instance | None = None,
        best: float | None = None,
        seconds: float = np.inf,
        on_begin: Callable[[dict[str, Any]], None] = lambda known: None,
        on_improved: Callable[[], None] = lambda: None,
    ) -> None:
        self.seconds = seconds
        self.has_stopped = False
        self._instance, self._best = instance, np.inf if best is None else best
        self._on_begin, self._on_improved = on_begin, on_improved
        self._deadline = np.inf

    @property
    def is_idle(self) -> bool:
        """Whether it will never ask a run to end, as far as is known now."""
        return not np.isfinite(self._deadline) and not np.isfinite(self.seconds)

    def begin(self, **known: Any) -> None:
        """The clock of the method begins now; what it did before is its preparation, and what is known may be said."""
        if np.isfinite(self.seconds):
            self._deadline = time.monotonic() + self.seconds
            self._on_begin(known)

    def offer(self, point: Array) -> None:
        """A point that the method claims, all columns of it; it is measured like those that it hands over at the end."""
        if self.is_idle or self._instance is None:
            return
        trace = check(self._instance, [(0.0, point)]).trace
        if trace and trace[0][1] < self._best - LEVEL * max(1.0, abs(trace[0][1])):
            self.seconds = self._deadline = np.inf
            self._on_improved()

    def hear(self, iteration: Iteration) -> None:
        """A step of a method of dcembed."""
        if iteration.is_incumbent and iteration.point is not None:
            self.offer(iteration.point)

    def is_set(self) -> bool:
        """Whether the run is to end now."""
        self.has_stopped = self.has_stopped or time.monotonic() >= self._deadline
        return self.has_stopped


def watch_of(options: Options) -> Watch:
    """The watch of a run; one that never ends it where there is none."""
    return options.stop if isinstance(options.stop, Watch) else Watch()
