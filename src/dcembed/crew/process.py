"""A process of this one's that does tasks.

Numerical libraries in it have as many threads as they are told: workers that each take all processors stand in each other's way.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from dcembed.children import command
from dcembed.crew.pipes import pack, receive, send, unpack

# How glibc is told to keep memory that is given back, rather than to ask the system for fresh pages for every array: a process that has just begun
# spends half of its time on them otherwise. Other allocators do not listen.
MEMORY_VARIABLES = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**26)}
# How numerical libraries are told how many threads they may have.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS")


class WorkerLost(Exception):
    """The process that did a task has ended before it had an answer."""


class Process:
    """One process. `ask` waits for the answer; whoever wants it to end sooner kills it from another thread."""

    def __init__(self, threads: int = 1) -> None:
        # In a session of its own the process does not hear the Ctrl-C meant for this one.
        self._process = subprocess.Popen(
            command("dcembed.crew.serving"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            env={**MEMORY_VARIABLES, **os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads))},
        )

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def wait_until_ready(self, modules: Sequence[str] = ()) -> None:
        """Wait until it takes tasks, and has imported these modules for them; WorkerLost if it ends before."""
        self._receive()
        for name in modules:
            self.ask(import_module, (name,), is_answered=False)

    def ask(self, function: Any, arguments: tuple[Any, ...], is_answered: bool = True) -> Any:
        """What the function returns there, or raises, if that matters; WorkerLost if the process ends."""
        assert self._process.stdin is not None
        request = pack((function, arguments))
        try:
            send(self._process.stdin, request)
        except (OSError, ValueError) as error:
            raise WorkerLost(f"worker process {self.pid} has ended") from error
        succeeded, value = self._receive()
        if succeeded or not is_answered:
            return value
        raise value

    def kill(self) -> None:
        """Have the process ended; whoever waits for an answer hears of it."""
        self._process.kill()

    def end(self) -> None:
        """End the process, whatever it does, and let go of it; nobody may wait for an answer any more."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]

    def _receive(self) -> Any:
        assert self._process.stdout is not None
        try:
            data = receive(self._process.stdout)
        except (OSError, ValueError) as error:
            raise WorkerLost(f"worker process {self.pid} has ended") from error
        if data is None:
            raise WorkerLost(f"worker process {self.pid} has ended")
        return unpack(data)
