"""The other side of `Workers`: a process that does one task after the other until nobody is there any more to hear the answer."""

from __future__ import annotations

import os
import queue
import signal
import threading
import traceback

from dcembed.children import take_output
from dcembed.crew.pipes import pack, receive, send, unpack


class TaskError(Exception):
    """What a task has raised that cannot be sent as it is: its words."""


def serve() -> None:
    """Do what comes in at standard input until it closes; the process ends then, whatever it does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = take_output()
    send(answers, pack("ready"))
    inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_hear, args=(inbox,), daemon=True).start()
    while True:
        send(answers, _answer(inbox.get()))


def _hear(inbox: queue.SimpleQueue[bytes]) -> None:
    requests = os.fdopen(os.dup(0), "rb", buffering=0)
    while (data := receive(requests)) is not None:
        inbox.put(data)
    os._exit(0)


def _answer(data: bytes) -> bytes:
    """What a task returns, or raises."""
    try:
        function, arguments = unpack(data)
        return pack((True, function(*arguments)))
    except BaseException as error:
        return _raised(error)


def _raised(error: BaseException) -> bytes:
    """The error itself where it can be sent and read, else what it says."""
    try:
        data = pack((False, error))
        unpack(data)
    except Exception:
        return pack((False, TaskError("".join(traceback.format_exception(error)))))
    return data
