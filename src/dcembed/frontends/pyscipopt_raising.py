"""Errors of ours out of a call of SCIP's.

What a plugin raises PySCIPOpt prints and forgets, and the call that ran the plugin raises "SCIP: unspecified error!". But every call hands
SCIP's return code to PySCIPOpt's function `PY_SCIP_CALL` before it comes back. That one function is replaced, once, when the first network
is embedded. It does what it did, except in a call for which an error waits: there it raises that error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

import pyscipopt

# The frame in which SCIP was called, and what is raised there.
_WAITING: dict[FrameType, BaseException] = {}


@dataclass(frozen=True)
class ReturnCodeCheck:
    """In front of PySCIPOpt's own."""

    own: Callable[[int], Any]

    def __call__(self, code: int) -> Any:
        """Raise what waits for this call, or see what SCIP says of it."""
        error = _WAITING.pop(sys._getframe(1), None) if _WAITING else None
        if error is not None:
            raise error
        return self.own(code)


def install() -> None:
    """Put our check in place, where this version of PySCIPOpt has one."""
    own = getattr(pyscipopt.scip, "PY_SCIP_CALL", None)
    if own is not None and not isinstance(own, ReturnCodeCheck):
        pyscipopt.scip.PY_SCIP_CALL = ReturnCodeCheck(own)


def raise_in_caller(error: BaseException) -> bool:
    """Called by a method of a plugin: have the call of SCIP's that runs it raise `error` when it comes back; False where that cannot be."""
    if not isinstance(getattr(pyscipopt.scip, "PY_SCIP_CALL", None), ReturnCodeCheck):
        return False
    # PySCIPOpt has no frames of its own: behind the plugin's is the one in which SCIP was called. A thread of SCIP's has none.
    caller = sys._getframe(1).f_back
    if caller is not None:
        _WAITING[caller] = error
    return caller is not None
