"""Where the data of the experiments is. It belongs to others and is not shipped."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "DCEMBED_DATA"
BESIDE = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


def find_data_folder() -> Path | None:
    """The folder named by DCEMBED_DATA, else the one beside the repository, else None."""
    named = os.environ.get(VARIABLE)
    for folder in ([Path(named)] if named else []) + [BESIDE]:
        if folder.is_dir():
            return folder
    return None


def data_file(name: str) -> Path:
    """Path of a data file; the error says what is missing and where to put it."""
    folder = find_data_folder()
    if folder is None or not (folder / name).is_file():
        raise FileNotFoundError(f"The experiment needs {name}. Put it into a folder and set {VARIABLE} to that folder.")
    return folder / name
