"""What a task knows of the world while it works: whether it is to end, how much time is left, and what others have found."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dcembed.arrays import Array
from dcembed.crew.exchange import Connection


class Timer(Protocol):
    """A clock of a run: why it must end now, if it must, and the seconds that are left."""

    def ended(self) -> object | None:
        """Why the run must end now, None where it need not."""

    @property
    def is_stopped(self) -> bool:
        """Whether somebody asked to stop."""

    @property
    def left(self) -> float:
        """Seconds that are left."""


class Watch(Protocol):
    """What every task is given."""

    def is_over(self) -> bool:
        """Whether the task is to end now, with what it has."""

    def is_set(self) -> bool:
        """Whether somebody has asked for that, rather than the clock: as an event says it."""

    @property
    def left(self) -> float:
        """Seconds that are left."""

    @property
    def best(self) -> float:
        """The best objective that is known of, inf for none."""

    def send(self, w: Array) -> None:
        """Tell of a point that is better than what the task had met before."""


@dataclass(frozen=True, eq=False)
class Here:
    """Of a task in the process of the run itself, which hears of its points by itself."""

    timer: Timer
    best: float = np.inf

    def is_over(self) -> bool:
        """Whether the run is to end."""
        return self.timer.ended() is not None

    def is_set(self) -> bool:
        """Whether somebody asked the run to stop."""
        return self.timer.is_stopped

    @property
    def left(self) -> float:
        """Seconds that are left of the run."""
        return self.timer.left

    def send(self, w: Array) -> None:
        """Nobody else needs to know."""


class There:
    """Of a task in another process."""

    def __init__(self, seconds: float, connection: Connection) -> None:
        self._deadline, self._connection = time.monotonic() + seconds, connection

    def is_over(self) -> bool:
        """Whether the time that the task was given is over, or its work is not wanted any more."""
        return self.is_set() or self.left <= 0.0

    def is_set(self) -> bool:
        """Whether its work is not wanted any more."""
        return self._connection.is_set()

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return max(0.0, self._deadline - time.monotonic())

    @property
    def best(self) -> float:
        """What others have found."""
        return self._connection.best

    def send(self, w: Array) -> None:
        """Put the point where the run finds it."""
        self._connection.send(w)
