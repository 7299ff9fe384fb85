"""MPS files as a `Program`. HiGHS reads them; indicators, which it does not take, are taken out before and put back after."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.errors import InputError
from dcembed.frontends.lines import REMEDY, LineError
from dcembed.program.nonconvex import split_quadratic
from dcembed.program.program import Indicator, Program

# Sections that no Program can be made of. HiGHS refuses some of them without saying which, so the file is looked at first.
REFUSED = {
    "QCMATRIX": "quadratic constraints",
    "CSECTION": "cone constraints",
    "SOS": "special ordered sets",
    "SOS1": "special ordered sets",
    "SOS2": "special ordered sets",
    "SETS": "special ordered sets",
    "GENCONS": "general constraints",
    "PWLOBJ": "a piecewise-linear objective",
}
# Words that a line of an MPS file has at least. HiGHS may read on without end where some are missing.
LEAST_WORDS = {"ROWS": 2, "COLUMNS": 3, "RHS": 2, "RANGES": 2, "BOUNDS": 2, "QUADOBJ": 3, "QMATRIX": 3, "QSECTION": 3, "INDICATORS": 4}
# Rows like any others, which HiGHS does not know by these names.
MORE_ROWS = ("LAZYCONS", "USERCUTS")
# Names that begin a section; whatever else stands at the beginning of a line is part of the one before.
SECTIONS = {"NAME", "OBJSENSE", "OBJNAME", "ENDATA", *LEAST_WORDS, *REFUSED, *MORE_ROWS}
SEMI = ("SC", "SI", "SN")


@dataclass(frozen=True)
class Switch:
    """What switches a row on: the column of a binary, its value, and the line that says so."""

    column: str
    value: int
    line: int


def read_mps(text: str, path: Path | None) -> Program:
    """The program in the text of an MPS file; `path` is a file with just this text, if there is one."""
    plain, switches = take_switches(text)
    lp, hessian = _read_highs(path) if path is not None and plain == text else _read_copy(plain)
    try:
        return _build_program(lp, hessian, switches)
    except UnicodeDecodeError:
        raise InputError("There are names that cannot be read. Write them in plain letters, or the file in UTF-8.") from None


def take_switches(text: str) -> tuple[str, dict[str, Switch]]:
    r"""The text without its indicators, and what switches which row; LineError for what is not read.

    Examples
    --------
    >>> take_switches("ROWS\n N cost\nINDICATORS\n IF c1 b 1\nENDATA\n")
    ('ROWS\n N cost\nENDATA\n', {'c1': Switch(column='b', value=1, line=4)})
    """
    kept: list[str] = []
    switches: dict[str, Switch] = {}
    sections: list[str] = []
    number = 0
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        words = line.split()
        is_header = bool(words) and not line[0].isspace() and line[0] != "*" and words[0].upper() in SECTIONS
        if is_header:
            sections.append(words[0].upper())
            _check_section(sections[-1], number)
        elif words and line[0] != "*" and sections:
            _check_line(sections[-1], words, number, line)
            if sections[-1] == "INDICATORS":
                switches[words[1]] = _read_switch(words, number)
        if not sections or (sections[-1] != "INDICATORS" and not (is_header and sections[-1] in MORE_ROWS)):
            kept.append(line)
    if "ROWS" in sections and "ENDATA" not in sections:
        raise LineError(number, "the file ends before its ENDATA line; it is not complete.")
    return "".join(kept), switches


def _check_section(section: str, number: int) -> None:
    if section in REFUSED:
        raise LineError(number, f"section {section} ({REFUSED[section]}) is not read from files. {REMEDY}")


def _check_line(section: str, words: list[str], number: int, line: str) -> None:
    least = LEAST_WORDS.get(section, 0)
    if len(words) < least:
        raise LineError(number, f"{line.strip()!r} is not complete; in {section} a line has {least} words or more.")
    if section == "BOUNDS" and words[0].upper() in SEMI:
        raise LineError(number, f"{line.strip()!r} is a bound of a semi-continuous column, which is not read from files. {REMEDY}")
    if section == "COLUMNS" and len(words) % 2 == 0 and (line[12:14].strip() or line[22:24].strip()):
        raise LineError(number, f"{line.strip()!r} has a name with a blank, which only the fixed columns of old files can have.")


def _read_switch(words: list[str], number: int) -> Switch:
    if len(words) != 4 or words[0].upper() != "IF" or words[3] not in ("0", "1"):
        raise LineError(
            number, f"{' '.join(words)!r} is not an indicator: IF, a row, a column and 0 or 1 are expected, names without blanks."
        )
    return Switch(words[2], int(words[3]), number)


def _read_copy(text: str) -> tuple[Any, Any]:
    """Let HiGHS read a text that is not in a file as it stands."""
    with tempfile.TemporaryDirectory(prefix="dcembed-") as folder:
        copy = Path(folder) / "host.mps"
        copy.write_text(text, encoding="utf-8")
        return _read_highs(copy)


def _read_highs(path: Path) -> tuple[Any, Any]:
    import highspy

    highs = highspy.Highs()
    highs.setOptionValue("log_to_console", False)
    said: list[str] = []
    highs.cbLogging += lambda event: said.append(event.message)
    try:
        status = highs.readModel(str(path))
    except UnicodeDecodeError:
        # It quotes from the file, and cuts letters of more than one byte in two.
        raise InputError("It is not a readable MPS file. Write its names in plain letters.") from None
    if status == highspy.HighsStatus.kError:
        reasons = [line.removeprefix("ERROR:").strip().removesuffix(f" reading {path}") for line in said if line.startswith("ERROR:")]
        raise InputError(f"It is not a readable MPS file. HiGHS says: {'; '.join(reasons) or 'error'}.")
    model = highs.getModel()
    return model.lp_, model.hessian_


def _build_program(lp: Any, hessian: Any, switches: dict[str, Switch]) -> Program:
    if lp.num_col_ == 0:
        raise InputError("There are no columns. Is it an MPS file?")
    columns = list(lp.col_names_) or [f"x{number}" for number in range(lp.num_col_)]
    kinds = [kind.name for kind in lp.integrality_] or ["kContinuous"] * lp.num_col_
    matrix = lp.a_matrix_
    form = sp.csc_array if matrix.format_.name == "kColwise" else sp.csr_array
    entries = np.array(matrix.value_), np.array(matrix.index_), np.array(matrix.start_)
    rows = sp.csr_array(form(entries, shape=(lp.num_row_, lp.num_col_)))
    row_names, row_lb, row_ub = list(lp.row_names_), np.array(lp.row_lower_), np.array(lp.row_upper_)
    plain = [number for number, name in enumerate(row_names) if name not in switches] if row_names else range(lp.num_row_)
    is_maximized = lp.sense_.name == "kMaximize"
    quadratic, concave = split_quadratic(_quadratic(hessian, lp.num_col_), is_maximized)
    return Program(
        cost=np.array(lp.col_cost_),
        quadratic=quadratic,
        concave=concave,
        offset=lp.offset_,
        rows=rows[plain],
        row_lb=row_lb[plain],
        row_ub=row_ub[plain],
        lb=np.array(lp.col_lower_),
        ub=np.array(lp.col_upper_),
        integer=np.array([kind in ("kInteger", "kImplicitInteger") for kind in kinds]),
        indicators=[
            Indicator(_find(columns, switch.column, switch), switch.value, rows[[at]], row_lb[at], row_ub[at], name)
            for name, switch in switches.items()
            for at in [_find(row_names, name, switch)]
        ],
        maximize=is_maximized,
        column_names=columns,
        row_names=[row_names[number] for number in plain] if row_names else None,
    )


def _find(names: list[str], name: str, switch: Switch) -> int:
    """The place of a name that an indicator has."""
    if name not in names:
        raise LineError(switch.line, f"an indicator names {name!r}, which is no row and no column of the file.")
    return names.index(name)


def _quadratic(hessian: Any, n: int) -> sp.csr_array:
    """Q from its lower triangle, or from all of it."""
    if hessian.dim_ == 0:
        return sp.csr_array((n, n))
    part = sp.csc_array((np.array(hessian.value_), np.array(hessian.index_), np.array(hessian.start_)), shape=(n, n))
    if hessian.format_.name == "kTriangular":
        part = part + part.T - sp.diags_array(part.diagonal())
    return sp.csr_array(part)
