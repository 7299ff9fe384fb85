"""A function in a process of its own: its answer, its peak memory, and an end to it when it takes too long."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

POLL_SECONDS = 0.1
# How often memory is looked at: all processes of the system are gone through for it, some milliseconds each time.
MEMORY_SECONDS = 0.5
# How long a process that has been told to end may take to die.
DEATH_SECONDS = 5.0


@dataclass(frozen=True)
class Report:
    """What became of a process.

    Parameters
    ----------
    answer
        What the function returned; None if it did not.
    failure
        "crashed" or "killed"; None if there is an answer.
    note
        What went wrong, in one line.
    memory
        Peak resident memory in MiB of the process and those it started, up to the moment the function said it was done.
    seconds
        How long the process lived.
    """

    answer: Any
    failure: str | None
    note: str
    memory: float
    seconds: float


@dataclass(frozen=True)
class Line:
    """What a function in a process of its own says before it answers: `send` takes a word and a value. Nobody hears it by default."""

    send: Callable[[str, Any], None] = lambda word, value: None

    def done(self) -> None:
        """The end of what is measured."""
        self.send("memory", peak_memory())

    def promise(self, answer: Any, seconds: float) -> None:
        """This is the answer, and the end of the process, unless more is heard of it within so many seconds."""
        self.send("promise", (answer, seconds))

    def go_on(self) -> None:
        """What was promised does not count any more."""
        self.send("more", None)


def run_apart(function: Callable[[Any, Line], Any], argument: Any, limit: float, stop: threading.Event | None = None) -> Report:
    """Call function(argument, line) in a fresh process; `line.done()` marks the end of what is measured.

    Parameters
    ----------
    function
        A function of a module, with an answer made of plain values.
    limit
        Seconds after which the process and all it started are killed.
    stop
        Kills them as soon as it is set.
    """
    _allow_children()
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(function, argument, theirs, os.getpid()), daemon=False)
    began = time.monotonic()
    process.start()
    theirs.close()
    memory, messages = _wait(process, ours, began + limit, stop or threading.Event())
    seconds = time.monotonic() - began
    _end(process)
    memory = max([memory, *(value for kind, value in messages if kind == "memory")])
    final = next(((kind, value) for kind, value in messages if kind in ("answer", "error")), None)
    if final is None:
        over = seconds >= limit
        note = f"still running after {limit:.0f} s" if over else f"the process died with exit code {process.exitcode}"
        return Report(None, "killed" if over else "crashed", note, memory, seconds)
    kind, value = final
    return Report(value, None, "", memory, seconds) if kind == "answer" else Report(None, "crashed", value, memory, seconds)


def _allow_children() -> None:
    """Daemons, as Dask's workers are, may start no processes, lest these be left behind; those from here end with whoever began them."""
    this = multiprocessing.current_process()
    if this.daemon:
        this.daemon = False


def _wait(process, connection: Connection, deadline: float, stop: threading.Event) -> tuple[float, list[tuple[str, Any]]]:
    """Messages of the process until its last one, its end or the deadline, and the most memory that was seen on the way."""
    memory, messages, measuring, looked = 0.0, [], True, 0.0
    promised, due = None, deadline
    while time.monotonic() < deadline and not stop.is_set():
        if time.monotonic() >= due:
            messages.append(("answer", promised))
            break
        try:
            if connection.poll(POLL_SECONDS):
                word, value = connection.recv()
                messages.append((word, value))
                promised, due = (value[0], time.monotonic() + value[1]) if word == "promise" else (None, deadline)
                measuring = measuring and word != "memory"
                if word in ("answer", "error"):
                    break
        except (EOFError, OSError):
            break
        if measuring and time.monotonic() - looked >= MEMORY_SECONDS:
            memory, looked = max(memory, _resident(process.pid)), time.monotonic()
    return memory, messages


def _end(process) -> None:
    """Make sure that nothing of the process is left."""
    process.join(0.5)
    # The child leads a group of its own, which the solvers it started are in: those too whose parent is gone. A child that has only just
    # begun does not yet.
    left = _family(process.pid)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for each in left:
        with contextlib.suppress(psutil.Error):
            each.kill()
    process.join(DEATH_SECONDS)


def _child(function: Callable, argument: Any, connection: Connection, parent: int) -> None:
    os.setsid()
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    # What methods print belongs to nobody here.
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    os.dup2(sys.stdout.fileno(), 1)
    lock, said = threading.Lock(), set()

    def send(word: str, value: Any) -> None:
        # The end of what is measured is said once; solvers may speak in threads of their own.
        with lock:
            if word not in said or word != "memory":
                connection.send((word, value))
            said.add(word)

    line = Line(send)
    try:
        answer = ("answer", function(argument, line))
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        answer = ("error", f"{type(error).__name__}: {error} ({Path(place.filename).name}, line {place.lineno})".replace("\n", " "))
    # Nobody listens any more if the harness has been ended.
    with contextlib.suppress(BrokenPipeError):
        line.done()
        line.send(*answer)
        connection.close()


def _end_with(parent: int) -> None:
    """End this process and all it started when the harness is gone, however it went."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os.killpg(0, signal.SIGKILL)


def peak_memory() -> float:
    """Peak resident memory of this process in MiB.

    The kernel's figure for the address space where there is one, which psutil does not tell: the portable one counts the process that
    started this one too.
    """
    with contextlib.suppress(OSError, StopIteration):
        line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 2**10
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _resident(root: int) -> float:
    """Resident memory in MiB of a process and all below it."""
    total = 0
    for each in _family(root):
        with contextlib.suppress(psutil.Error):
            total += each.memory_info().rss
    return total / 2**20


def _family(root: int) -> list[psutil.Process]:
    """A process and all below it that still run."""
    try:
        first = psutil.Process(root)
        return [first, *first.children(recursive=True)]
    except psutil.Error:
        return []
