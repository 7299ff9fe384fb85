"""Where the data of the experiments is. It belongs to others and is not shipped.

A file is looked for in the folder named by DCEMBED_DATA, then in ../shared/data beside the repository, then in the user's cache;
what is in none of them is downloaded into the cache from the public repository it comes from and compared with its checksum.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

VARIABLE = "DCEMBED_DATA"
BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
NEUR2SP = "khalil-research/Neur2SP", "69683ce4", "data/pp/nn_p_n1_sd7.pt"
WATER = "Opt-Mucca/PySCIPOpt-ML", "c792522b", "tests/data/water_quality.csv"
# sha256 of the bytes of W1, b1, W2, b2 (float32) one after the other.
NEUR2SP_WEIGHTS = "3ba6e58726e6af5b1831bf2683d4a5f2a7465aa0c70a3071b5a222e5a889ad53"


class MissingDataError(FileNotFoundError):
    """A file of an experiment is not here; the message says how to get it. The other experiments still run."""


@dataclass(frozen=True)
class Source:
    """A file of a public repository, its checksum if that is known as a whole, and what makes our file of it.

    Parameters
    ----------
    origin
        Repository, commit and path.
    sha256
        Of the downloaded file; None where `convert` compares what it reads.
    convert
        Writes our file (second argument) from the downloaded one (first argument); None where they are the same.
    """

    origin: tuple[str, str, str]
    sha256: str | None
    convert: Callable[[Path, Path], None] | None = None

    @property
    def urls(self) -> list[str]:
        """The pinned commit, then the newest one: the checksum tells whether it is the same file."""
        repository, commit, path = self.origin
        return [f"https://raw.githubusercontent.com/{repository}/{version}/{path}" for version in (commit, "HEAD")]


def find_data_folder() -> Path | None:
    """The folder named by DCEMBED_DATA, else the one beside the repository, else None."""
    named = os.environ.get(VARIABLE)
    for folder in ([Path(named)] if named else []) + [BESIDE]:
        if folder.is_dir():
            return folder
    return None


def data_file(name: str) -> Path:
    """Path of a data file, downloaded if need be; the error says what is missing and where to get it."""
    folder = find_data_folder()
    if folder is not None and (folder / name).is_file():
        return folder / name
    cached = cache_folder() / name
    if not cached.is_file():
        if name not in SOURCES:
            raise MissingDataError(f"The experiment needs {name}. {_ADVICE.get(name, _PUT)}")
        _download(name, SOURCES[name], cached)
    return cached


def cache_folder() -> Path:
    """Where downloads and what is trained from them are kept."""
    try:
        import pooch
    except ImportError:
        return Path.home() / ".cache" / "dcembed"
    return Path(pooch.os_cache("dcembed"))


def _download(name: str, source: Source, target: Path) -> None:
    repository, commit, path = source.origin
    by_hand = f"By hand: take {path} of github.com/{repository} (commit {commit})" + (" and convert it" if source.convert else "")
    try:
        import pooch
    except ImportError:
        raise MissingDataError(
            f"The experiment needs {name}; the download needs pooch: pip install 'dcembed[bench]'. {by_hand}. {_PUT}"
        ) from None
    reasons = []
    for url in source.urls:
        try:
            downloaded = Path(pooch.retrieve(url, source.sha256, fname=Path(path).name, path=target.parent / "downloads"))
            (source.convert or _copy)(downloaded, target)
            return
        except (OSError, ValueError) as error:
            reasons.append(f"{type(error).__name__}: {error}".splitlines()[0])
    raise MissingDataError(f"The experiment needs {name}, and the download failed ({reasons[0]}). {by_hand}. {_PUT}")


def _copy(downloaded: Path, target: Path) -> None:
    target.write_bytes(downloaded.read_bytes())


def convert_neur2sp(downloaded: Path, target: Path) -> None:
    """The four arrays of the released network. Their bytes lie in the archive as they are: nothing is unpickled."""
    shapes = {"W1": (64, 19), "b1": (64,), "W2": (1, 64), "b2": (1,)}
    with zipfile.ZipFile(downloaded) as archive:
        entries = sorted((n for n in archive.namelist() if "/data/" in n), key=lambda n: int(n.rsplit("/", 1)[1]))
        raw = [archive.read(entry) for entry in entries]
    if [len(data) for data in raw] != [4 * int(np.prod(shape)) for shape in shapes.values()]:
        raise ValueError(f"{downloaded.name} holds arrays of {[len(data) for data in raw]} bytes, not those of a 19-64-1 network")
    if hashlib.sha256(b"".join(raw)).hexdigest() != NEUR2SP_WEIGHTS:
        raise ValueError(f"the weights in {downloaded.name} are not those of the released network (checksum)")
    arrays = {name: np.frombuffer(data, dtype="<f4").reshape(shape) for (name, shape), data in zip(shapes.items(), raw, strict=True)}
    np.savez(target, **arrays, activations=np.array("relu"))


SOURCES = {
    "neur2sp_pooling_nnp.npz": Source(NEUR2SP, None, convert_neur2sp),
    "water_quality.csv": Source(WATER, "87a486d77e659b015f6736109261b244f42eb5a307bdcaab20358292c0181611"),
}
_PUT = f"Put it into a folder and set {VARIABLE} to that folder."
_ADVICE = {
    "water_classifier.npz": f"Train it with `python -m benchmarks.problems.train_water`, or set {VARIABLE} to the folder that has it."
}
