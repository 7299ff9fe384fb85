"""What the command line says. A screen that is gone (a closed pipe, a full disk, another alphabet) is no reason to end a run."""

from __future__ import annotations

import os
import sys


def prepare_screen() -> None:
    """Show letters that the screen does not have by their numbers."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def say(text: str = "") -> None:
    """One line, or several, for a person; nothing where nobody listens."""
    try:
        print(text, flush=True)
    except (OSError, ValueError):
        _leave(sys.stdout)


def complain(text: str, who: str = "dcembed") -> None:
    """The one line on the error stream."""
    try:
        print(f"{who}: {text}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        _leave(sys.stderr)


def finish_screen() -> None:
    """Show what is still to be shown, so that nothing fails when the interpreter ends."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        _leave(sys.stdout)


def _leave(stream: object) -> None:
    """Whoever reads the output has had enough of it, as in `dcembed info net.onnx | head`: the rest goes nowhere."""
    try:
        number = stream.fileno()  # type: ignore[attr-defined]
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), number)
    except (OSError, ValueError, AttributeError):
        return
