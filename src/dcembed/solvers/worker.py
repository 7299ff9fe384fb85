"""The other side of `RemoteSession`: one session inside this process, told by messages what to do."""

from __future__ import annotations

import os
import queue
import signal
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np

from dcembed.arrays import Array
from dcembed.children import take_output
from dcembed.errors import DcembedError
from dcembed.solvers.base import Limits, Session, SessionOptions, SolverFailure
from dcembed.solvers.messages import Message, read, write
from dcembed.solvers.packing import unpack, unpack_matrix
from dcembed.solvers.table import BACKENDS


@dataclass(eq=False)
class Desk:
    """What lies before a worker: its session, what went wrong since the last solve, what came in, and the last solve to be stopped."""

    answers: IO[bytes]
    inbox: queue.SimpleQueue[Message] = field(default_factory=queue.SimpleQueue)
    session: Session | None = None
    error: Exception | None = None
    stopped: int = -1


def serve() -> None:
    """Do what standard input says until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    desk = Desk(take_output())
    write(desk.answers, Message("ready"))
    threading.Thread(target=_hear, args=(desk,), daemon=True).start()
    while True:
        message = desk.inbox.get()
        if message.kind == "solve":
            _answer(desk, message)
        else:
            _edit(desk, message)


def _hear(desk: Desk) -> None:
    """Take in messages while a solver works; a request to stop is for a solve by its number."""
    requests = os.fdopen(os.dup(0), "rb", buffering=0)
    while (message := read(requests)) is not None:
        if message.kind == "stop":
            desk.stopped = int(message.values["number"])  # type: ignore[call-overload]
        else:
            if message.kind == "open":
                # The solves of another session are counted from one again, and none of them has been stopped.
                desk.stopped = -1
            desk.inbox.put(message)
    # Nobody is there any more to hear an answer.
    os._exit(0)


def _edit(desk: Desk, message: Message) -> None:
    """Open, edit or close the session; after a failure nothing is done before that was told."""
    if message.kind == "close":
        desk.session = desk.error = None
    elif desk.error is None:
        try:
            _EDITS[message.kind](desk, message.values, message.arrays)
        except Exception as error:
            desk.error = error


def _answer(desk: Desk, message: Message) -> None:
    try:
        if desk.error is not None:
            raise desk.error
        answer = _solve(desk, message.values, message.arrays)
    except Exception as error:
        desk.session = desk.error = None
        answer = Message("error", {"type": _type(error), "text": str(error), "traceback": traceback.format_exc()})
    write(desk.answers, answer)


def _type(error: Exception) -> str:
    """What kind of error it is for the other side; empty for a mistake of ours."""
    if isinstance(error, SolverFailure | MemoryError):
        return "SolverFailure"
    return type(error).__name__ if isinstance(error, DcembedError) else ""


def _open(desk: Desk, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    options = SessionOptions(values["threads"], values["seed"], values["solver_options"], values["accuracy"])
    desk.session = BACKENDS[values["backend"]].open(unpack(arrays), options)


def _set_cost(desk: Desk, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    _session(desk).set_cost(arrays["cost"], values["offset"])


def _set_quadratic(desk: Desk, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    _session(desk).set_quadratic(unpack_matrix("matrix", arrays))


def _set_bounds(desk: Desk, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    _session(desk).set_bounds(arrays["lb"], arrays["ub"])


def _replace_rows(desk: Desk, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    matrix = unpack_matrix("matrix", arrays)
    _session(desk).replace_rows(values["first"], matrix, arrays["lb"], arrays["ub"], arrays.get("origin"))


_EDITS: dict[str, Callable[[Desk, Mapping[str, Any], Mapping[str, Array]], None]] = {
    "open": _open,
    "set_cost": _set_cost,
    "set_quadratic": _set_quadratic,
    "set_bounds": _set_bounds,
    "replace_rows": _replace_rows,
}


def _solve(desk: Desk, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> Message:
    number = values["number"]

    def report(x: Array) -> None:
        write(desk.answers, Message("found", arrays={"x": x}))
        # The other side says when it has looked at the point; until then nothing else comes in.
        desk.inbox.get()

    limits = Limits(
        values["seconds"], lambda: desk.stopped >= number, values["gap"], values["nodes"], report if values["reports"] else None
    )
    solution = _session(desk).solve(limits, arrays.get("start"), values["relax"])
    found = {"x": solution.x, "duals": solution.duals}
    head = {
        "status": solution.status.name,
        "message": solution.message,
        "gap": float(solution.gap),
        "bound": float(solution.bound),
        "pivots": solution.num_pivots,
    }
    return Message("solution", head, {name: np.asarray(array) for name, array in found.items() if array is not None})


def _session(desk: Desk) -> Session:
    assert desk.session is not None
    return desk.session
