"""One file for arrays and a record: a zip archive of .npy members, as numpy's .npz files are, with one .json member.

Arrays are stored as they are: weights hardly shrink, and a file has to be written while a run waits.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dcembed.errors import InputError
from dcembed.importers.archives import DAMAGES, check_entries, check_file, read_array
from dcembed.reading import as_path
from dcembed.saving.packed import Packed
from dcembed.version import __version__
from dcembed.writing import write_whole

RECORD = "dcembed.json"
SUFFIX = ".npz"
# Counted up when what is in a file changes its meaning.
FORMAT = 1
# Members that a file may have: far more than any problem needs.
MOST_MEMBERS = 1_000_000


def check_target(path: Any, who: str) -> Path:
    """The path of a file that may be written: it has the suffix, and its folder is there."""
    target = as_path(path, f"{who}: path")
    if target.suffix.lower() != SUFFIX:
        raise InputError(f"{who} writes {SUFFIX} files, received the path {target}. Give it the suffix {SUFFIX}.")
    try:
        has_folder, is_folder = target.parent.is_dir(), target.is_dir()
        may_write = os.access(target if target.exists() else target.parent, os.W_OK)
    except (OSError, ValueError) as error:
        raise InputError(f"{target} cannot be written: {error}.") from None
    if not has_folder:
        raise InputError(f"{target} cannot be written: there is no folder {target.parent}. Make it first.")
    if is_folder:
        raise InputError(f"{target} cannot be written: it is a folder.")
    if not may_write:
        raise InputError(f"{target} cannot be written: no permission.")
    return target


def latest_beside(path: Path) -> Path:
    """Where a run that goes on puts its newest point, so that the problem need not be written again."""
    return path.with_name(f"{path.name}.latest")


def write_archive(path: Path, packed: Packed) -> None:
    """Write a file, whole or not at all; InputError says why it cannot be written."""
    text = json.dumps({"dcembed": __version__, "format": FORMAT, **packed.record}, allow_nan=False)
    write_whole(path, lambda stream: _write(stream, packed, text))


def _write(stream: BinaryIO, packed: Packed, text: str) -> None:
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(zipfile.ZipInfo(RECORD), text, zipfile.ZIP_DEFLATED)
        for name, array in packed.arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def read_archive(path: Path, is_wanted: Callable[[str], bool] = lambda name: True) -> Packed:
    """Read a file, or those of its arrays whose names are wanted.

    Nothing in it is believed: sizes are compared with what is there before room is made for them.
    """
    check_file(path)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            _check_members(entries, path)
            record = _read_record(archive)
            arrays = [entry for entry in entries if entry.filename.endswith(".npy") and is_wanted(entry.filename.removesuffix(".npy"))]
            return Packed({entry.filename.removesuffix(".npy"): read_array(archive, entry) for entry in arrays}, record)
    except InputError as error:
        raise InputError(f"{path} {error}") from None
    except DAMAGES as error:
        raise damaged(path, error) from error


def damaged(path: Path, error: Exception) -> InputError:
    """What is said of a file that holds something else than it should."""
    return InputError(f"{path} is damaged, or not a result that dcembed saved: {error}. Save the result again.")


def _check_members(entries: list[zipfile.ZipInfo], path: Path) -> None:
    if len(entries) > MOST_MEMBERS or len({entry.filename for entry in entries}) < len(entries):
        raise ValueError(f"it has {len(entries)} members, too many or some twice")
    check_entries(entries, path)


def _read_record(archive: zipfile.ZipFile) -> dict[str, Any]:
    """The record of a file that is ours and of a format that is known."""
    if RECORD not in archive.namelist():
        raise InputError(
            "is not a result that dcembed saved. Accepted are files of result.save(path) and of Options(checkpoint=path); "
            "networks are read by load_network."
        )
    record = json.loads(archive.read(RECORD))
    if not isinstance(record, dict):
        raise ValueError(f"{RECORD} is not an object")
    if record.get("format") != FORMAT:
        written = str(record.get("dcembed"))[:20]
        raise InputError(
            f"was saved by dcembed {written}, in a format that this version ({__version__}) does not read. Update dcembed, or save it again."
        )
    return record
