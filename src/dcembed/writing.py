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

# Where Linux gives a name to a file that has none.
_DESCRIPTORS = Path("/proc/self/fd")


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
        nameless = _open_nameless(target.parent)
        if nameless is None or not _fill(nameless, write, beside):
            _fill(beside.open("xb"), write)
        if target.exists():
            shutil.copymode(target, beside)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def _fill(stream: BinaryIO, write: Callable[[BinaryIO], object], name: Path | None = None) -> bool:
    """Write a file to the disk, and give it its name if it has none yet; whether it has one."""
    with stream:
        write(stream)
        stream.flush()
        os.fsync(stream.fileno())
        return name is None or _link(stream.fileno(), name)


def _open_nameless(folder: Path) -> BinaryIO | None:
    """A file without a name, so that a process that is killed while it writes leaves nothing; None where the system has no such files."""
    if not hasattr(os, "O_TMPFILE") or not _DESCRIPTORS.is_dir():
        return None
    try:
        return os.fdopen(os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666), "wb")
    except OSError:
        return None


def _link(descriptor: int, name: Path) -> bool:
    """Give a name to an open file that has none; whether the system allows it."""
    # Only with a descriptor for the folder does Python follow the link in /proc to the file itself.
    folder = os.open(_DESCRIPTORS, os.O_RDONLY)
    try:
        os.link(str(descriptor), name, src_dir_fd=folder, follow_symlinks=True)
    except OSError:
        return False
    finally:
        os.close(folder)
    return True
