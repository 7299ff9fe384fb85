"""The archives that torch writes: zip files with a folder in which everything is."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from dcembed.errors import NetworkError
from dcembed.importers.archives import ALWAYS_READ, MOST_GROWTH, strip_folder
from dcembed.importers.torch_.files.pickles import read_pickle
from dcembed.importers.torch_.files.tensors import Storage, tensor_from_bytes

# Of torch.export; the numbers are those of the format, not of torch itself.
DTYPES = {
    1: torch.uint8,
    2: torch.int8,
    3: torch.int16,
    4: torch.int32,
    5: torch.int64,
    6: torch.float16,
    7: torch.float32,
    8: torch.float64,
    12: torch.bool,
    13: torch.bfloat16,
}


# Bytes of code in one member.
MOST_TEXT = 16 * 2**20


@dataclass(frozen=True)
class Archive:
    """The members of an archive, by their names without the folder."""

    path: Path
    members: Mapping[str, bytes]

    def get(self, name: str) -> bytes:
        """The bytes of a member that has to be there."""
        if name not in self.members:
            raise NetworkError(f"{self.path} has no '{name}' in it, and should. Write it again, or check the download.")
        return self.members[name]

    def get_json(self, name: str) -> Any:
        """The data of a member that has to be there."""
        return json.loads(self.get(name))


def open_archive(path: Path) -> Archive:
    """Read all members of an archive into memory."""
    try:
        with zipfile.ZipFile(path) as archive:
            return Archive(path, _read_members(archive, path, path.stat().st_size))
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        raise NetworkError(f"{path} is not a readable archive of torch: {error}. Write it again, or check the download.") from error


def _read_members(archive: zipfile.ZipFile, path: Path, size: int) -> dict[str, bytes]:
    """All members, if they unpack to what is in proportion to the `size` of the archive."""
    infos = [info for info in archive.infolist() if not info.is_dir()]
    unpacked = sum(info.file_size for info in infos)
    if unpacked > max(ALWAYS_READ, MOST_GROWTH * size):
        raise NetworkError(
            f"{path} unpacks from {size:,} to {unpacked:,} bytes, which no trained weights do. Save the model again with torch."
        )
    return strip_folder({info.filename: _read(archive, info, path) for info in infos})


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> bytes:
    """Torch compresses text alone; what is compressed could otherwise be of any size."""
    if info.compress_type != zipfile.ZIP_STORED and info.file_size > MOST_TEXT:
        raise NetworkError(
            f"{path} holds '{info.filename}', {info.file_size:,} bytes, compressed; torch stores numbers as they are. "
            "Save the model again with torch."
        )
    return archive.read(info)


def read_nested(content: bytes, where: str) -> Any:
    """What torch.save wrote into a member: an archive in the archive, with a pickle of tensors."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = _read_members(archive, Path(where), len(content))
    except zipfile.BadZipFile as error:
        raise NetworkError(f"{where} is not what torch.save writes: {error}. Write it again.") from error
    inner = Archive(Path(where), members)
    return read_pickle(inner.get("data.pkl"), lambda key: inner.get(f"data/{key}"), where)


def read_payload(archive: Archive, folder: str, config: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """The tensors of a folder, by the names that the program has for them."""
    return {name: _payload(archive, folder, name, entry) for name, entry in config["config"].items()}


def _payload(archive: Archive, folder: str, name: str, entry: Mapping[str, Any]) -> torch.Tensor:
    content = archive.get(f"{folder}{entry['path_name']}")
    if entry["use_pickle"]:
        value = read_nested(content, f"{archive.path}, '{name}'")
        if not isinstance(value, torch.Tensor):
            raise NetworkError(f"{archive.path} holds an object '{name}' of type {type(value).__name__}; tensors are accepted.")
        return value
    meta = entry["tensor_meta"]
    sizes, strides = ([axis["as_int"] for axis in meta[key]] for key in ("sizes", "strides"))
    return tensor_from_bytes(Storage(content, read_dtype(meta["dtype"])), sizes, strides, meta["storage_offset"]["as_int"])


def read_dtype(number: int) -> torch.dtype:
    """The type of numbers that a program means."""
    if number not in DTYPES:
        raise NetworkError(f"Numbers of type {number} of torch.export are not read. Accepted are {', '.join(map(str, DTYPES.values()))}.")
    return DTYPES[number]
