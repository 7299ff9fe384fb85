"""What is in an archive of torch, found out without torch: its list of members is looked at and nothing else."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TypeVar

Content = TypeVar("Content")


def holds_script(path: Path) -> bool:
    """Whether a file holds TorchScript, whose code is text; other files of torch are pickles."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = strip_folder(dict.fromkeys(archive.namelist()))
    except (zipfile.BadZipFile, OSError, ValueError):
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
