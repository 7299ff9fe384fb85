"""Where the lines of a log go: a screen, a file, Python's logging.

What cannot be written (a closed pipe, a full disk) falls silent, and the run goes on. Several threads may speak.
"""

from __future__ import annotations

import logging
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

from rich.console import Console

from dcembed.errors import InputError

# No line is longer.
WIDTH = 79
LOGGER = logging.getLogger("dcembed")


class _Console(Console):
    """A console that falls silent where its output goes nowhere, instead of ending the run."""

    def on_broken_pipe(self) -> None:
        """Whoever read the output has had enough of it."""
        self.quiet = True


_QUIET = _Console(quiet=True)


def fold(text: str, indent: int = 2) -> str:
    """The text in lines of at most 79 letters; what does not fit goes on, indented, in the next. A word is never broken.

    Examples
    --------
    >>> print(fold("Point       " + "word " * 16, indent=12))
    Point       word word word word word word word word word word word word word
                word word word
    """
    folded = []
    for line in text.splitlines():
        begin = line[: len(line) - len(line.lstrip())]
        rest = textwrap.wrap(line, WIDTH, subsequent_indent=begin + " " * indent, break_long_words=False, break_on_hyphens=False)
        folded.extend([line] if len(line) <= WIDTH else rest)
    return "\n".join(folded)


class Voice:
    """Says lines to everyone who listens."""

    def __init__(self, to_screen: bool, log_file: str | Path | None = None) -> None:
        # To make one takes as long as a small master.
        self.console = _open_console() if to_screen else _QUIET
        self._file = None if log_file is None else _open_file(Path(log_file))
        self._collects = LOGGER.isEnabledFor(logging.INFO) and LOGGER.hasHandlers()
        self._lock = threading.RLock()

    @property
    def is_silent(self) -> bool:
        """Whether nobody listens."""
        return self.console.quiet and self._file is None and not self._collects

    @property
    def is_live(self) -> bool:
        """Whether a person looks at a terminal."""
        return not self.console.quiet and self.console.is_terminal

    def say(self, text: str, style: str = "") -> None:
        """A line, or several; the style is for the screen alone."""
        if self.is_silent:
            return
        with self._lock:
            if not self.console.quiet:
                self.attempt(lambda: self.console.print(_shown_in(text, self.console.encoding), style=style, markup=False))
            if self._file is not None:
                self._write(text)
            if self._collects:
                for line in filter(None, text.splitlines()):
                    LOGGER.info(line)

    def attempt(self, show: Callable[[], object]) -> None:
        """Show something on the screen, which falls silent where it cannot."""
        try:
            show()
        except (OSError, ValueError):
            self.console.quiet = True

    def close(self) -> None:
        """Leave the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, text: str) -> None:
        assert self._file is not None
        try:
            self._file.write(text + "\n")
            self._file.flush()
        except (OSError, ValueError):
            self._file = None


def _open_console() -> Console:
    """The screen. In a notebook it is the one text area of a cell: rich would make an area of every line."""
    console = _Console(highlight=False, soft_wrap=True)
    return _Console(highlight=False, soft_wrap=True, force_jupyter=False, force_terminal=False) if console.is_jupyter else console


def _open_file(path: Path) -> IO[str]:
    try:
        return open(path, "a", encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"Options: log_file={str(path)!r} cannot be written: {error.strerror or error}. Give a file in a folder that is there."
        ) from None


def _shown_in(text: str, encoding: str) -> str:
    """The text with letters that the screen does not have by their numbers."""
    return text.encode(encoding, "backslashreplace").decode(encoding)
