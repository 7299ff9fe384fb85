"""A solver in a process of its own, for solvers that cannot be stopped from outside.

Requests and answers are npz archives behind their length in eight bytes, over pipes; nothing is pickled.
"""

from __future__ import annotations

import contextlib
import io
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import IO

import numpy as np

from dcembed.solvers.base import Limits

Arrays = dict[str, np.ndarray]

POLL_SECONDS = 0.05


class RemoteSolver:
    """A process that answers requests; it is ended when an answer would come too late and started again when needed."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, request: Arrays, limits: Limits) -> Arrays | None:
        """The answer, None if the limits came first, an empty one if the process died."""
        deadline = time.monotonic() + limits.seconds
        process = self._start()
        answers: queue.SimpleQueue[Arrays] = queue.SimpleQueue()
        threading.Thread(target=_exchange, args=(process, request, answers), daemon=True).start()
        while time.monotonic() < deadline and not limits.interrupted():
            try:
                answer = answers.get(timeout=POLL_SECONDS)
            except queue.Empty:
                continue
            if not answer:
                self.close()
            return answer
        self.close()
        return None

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]
            self._process = None

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            # In a session of its own the process does not hear the Ctrl-C meant for this one.
            command = [sys.executable, "-m", self._module]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        return self._process


def serve(solve: Callable[[Arrays], Arrays]) -> None:
    """The other side: answer requests from standard input until it closes."""
    # What the solver prints goes to standard error; the pipe is for answers.
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        while (request := _read(sys.stdin.buffer)) is not None:
            _write(answers, solve(request))


def _exchange(process: subprocess.Popen[bytes], request: Arrays, answers: queue.SimpleQueue[Arrays]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        _write(process.stdin, request)
        answers.put(_read(process.stdout) or {})
    except (OSError, ValueError):
        answers.put({})


def _write(stream: IO[bytes], arrays: Arrays) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    stream.write(len(buffer.getvalue()).to_bytes(8, "big"))
    stream.write(buffer.getvalue())
    stream.flush()


def _read(stream: IO[bytes]) -> Arrays | None:
    head = stream.read(8)
    if len(head) < 8:
        return None
    size = int.from_bytes(head, "big")
    body = stream.read(size)
    if len(body) < size:
        return None
    with np.load(io.BytesIO(body), allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}
