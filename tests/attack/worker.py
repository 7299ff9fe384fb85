"""A process of its own for what may crash or hang: the attack goes on without it."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

# Seconds in which the process must have imported what it needs; they are not the trial's.
STARTING = 100.0


class Died(Exception):
    """The process ended or had to be ended; the message says how."""


class Worker:
    """Calls a function of one name in another process, which is started again where it did not survive."""

    def __init__(self, function: Callable[[str], Any]) -> None:
        self._function = function
        self._process: Any = None
        self._pipe: Connection | None = None

    def call(self, name: str, patience: float) -> Any:
        """What the function returns; Died if it takes longer than `patience` seconds, or the process does not come back."""
        try:
            pipe = self._open()
            pipe.send(name)
            if not pipe.poll(patience):
                raise Died(f"no answer within {patience:.0f} s")
            return pipe.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self._process.join(5.0)
            raise Died(f"the process ended with {self._process.exitcode}") from None
        except Died:
            self.close()
            raise

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None

    def _open(self) -> Connection:
        if self._process is None or not self._process.is_alive():
            # Not a fork: the solvers' threads would be missing in it.
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(self._function, theirs), daemon=False)
            self._process.start()
            theirs.close()
            if self._pipe.poll(STARTING):
                self._pipe.recv()
        assert self._pipe is not None
        return self._pipe


def _serve(function: Callable[[str], Any], pipe: Connection) -> None:
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        pipe.send("ready")
        while True:
            pipe.send(function(pipe.recv()))
