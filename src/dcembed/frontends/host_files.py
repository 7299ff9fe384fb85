"""Hosts in LP and MPS files, plain or gzipped."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from dcembed.errors import DcembedError, InputError
from dcembed.frontends.lines import LineError
from dcembed.frontends.lp_files import read_lp
from dcembed.frontends.mps_files import read_mps
from dcembed.program.program import Program

HOSTS = (".lp", ".mps", ".lp.gz", ".mps.gz")

# Model files shrink to a tenth or a thirtieth. One that grows by more than this, and to more than these bytes, is not a model.
MOST_GROWTH, ALWAYS_READ = 200, 50_000_000


def read_host(path: str | Path) -> Program:
    """Read an LP or MPS file, plain or gzipped."""
    path = Path(path)
    if not path.name.lower().endswith(HOSTS):
        raise InputError(f"{path} is not a model file by its name; accepted are {', '.join(HOSTS)}.")
    check_file(path)
    text, is_as_stored = _decode(read_bytes(path), path.suffix.lower() != ".gz")
    try:
        if path.name.lower().removesuffix(".gz").endswith(".lp"):
            return read_lp(text)
        return read_mps(text, path if is_as_stored else None)
    except LineError as error:
        raise InputError(f"{path}, {error}") from None
    except DcembedError as error:
        raise InputError(f"{path}: {error}") from None


def check_file(path: Path) -> None:
    """Raise InputError if there is nothing to read."""
    try:
        found, is_folder = path.is_file(), path.is_dir()
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be opened: {error}.") from None
    if not found:
        raise InputError(f"{path} is a folder; a file is expected." if is_folder else f"There is no file {path}.")


def read_bytes(path: Path) -> bytes:
    """What is in a file, unpacked if it is gzipped."""
    try:
        if path.suffix.lower() != ".gz":
            return path.read_bytes()
        most = max(ALWAYS_READ, MOST_GROWTH * path.stat().st_size)
        with gzip.open(path) as stream:
            content = stream.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read: {error}.") from None
    if len(content) > most:
        raise InputError(f"{path} cannot be read: {path.stat().st_size} bytes unpack to more than {most}, which no model does.")
    return content


def read_text(path: Path) -> str:
    """What is in a file as text."""
    return _decode(read_bytes(path), True)[0]


def _decode(content: bytes, is_as_stored: bool) -> tuple[str, bool]:
    """The text, in UTF-8 or else in Latin-1, in which every byte is a letter; and whether HiGHS can read the file as it is."""
    try:
        return content.decode("utf-8-sig"), is_as_stored and not content.startswith(b"\xef\xbb\xbf")
    except UnicodeDecodeError:
        return content.decode("latin-1"), False
