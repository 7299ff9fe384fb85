"""Zip archives from elsewhere: what they unpack to stays in proportion to their size, and what is broken in them has a name."""

from __future__ import annotations

import io
import math
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from dcembed.arrays import Array
from dcembed.errors import InputError

Content = TypeVar("Content")

# Weights hardly shrink. A file that grows by more than this, and to more than these bytes, holds no trained network.
MOST_GROWTH, ALWAYS_READ = 200, 50_000_000

# What zipfile, zlib and numpy raise over bytes that are not what they should be.
DAMAGES = (
    OSError,
    ValueError,
    EOFError,
    KeyError,
    TypeError,
    AttributeError,
    IndexError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    SyntaxError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


def check_file(path: Path) -> None:
    """Raise InputError if there is no file that could be read."""
    try:
        is_file, is_folder = path.is_file(), path.is_dir()
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be opened: {error}.") from None
    if is_folder:
        raise InputError(f"{path} is a folder; the path of a file is expected.")
    if not is_file:
        raise InputError(f"There is no file {path}. Check the path; it is relative to {Path.cwd()}.")


def most_unpacked(path: Path) -> int:
    """How many bytes a file may unpack to."""
    return max(ALWAYS_READ, MOST_GROWTH * path.stat().st_size)


def check_growth(size: int, path: Path) -> None:
    """Raise ValueError if a file would unpack to so many bytes as no trained weights do."""
    if size > most_unpacked(path):
        raise ValueError(f"its {path.stat().st_size} bytes unpack to {size}, which no trained weights do")


def check_entries(entries: Sequence[zipfile.ZipInfo], path: Path) -> None:
    """Raise ValueError if these entries are packed in an unusual way, or unpack to too much."""
    check_growth(sum(entry.file_size for entry in entries), path)
    for entry in entries:
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{entry.filename} is packed in a way that numpy does not use")


def read_array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Array:
    """One array. What its head claims is compared with what is there before room is made for it."""
    return parse_array(archive.read(entry), entry.filename)


def parse_array(content: bytes, name: str) -> Array:
    """The array of an .npy file, or of a member of an archive, which messages call by this name."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    read_head = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    with warnings.catch_warnings():
        # Of a head that is not quite right it says that Python 2 wrote it.
        warnings.simplefilter("ignore")
        shape, _, kind = read_head(stream)
    claimed, there = math.prod(shape) * kind.itemsize, len(content) - stream.tell()
    if kind.hasobject or min(shape, default=1) < 0 or claimed != there:
        raise ValueError(f"{name} says it is {kind} of shape {shape}, which is {claimed} bytes, but {there} are there")
    stream.seek(0)
    array: Array = np.lib.format.read_array(stream, allow_pickle=False)
    return array


def holds_script(path: Path) -> bool:
    """Whether a file holds TorchScript, whose code is text; other files of torch are pickles."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = strip_folder(dict.fromkeys(archive.namelist()))
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        # The last of these is what zipfile says of a version that it does not know.
        return False
    return "data.pkl" in members and "constants.pkl" in members and any(name.startswith("code/") for name in members)


def strip_folder(members: dict[str, Content]) -> dict[str, Content]:
    """Members by their names without the folder in which torch puts all of them.

    Examples
    --------
    >>> strip_folder({"net/data.pkl": 1, "net/data/0": 2})
    {'data.pkl': 1, 'data/0': 2}
    """
    folders = {name.partition("/")[0] for name in members if "/" in name}
    if len(folders) != 1 or any("/" not in name for name in members):
        return members
    return {name.partition("/")[2]: content for name, content in members.items()}
