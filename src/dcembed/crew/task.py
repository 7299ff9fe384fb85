"""A task as it travels: a function, what it needs that is large and shared by many tasks, and its own few arguments.

What is shared is sent to a process once and kept there. A task that comes to a process without it is sent again, with it.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from threadpoolctl import threadpool_limits

from dcembed.crew.exchange import Line
from dcembed.crew.pipes import pack, unpack
from dcembed.crew.watch import There

# Shared data that a process keeps, the latest.
MAX_KEPT = 4
# More than this is not sent to other processes.
MAX_BYTES = 2**28


@dataclass(frozen=True, eq=False)
class Shared:
    """What many tasks have in common."""

    value: Any

    @cached_property
    def data(self) -> bytes:
        """It as bytes."""
        return pack(self.value)

    @cached_property
    def key(self) -> str:
        """By which a process knows it again."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def obstacle(self) -> str:
        """Why it cannot travel; empty where it can."""
        try:
            size = len(self.data)
        except Exception as error:
            return f"it cannot be sent ({type(error).__name__}: {error})"
        return f"it has {size / 2**20:,.0f} MiB" if size > MAX_BYTES else ""


@dataclass(frozen=True)
class Request:
    """A task: function(shared, watch, *arguments). `data` is there the first time that shared data go to a process.

    `seconds` is how long it may take, `line` leads back to the run.
    """

    function: Callable[..., Any]
    key: str
    data: bytes | None
    arguments: tuple[Any, ...]
    seconds: float
    line: Line


@dataclass(frozen=True)
class Missing:
    """The answer of a process that does not have what is shared."""

    key: str


_kept: OrderedDict[str, Any] = OrderedDict()
# Executors of others may do several tasks of a process at a time, in threads.
_lock = threading.Lock()


def do_task(request: Request) -> Any:
    """Do a task in this process, which somebody else has sent."""
    limit_threads()
    try:
        shared = _take(request.key, request.data)
    except LookupError:
        return Missing(request.key)
    with request.line.connected() as connection:
        return request.function(shared, There(request.seconds, connection), *request.arguments)


def _take(key: str, data: bytes | None) -> Any:
    """What is shared, as it was kept or comes with a task; LookupError where it is neither."""
    with _lock:
        if key not in _kept:
            if data is None:
                raise LookupError(key)
            _kept[key] = unpack(data)
            while len(_kept) > MAX_KEPT:
                _kept.popitem(last=False)
        _kept.move_to_end(key)
        return _kept[key]


@cache
def limit_threads() -> object:
    """One thread for numerical libraries in a process that is one of many; it lasts as long as the answer is kept, which is here."""
    return threadpool_limits(limits=1)
