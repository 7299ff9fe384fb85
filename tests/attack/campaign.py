"""An attack for some time: trial after trial in a process of its own, with what fails written down at once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from .worker import Died, Worker


class Trial(Protocol):
    """What every trial has: a name that makes it again, and what went wrong, by kind of fault."""

    @property
    def name(self) -> str: ...

    @property
    def faults(self) -> dict[str, str]: ...


@dataclass(frozen=True, eq=False)
class Attack:
    """One kind of attack.

    Parameters
    ----------
    title
        What tables call it.
    names
        Of trials, without end, by a seed.
    attempt
        Makes the trial of a name.
    patience
        Seconds after which a trial counts as hanging.
    summarize
        The lines of the final table: a label and a value each.
    """

    title: str
    names: Callable[[int], Iterator[str]]
    attempt: Callable[[str], Any]
    patience: float
    summarize: Callable[[Sequence[Any]], list[tuple[str, str]]]


@dataclass
class Campaign:
    """What has been tried, and what did not survive."""

    attack: Attack
    trials: list[Any] = field(default_factory=list)
    dead: list[tuple[str, str]] = field(default_factory=list)

    def run(self, seconds: float, seed: int, failures: Path, show: Callable[[str], None]) -> None:
        """Trial after trial until the time is over."""
        worker, end = Worker(self.attack.attempt), time.monotonic() + seconds
        try:
            for name in self.attack.names(seed):
                if time.monotonic() >= end:
                    return
                faults = self._try(worker, name)
                if faults:
                    write_down(failures, name, faults)
                wrong = sum(bool(trial.faults) for trial in self.trials) + len(self.dead)
                show(f"{self.attack.title}: {len(self.trials) + len(self.dead)} tried, {wrong} with faults, last {name}")
        finally:
            worker.close()

    def lines(self) -> list[tuple[str, str]]:
        """Of the final table."""
        crashes = ", ".join(f"{name} ({why})" for name, why in self.dead)
        return [*self.attack.summarize(self.trials), ("crashes and hangs", f"{len(self.dead)} {crashes}".strip())]

    def _try(self, worker: Worker, name: str) -> dict[str, str]:
        try:
            trial = worker.call(name, self.attack.patience)
        except Died as died:
            self.dead.append((name, str(died)))
            return {"crash": str(died)}
        self.trials.append(trial)
        return dict(trial.faults)


def write_down(failures: Path, name: str, faults: dict[str, str]) -> None:
    """Add a line: the name that makes the trial again, and what went wrong."""
    with failures.open("a") as file:
        file.write(json.dumps({"name": name, "faults": faults}) + "\n")
