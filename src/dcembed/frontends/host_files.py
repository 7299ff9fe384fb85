"""Hosts in LP and MPS files, plain or gzipped. HiGHS reads them; names that it does not take are replaced on the way and put back."""

from __future__ import annotations

import gzip
import re
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.errors import DcembedError, InputError
from dcembed.frontends.lp_names import replace_names
from dcembed.program.nonconvex import split_quadratic
from dcembed.program.program import Program

HOSTS = (".lp", ".mps", ".lp.gz", ".mps.gz")

# Sections that no Program can be made of. HiGHS refuses some of them without saying which, so the file is looked at first.
REFUSED = {
    "INDICATORS": "indicator constraints",
    "QCMATRIX": "quadratic constraints",
    "CSECTION": "cone constraints",
    "SOS": "special ordered sets",
    "SOS1": "special ordered sets",
    "SOS2": "special ordered sets",
    "GENCONS": "general constraints",
    "PWLOBJ": "a piecewise-linear objective",
}
# Words that a line of an MPS file has at least. HiGHS may read on without end where some are missing.
LEAST_WORDS = {"ROWS": 2, "COLUMNS": 3, "RHS": 2, "RANGES": 2, "BOUNDS": 2, "QUADOBJ": 3, "QMATRIX": 3, "QSECTION": 3}
# Names that begin a section; whatever else stands at the beginning of a line is part of the one before.
SECTIONS = {"NAME", "OBJSENSE", "OBJNAME", "USERCUTS", "LAZYCONS", "ENDATA", *LEAST_WORDS, *REFUSED}
REMEDY = "Write them as linear rows (indicators with a big M), or build the model in a tool that dcembed has a front end for."

# Model files shrink to a tenth or a thirtieth. One that grows by more than this, and to more than these bytes, is not a model.
MOST_GROWTH, ALWAYS_READ = 200, 50_000_000


def read_host(path: str | Path) -> Program:
    """Read an LP or MPS file, plain or gzipped."""
    path = Path(path)
    if not path.name.lower().endswith(HOSTS):
        raise InputError(f"{path} is not a model file by its name; accepted are {', '.join(HOSTS)}.")
    check_file(path)
    text, is_as_stored = _decode(read_bytes(path), path.suffix.lower() != ".gz")
    is_lp = path.name.lower().removesuffix(".gz").endswith(".lp")
    (_check_lp if is_lp else _check_mps)(text, path)
    plain, originals = replace_names(text) if is_lp else (text, {})
    lp, hessian = _read_highs(path) if is_as_stored and not originals else _read_copy(plain, path, ".lp" if is_lp else ".mps")
    if lp.num_col_ == 0:
        raise InputError(f"{path} has no columns. Is it an LP or MPS file?")
    try:
        return _build_program(lp, hessian, originals)
    except UnicodeDecodeError:
        raise InputError(f"{path} has names that cannot be read. Write them in plain letters, or the file in UTF-8.") from None
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


def _check_lp(text: str, path: Path) -> None:
    """Refuse, by name, what could not be read or would be read wrongly."""
    if re.search(r"->", re.sub(r"\\.*", "", text)):
        raise InputError(f"{path} has indicator constraints (->), which are not read from files. {REMEDY}")
    _check_sections(re.findall(r"^[ \t]*(SOS[12]?)[ \t]*$", text, re.IGNORECASE | re.MULTILINE), path)


def _check_mps(text: str, path: Path) -> None:
    sections: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or line[0] == "*":
            continue
        if not line[0].isspace() and words[0].upper() in SECTIONS:
            sections.append(words[0].upper())
        elif sections and len(words) < (least := LEAST_WORDS.get(sections[-1], 0)):
            raise InputError(
                f"{path}, line {number}: {line.strip()!r} is not complete; in {sections[-1]} a line has {least} words or more."
            )
    _check_sections(sections, path)
    if "ROWS" in sections and "ENDATA" not in sections:
        raise InputError(f"{path} ends before its ENDATA line; it is not complete.")


def _check_sections(sections: list[str], path: Path) -> None:
    for section in map(str.upper, sections):
        if section in REFUSED:
            raise InputError(f"{path} has {REFUSED[section]} (section {section}), which are not read from files. {REMEDY}")


def _read_copy(text: str, path: Path, suffix: str) -> tuple[Any, Any]:
    """Let HiGHS read a text that is not in the file as it stands."""
    with tempfile.TemporaryDirectory(prefix="dcembed-") as folder:
        copy = Path(folder) / f"host{suffix}"
        copy.write_text(text, encoding="utf-8")
        return _read_highs(copy, path)


def _read_highs(path: Path, shown: Path | None = None) -> tuple[Any, Any]:
    import highspy

    shown = shown or path
    highs = highspy.Highs()
    highs.setOptionValue("log_to_console", False)
    said: list[str] = []
    highs.cbLogging += lambda event: said.append(event.message)
    try:
        status = highs.readModel(str(path))
    except UnicodeDecodeError:
        # It quotes from the file, and cuts letters of more than one byte in two.
        raise InputError(f"{shown} is not a readable LP or MPS file. Write its names in plain letters.") from None
    if status == highspy.HighsStatus.kError:
        reasons = [line.removeprefix("ERROR:").strip().replace(str(path), str(shown)) for line in said if line.startswith("ERROR:")]
        raise InputError(f"{shown} is not a readable LP or MPS file. HiGHS says: {'; '.join(reasons) or 'error'}.")
    model = highs.getModel()
    return model.lp_, model.hessian_


def _build_program(lp: Any, hessian: Any, originals: dict[str, str]) -> Program:
    names = [originals.get(name, name) for name in lp.col_names_] or [f"x{number}" for number in range(lp.num_col_)]
    kinds = [kind.name for kind in lp.integrality_] or ["kContinuous"] * lp.num_col_
    for number, kind in enumerate(kinds):
        if kind.startswith("kSemi"):
            raise InputError(f"column '{names[number]}' is semi-continuous or semi-integer. Write it with a binary column and two rows.")
    matrix = lp.a_matrix_
    form = sp.csc_array if matrix.format_.name == "kColwise" else sp.csr_array
    rows = form((np.array(matrix.value_), np.array(matrix.index_), np.array(matrix.start_)), shape=(lp.num_row_, lp.num_col_))
    is_maximized = lp.sense_.name == "kMaximize"
    quadratic, concave = split_quadratic(_quadratic(hessian, lp.num_col_), is_maximized)
    return Program(
        cost=np.array(lp.col_cost_),
        quadratic=quadratic,
        concave=concave,
        offset=lp.offset_,
        rows=rows,
        row_lb=np.array(lp.row_lower_),
        row_ub=np.array(lp.row_upper_),
        lb=np.array(lp.col_lower_),
        ub=np.array(lp.col_upper_),
        integer=np.array([kind in ("kInteger", "kImplicitInteger") for kind in kinds]),
        maximize=is_maximized,
        column_names=names,
        row_names=[originals.get(name, name) for name in lp.row_names_] or None,
    )


def _quadratic(hessian: Any, n: int) -> sp.csr_array:
    """Q from its lower triangle, or from all of it."""
    if hessian.dim_ == 0:
        return sp.csr_array((n, n))
    part = sp.csc_array((np.array(hessian.value_), np.array(hessian.index_), np.array(hessian.start_)), shape=(n, n))
    if hessian.format_.name == "kTriangular":
        part = part + part.T - sp.diags_array(part.diagonal())
    return sp.csr_array(part)
