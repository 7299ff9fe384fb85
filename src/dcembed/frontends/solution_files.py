"""The answer in files: the point as .json or .sol, which is also read back as a start, and the trace as .csv."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.frontends.host_files import check_file, read_text
from dcembed.program.program import Program
from dcembed.result import Result
from dcembed.version import __version__
from dcembed.writing import write_elsewhere, write_text

SOLUTIONS = (".json", ".sol")


def column_names(program: Program) -> tuple[str, ...]:
    """The names of the columns of a file."""
    assert program.column_names is not None
    return program.column_names


def save_solution(path: str | Path, result: Result) -> None:
    """`write_solution`; where the file cannot be written, the point is put into another one, and the error says which."""
    _save(path, lambda target: write_solution(target, result))


def save_result(path: str | Path, result: Result) -> None:
    """`Result.save`, likewise."""
    _save(path, result.save)


def _save(path: str | Path, write: Callable[[str | Path], object]) -> None:
    try:
        write(path)
    except InputError as error:
        rescued = write_elsewhere(path, write)
        raise InputError(f"{error} The point is in {rescued} instead." if rescued else str(error)) from error


def write_solution(path: str | Path, result: Result) -> None:
    """Write the point: all about the run as .json, or names and values as .sol."""
    write_text(path, _as_sol(result) if Path(path).suffix.lower() == ".sol" else _as_json(result))


def _values(result: Result) -> dict[str, float]:
    return dict(zip(column_names(result.program), result.x.tolist(), strict=True)) if result.x is not None else {}


def _as_sol(result: Result) -> str:
    lines = [f"# dcembed {__version__}: {result.status.name}, {'feasible' if result.is_feasible else 'NOT feasible'}"]
    if result.x is not None:
        lines.append(f"# Objective value = {result.objective!r}")
    if np.isfinite(result.bound):
        lines.append(f"# Bound = {result.bound!r}, gap = {result.gap!r}")
    lines += [f"{name} {value!r}" for name, value in _values(result).items()]
    return "\n".join(lines) + "\n"


def _as_json(result: Result) -> str:
    found = result.x is not None
    record = {
        "dcembed": __version__,
        "status": result.status.name,
        "reason": result.reason,
        "is_feasible": result.is_feasible,
        "sense": "maximize" if result.program.maximize else "minimize",
        "objective": result.objective if found else None,
        "violation": result.violation if found else None,
        "feasibility_tol": result.feasibility_tol,
        # JSON has no infinity: null where nothing is known.
        "bound": _finite(result.bound),
        "gap": _finite(result.gap),
        "agreement": {"starts": result.num_starts, "near_best": result.agreement},
        "worst_violations": [{"constraint": worst.constraint, "amount": worst.amount} for worst in result.worst_violations],
        "seconds": result.seconds,
        "solver": result.solver,
        "columns": _values(result),
        "incumbents": [{"seconds": seconds, "objective": objective} for seconds, objective in result.incumbents],
        "bounds": [{"seconds": seconds, "bound": _finite(bound)} for seconds, bound in result.bounds],
    }
    return json.dumps(record, indent=1) + "\n"


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def write_trace(path: str | Path, result: Result) -> None:
    """Write the incumbents as CSV: seconds, objective."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(["seconds", "objective"])
    writer.writerows(result.incumbents)
    write_text(path, stream.getvalue())


def read_start(path: str | Path, program: Program) -> Array:
    """A point from a solution file; columns that it does not mention are zero, or at the bound nearest to zero."""
    path = Path(path)
    check_file(path)
    text = read_text(path)
    try:
        values = json.loads(text)["columns"] if path.suffix.lower() == ".json" else _parse_sol(text)
        numbers = {name: float(value) for name, value in values.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, ArithmeticError):
        raise InputError(f"{path} is not a solution file; accepted are .json and .sol files as written by --solution.") from None
    names = column_names(program)
    known = set(names)
    unknown = next((name for name in numbers if name not in known), None)
    if unknown is not None:
        raise InputError(f"{path} has a value for '{unknown}', but the model has no such column.")
    nearest = np.clip(np.zeros(len(names)), program.lb, program.ub)
    return np.array([numbers.get(name, nearest[number]) for number, name in enumerate(names)])


def _parse_sol(text: str) -> dict[str, str]:
    lines = [line.rsplit(None, 1) for line in text.splitlines() if line.strip() and not line.startswith(("#", "="))]
    return {name.strip(): value for name, value in lines}
