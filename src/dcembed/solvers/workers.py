"""Processes of their own for solvers that cannot be stopped from outside: they can be ended at any time.

A process is kept when its session is closed and serves the next one, since a fresh one takes most of a second to import what it needs.
Where no process can be started, problems are solved here.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import subprocess
import threading

from dcembed import children
from dcembed.children import command
from dcembed.solvers.base import SolverFailure
from dcembed.solvers.messages import Message, read, write

# Processes that wait for further sessions; a run has a few sessions open at a time.
MAX_IDLE = 3


class Worker:
    """A process that serves one session at a time. Whoever asks never waits for it: threads write and read."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._has_begun = False
        # In a session of its own the process does not hear the Ctrl-C meant for this one.
        self._process = subprocess.Popen(
            command("dcembed.solvers.worker"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
        )
        self._outgoing: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._incoming: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._write_all, self._read_all)]
        for thread in self._threads:
            thread.start()
        _alive.add(self)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def is_usable(self) -> bool:
        """Whether the process runs and is ours: after a fork it belongs to the other side."""
        return self._owner == os.getpid() and self._process.poll() is None

    def send(self, message: Message) -> None:
        """Send a message when those before it are sent; its arrays must not be changed."""
        self._outgoing.put(message)

    def receive(self, seconds: float) -> Message | None:
        """The next message, `queue.Empty` if there is none in time, None if there will be no more."""
        return self._incoming.get(timeout=seconds)

    @property
    def has_begun(self) -> bool:
        """Whether the process has told that it is there: its first message."""
        return self._has_begun

    def end(self) -> None:
        """End the process, whatever it does."""
        if self._owner != os.getpid():
            self.forget()
            return
        self._process.kill()
        self._process.wait()
        self._outgoing.put(None)
        for thread in self._threads:
            thread.join()
        self.forget()

    def forget(self) -> None:
        """Close this side of the pipes."""
        _alive.discard(self)
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]

    def _write_all(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            while (message := self._outgoing.get()) is not None:
                write(self._process.stdin, message)

    def _read_all(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(OSError, ValueError):
            while (message := read(self._process.stdout)) is not None:
                if self._has_begun:
                    self._incoming.put(message)
                self._has_begun = True
        self._incoming.put(None)


_alive: set[Worker] = set()
_idle: list[Worker] = []
# Of the process that this one was forked from; kept, so that nothing waits for them or ends them.
_inherited: list[Worker] = []


# Why no process can be started, once that has been tried.
_obstacles: list[str] = []


def can_start() -> bool:
    """Whether this process can start others, as far as is known."""
    return children.can_start() and not _obstacles


def give_up(why: str) -> None:
    """Start no more processes."""
    _obstacles.append(why)


def prepare() -> None:
    """Let a process begin, unless one waits: what it imports is there when it is needed."""
    if not any(worker.is_usable for worker in _idle):
        with contextlib.suppress(SolverFailure):
            _idle.append(hire())


def hire() -> Worker:
    """A process for a session: one that waits, or a new one."""
    while _idle:
        with contextlib.suppress(IndexError):
            worker = _idle.pop()
            if worker.is_usable:
                return worker
            worker.end()
    try:
        return Worker()
    except OSError as error:
        give_up(str(error))
        raise SolverFailure(f"no process can be started: {error}") from error


def let_go(worker: Worker) -> None:
    """A session is over: its process waits for the next one."""
    if worker.is_usable and len(_idle) < MAX_IDLE:
        worker.send(Message("close"))
        _idle.append(worker)
    else:
        worker.end()


def end_all() -> None:
    """End all processes."""
    _idle.clear()
    for worker in tuple(_alive):
        worker.end()


def _leave_to_the_parent() -> None:
    _inherited.extend(_alive)
    _idle.clear()
    for worker in tuple(_alive):
        worker.forget()


atexit.register(end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_the_parent)
