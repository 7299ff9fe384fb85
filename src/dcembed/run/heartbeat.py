"""A clock of its own: something is done every so often while others work."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Heartbeat:
    """Calls a function every so many seconds, in another thread, from `begin` to `end`."""

    def __init__(self, beat: Callable[[], None], seconds: float) -> None:
        self._beat, self._seconds = beat, seconds
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Begin, once."""
        if self._thread is None and not self._ended.is_set():
            self._thread = threading.Thread(target=self._go_on, name="dcembed log", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Be still; what is being done is finished."""
        self._ended.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _go_on(self) -> None:
        while not self._ended.wait(self._seconds):
            self._beat()
