"""Write a file whole or not at all."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from dcembed.errors import InputError


def write_whole(path: str | Path, write: Callable[[BinaryIO], object]) -> None:
    """Let `write` fill a file next to `path`, and put it in the place of `path` when it is complete.

    What was at `path` stays as it is until then. Links are followed. A device or a pipe cannot be replaced and is written to.

    Raises
    ------
    InputError
        Naming the file, if it cannot be written.
    """
    target = Path(path).resolve()
    try:
        if _is_replaceable(target):
            _replace(target, write)
        else:
            with target.open("wb") as stream:
                write(stream)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.") from error


def write_text(path: str | Path, text: str) -> None:
    """`write_whole` of a text, in UTF-8."""
    write_whole(path, lambda stream: stream.write(text.encode("utf-8", "backslashreplace")))


def write_elsewhere(path: str | Path, write: Callable[[Path], object]) -> Path | None:
    """Let `write` fill a file of the same kind in the folder for temporary files; None if that fails as well."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="dcembed-"))
        target = folder / f"solution{Path(path).suffix}"
        write(target)
    except (OSError, InputError):
        return None
    return target


def _is_replaceable(target: Path) -> bool:
    """Whether the file can be exchanged: one that may be written in a folder that may not is written to instead."""
    is_plain = not target.exists() or stat.S_ISREG(target.stat().st_mode)
    return is_plain and os.access(target.parent, os.W_OK)


def _replace(target: Path, write: Callable[[BinaryIO], object]) -> None:
    # Unlike those of `tempfile`, the file is one that others may read if the user's files are.
    beside = target.parent / f".dcembed-{os.getpid()}-{os.urandom(4).hex()}.tmp"
    try:
        with beside.open("xb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            shutil.copymode(target, beside)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
