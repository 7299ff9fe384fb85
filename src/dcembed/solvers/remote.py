"""A session in another process: it is ended when an answer would come too late."""

from __future__ import annotations

import queue
import time
from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp

from dcembed import errors
from dcembed.arrays import Array
from dcembed.errors import DcembedError, InputError
from dcembed.program.program import Program
from dcembed.solvers.base import Limits, SessionOptions, Solution, SolverFailure, SolveStatus
from dcembed.solvers.messages import Message
from dcembed.solvers.packing import pack, pack_matrix
from dcembed.solvers.workers import give_up, hire, let_go

POLL_SECONDS = 0.05
# How long a solver that may have a point to show, or may keep its session, has to stop when it is asked to.
GRACE_SECONDS = 0.3


class RemoteSession:
    """One problem inside a solver elsewhere. Edits are sent at once and made there; what is wrong with them shows at the next solve.

    A session whose process is gone is lost.
    """

    def __init__(self, backend: str, program: Program, options: SessionOptions) -> None:
        self._backend = backend
        self._number = 0
        self._is_closed = False
        values = {
            "backend": backend,
            "threads": int(options.threads),
            "seed": int(options.seed),
            "accuracy": float(options.accuracy),
            "solver_options": {name: _plain(name, value) for name, value in options.solver_options.items()},
        }
        self._worker = hire()
        self._worker.send(Message("open", values, pack(program)))

    @property
    def is_lost(self) -> bool:
        """Whether it takes no more solves: it was closed, its process was ended, or belongs to the other side of a fork."""
        return self._is_closed or not self._worker.is_usable

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._worker.pid

    def set_cost(self, cost: Array, offset: float) -> None:
        """Replace the linear objective and its constant."""
        self._worker.send(Message("set_cost", {"offset": float(offset)}, {"cost": cost.copy()}))

    def set_quadratic(self, quadratic: sp.csr_array) -> None:
        """Replace the matrix of the quadratic objective."""
        self._worker.send(Message("set_quadratic", {}, pack_matrix("matrix", quadratic)))

    def set_bounds(self, lb: Array, ub: Array) -> None:
        """Replace the bounds of all columns."""
        self._worker.send(Message("set_bounds", {}, {"lb": lb.copy(), "ub": ub.copy()}))

    def replace_rows(self, first: int, matrix: sp.csr_array, lb: Array, ub: Array, origin: Array | None = None) -> None:
        """Replace the rows from number `first` to the last."""
        arrays = pack_matrix("matrix", matrix) | {"lb": lb.copy(), "ub": ub.copy()}
        self._worker.send(Message("replace_rows", {"first": int(first)}, arrays if origin is None else arrays | {"origin": origin}))

    def solve(self, limits: Limits, start: Array | None = None, relax: bool = False) -> Solution:
        """Have it solved there; the process is ended where it does not answer in time."""
        deadline = time.monotonic() + limits.seconds
        self._number += 1
        values = {
            "number": self._number,
            "seconds": float(limits.seconds),
            "gap": float(limits.gap),
            "nodes": float(limits.nodes),
            "relax": bool(relax),
            "reports": limits.on_solution is not None,
        }
        self._worker.send(Message("solve", values, {} if start is None else {"start": np.array(start)}))
        try:
            answer = self._answer(limits, deadline)
        except BaseException:
            # Whatever it was, the process is in the middle of something.
            self._lose()
            raise
        if answer is None:
            if not self._worker.has_begun:
                give_up("a process ended before it had begun")
            self._lose()
            return Solution(SolveStatus.FAILED, None, f"the process of {self._backend} died")
        if answer.kind == "error":
            self.close()
            raise _error(answer.values)
        return _solution(answer, limits)

    def close(self) -> None:
        """Give up the problem; the process waits for another one."""
        if not self._is_closed:
            self._is_closed = True
            let_go(self._worker)

    def _answer(self, limits: Limits, deadline: float) -> Message | None:
        """Wait for the answer, hand over points on the way, and ask to stop when it is time; None if the process died."""
        asked = np.inf
        while True:
            now = time.monotonic()
            if asked == np.inf and (now > deadline or limits.interrupted()):
                asked = now
                self._worker.send(Message("stop", {"number": self._number}))
            if now > asked + GRACE_SECONDS:
                self._lose()
                ended = {
                    "status": SolveStatus.INTERRUPTED.name,
                    "message": f"{self._backend} was ended",
                    "gap": 0.0,
                    "bound": -np.inf,
                    "pivots": 0,
                }
                return Message("solution", ended)
            try:
                message = self._worker.receive(POLL_SECONDS)
            except queue.Empty:
                continue
            if message is None or message.kind != "found":
                return message
            if limits.on_solution is not None:
                limits.on_solution(message.arrays["x"])
            self._worker.send(Message("go on"))

    def _lose(self) -> None:
        self._is_closed = True
        self._worker.end()


def _solution(message: Message, limits: Limits) -> Solution:
    values, arrays = message.values, message.arrays
    status = SolveStatus[str(values["status"])]
    if status is SolveStatus.INTERRUPTED and not limits.interrupted():
        # There, the end of the time is a request to stop like any other.
        status = SolveStatus.TIME_LIMIT
    gap, bound = float(str(values["gap"])), float(str(values["bound"]))
    num_pivots = int(str(values["pivots"]))
    return Solution(status, arrays.get("x"), str(values["message"]), gap, arrays.get("duals"), bound, num_pivots)


def _error(values: Mapping[str, object]) -> Exception:
    """What was raised there, to be raised here."""
    name, text = str(values["type"]), str(values["text"])
    if name == "SolverFailure":
        return SolverFailure(text)
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, DcembedError):
        return kind(text)
    return RuntimeError(f"A solver's process has made a mistake:\n{values['traceback']}")


def _plain(name: str, value: object) -> object:
    """The value of an option as Python's own type, which other processes understand."""
    plain = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, str | bool | int | float):
        raise InputError(f"Options: solver_options has {name}={value!r}. Give a number, a text or a truth value.")
    return plain
