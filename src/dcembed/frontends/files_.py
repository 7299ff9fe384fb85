"""Model files: an LP or MPS host with networks on its columns, and the answer in solution and trace files."""

from __future__ import annotations

import csv
import gzip
import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedding import AffineInputs, Embedding
from dcembed.errors import DcembedError, InputError
from dcembed.frontends.column_names import Selection, select
from dcembed.frontends.contract import Extraction
from dcembed.importers import load_network
from dcembed.program.program import Program
from dcembed.result import Result
from dcembed.version import __version__

HOSTS = (".lp", ".mps", ".lp.gz", ".mps.gz")
SOLUTIONS = (".json", ".sol")

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
REMEDY = "Write them as linear rows (indicators with a big M), or build the model in a tool that dcembed has a front end for."


@dataclass(frozen=True)
class NetworkEntry:
    """A network and the columns that it ties together, by name; see `column_names.select` for what is accepted.

    Parameters
    ----------
    network, input_shape
        What `load_network` takes.
    inputs, outputs
        Names, patterns and numbers.
    """

    network: Any
    inputs: Any
    outputs: Any
    input_shape: Any = None


@dataclass(frozen=True)
class ModelFile:
    """A model in files.

    Parameters
    ----------
    host
        An LP or MPS file, plain or gzipped.
    networks
        What is embedded in it, or a TOML or JSON file that lists it.
    solution, trace
        Files that the answer is written to; none if not given.
    """

    host: str | Path
    networks: Sequence[NetworkEntry] | str | Path
    solution: str | Path | None = None
    trace: str | Path | None = None


def extract(model: ModelFile) -> Extraction[ModelFile]:
    """Read the files of a model."""
    program = read_host(model.host)
    if isinstance(model.networks, str | Path):
        embeddings = read_embeddings(model.networks, program)
    else:
        embeddings = [build_embedding(program, entry) for entry in model.networks]
    return Extraction(program, tuple(embeddings), model)


def restore(extraction: Extraction[ModelFile], result: Result) -> Result:
    """Write the solution and the trace where they are wanted; the result is returned as it is."""
    model = extraction.handle
    if model.solution is not None:
        write_solution(model.solution, result)
    if model.trace is not None:
        write_trace(model.trace, result)
    return result


def read_host(path: str | Path) -> Program:
    """Read an LP or MPS file, plain or gzipped."""
    path = Path(path)
    if not path.name.lower().endswith(HOSTS):
        raise InputError(f"{path} is not a model file by its name; accepted are {', '.join(HOSTS)}.")
    _check_file(path)
    _check_text(path)
    lp, hessian = _read_highs(path)
    if lp.num_col_ == 0:
        raise InputError(f"{path} has no columns. Is it an LP or MPS file?")
    try:
        return _build_program(lp, hessian)
    except DcembedError as error:
        raise InputError(f"{path}: {error}") from None


def column_names(program: Program) -> tuple[str, ...]:
    """The names of the columns of a file."""
    assert program.column_names is not None
    return program.column_names


def build_embedding(program: Program, entry: NetworkEntry) -> Embedding:
    """An embedding on columns given by name."""
    network, names = load_network(entry.network, input_shape=entry.input_shape), column_names(program)
    source = select(names, entry.inputs, network.num_inputs, "inputs")
    target = select(names, entry.outputs, network.num_outputs, "outputs")
    if (target.columns < 0).any():
        raise InputError(
            "outputs: a number stands where a column is expected. Bound or fix the column of the prediction in the model instead."
        )
    repeated = _repeated(target.columns)
    if repeated is not None:
        raise InputError(
            f"outputs: the column '{names[repeated]}' stands for more than one prediction. "
            "Give each prediction its own column, and add a row to the model if two must be equal."
        )
    if len(source.columns) != len(target.columns):
        raise InputError(
            f"inputs give {len(source.columns)} evaluations of the network but outputs give {len(target.columns)}. Both count the evaluations."
        )
    return Embedding(network, _as_inputs(source, program.num_columns), target.columns)


def read_embeddings(path: str | Path, program: Program) -> list[Embedding]:
    """Embeddings listed in a TOML or JSON file; paths of networks are relative to it."""
    path = Path(path)
    entries = _read_entries(path)
    embeddings = []
    for number, entry in enumerate(entries):
        where = f"{path}, embedding {number}"
        if not isinstance(entry, dict) or not {"network", "inputs", "outputs"} <= set(entry) <= {
            "network",
            "inputs",
            "outputs",
            "input_shape",
        }:
            keys = ", ".join(map(str, entry)) if isinstance(entry, dict) else repr(entry)
            raise InputError(f"{where}: network, inputs and outputs are expected (input_shape is optional), received {keys}.")
        try:
            network = path.parent / str(entry["network"])
            named = NetworkEntry(network, entry["inputs"], entry["outputs"], entry.get("input_shape"))
            embeddings.append(build_embedding(program, named))
        except DcembedError as error:
            raise InputError(f"{where}: {error}") from None
    return embeddings


def write_solution(path: str | Path, result: Result) -> None:
    """Write the point: all about the run as .json, or names and values as .sol."""
    path, found = Path(path), result.x is not None
    values = dict(zip(column_names(result.program), result.x.tolist(), strict=True)) if result.x is not None else {}
    if path.suffix.lower() == ".sol":
        lines = [f"# dcembed {__version__}: {result.status.name}, {'feasible' if result.is_feasible else 'NOT feasible'}"]
        if found:
            lines.append(f"# Objective value = {result.objective!r}")
        lines += [f"{name} {value!r}" for name, value in values.items()]
        path.write_text("\n".join(lines) + "\n")
        return
    record = {
        "dcembed": __version__,
        "status": result.status.name,
        "reason": result.reason,
        "is_feasible": result.is_feasible,
        "sense": "maximize" if result.program.maximize else "minimize",
        "objective": result.objective if found else None,
        "violation": result.violation if found else None,
        "feasibility_tol": result.feasibility_tol,
        "worst_violations": [{"constraint": worst.constraint, "amount": worst.amount} for worst in result.worst_violations],
        "seconds": result.seconds,
        "solver": result.solver,
        "columns": values,
        "incumbents": [{"seconds": seconds, "objective": objective} for seconds, objective in result.incumbents],
    }
    path.write_text(json.dumps(record, indent=1) + "\n")


def read_start(path: str | Path, program: Program) -> Array:
    """A point from a solution file; columns that it does not mention are zero, or at the bound nearest to zero."""
    path = Path(path)
    _check_file(path)
    text = _read_text(path)
    try:
        values = json.loads(text)["columns"] if path.suffix.lower() == ".json" else _parse_sol(text)
        numbers = {name: float(value) for name, value in values.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{path} is not a solution file; accepted are .json and .sol files as written by --solution.") from None
    names = column_names(program)
    known = set(names)
    unknown = next((name for name in numbers if name not in known), None)
    if unknown is not None:
        raise InputError(f"{path} has a value for '{unknown}', but the model has no such column.")
    nearest = np.clip(np.zeros(len(names)), program.lb, program.ub)
    return np.array([numbers.get(name, nearest[number]) for number, name in enumerate(names)])


def write_trace(path: str | Path, result: Result) -> None:
    """Write the incumbents as CSV: seconds, objective."""
    with Path(path).open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["seconds", "objective"])
        writer.writerows(result.incumbents)


# Hosts.


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise InputError(f"{path} is a folder; a file is expected." if path.is_dir() else f"There is no file {path}.")


def _read_text(path: Path) -> str:
    try:
        if path.suffix.lower() == ".gz":
            with gzip.open(path, "rt", errors="replace") as stream:
                return stream.read()
        return path.read_text(errors="replace")
    except (OSError, EOFError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from None


def _check_text(path: Path) -> None:
    """Refuse, by name, what could not be read or would be read wrongly."""
    text = _read_text(path)
    if path.name.lower().removesuffix(".gz").endswith(".lp"):
        if re.search(r"->", re.sub(r"\\.*", "", text)):
            raise InputError(f"{path} has indicator constraints (->), which are not read from files. {REMEDY}")
        return
    sections = [line.split()[0].upper() for line in text.splitlines() if line.strip() and not line[0].isspace() and line[0] != "*"]
    for section in sections:
        if section in REFUSED:
            raise InputError(f"{path} has {REFUSED[section]} (section {section}), which are not read from files. {REMEDY}")
    if "ROWS" in sections and "ENDATA" not in sections:
        raise InputError(f"{path} ends before its ENDATA line; it is not complete.")


def _read_highs(path: Path) -> tuple[Any, Any]:
    import highspy

    highs = highspy.Highs()
    highs.setOptionValue("log_to_console", False)
    said: list[str] = []
    highs.cbLogging += lambda event: said.append(event.message)
    status = highs.readModel(str(path))
    if status == highspy.HighsStatus.kError:
        reasons = [line.removeprefix("ERROR:").strip() for line in said if line.startswith("ERROR:")]
        raise InputError(f"{path} is not a readable LP or MPS file. HiGHS says: {'; '.join(reasons) or 'error'}.")
    model = highs.getModel()
    return model.lp_, model.hessian_


def _build_program(lp: Any, hessian: Any) -> Program:
    names = list(lp.col_names_) or [f"x{number}" for number in range(lp.num_col_)]
    kinds = [kind.name for kind in lp.integrality_] or ["kContinuous"] * lp.num_col_
    for number, kind in enumerate(kinds):
        if kind.startswith("kSemi"):
            raise InputError(f"column '{names[number]}' is semi-continuous or semi-integer. Write it with a binary column and two rows.")
    matrix = lp.a_matrix_
    form = sp.csc_array if matrix.format_.name == "kColwise" else sp.csr_array
    rows = form((np.array(matrix.value_), np.array(matrix.index_), np.array(matrix.start_)), shape=(lp.num_row_, lp.num_col_))
    return Program(
        cost=np.array(lp.col_cost_),
        quadratic=_quadratic(hessian, lp.num_col_),
        offset=lp.offset_,
        rows=rows,
        row_lb=np.array(lp.row_lower_),
        row_ub=np.array(lp.row_upper_),
        lb=np.array(lp.col_lower_),
        ub=np.array(lp.col_upper_),
        integer=np.array([kind in ("kInteger", "kImplicitInteger") for kind in kinds]),
        maximize=lp.sense_.name == "kMaximize",
        column_names=names,
        row_names=list(lp.row_names_) or None,
    )


def _quadratic(hessian: Any, n: int) -> sp.csr_array | None:
    """Q from its lower triangle, or from all of it."""
    if hessian.dim_ == 0:
        return None
    part = sp.csc_array((np.array(hessian.value_), np.array(hessian.index_), np.array(hessian.start_)), shape=(n, n))
    if hessian.format_.name == "kTriangular":
        part = part + part.T - sp.diags_array(part.diagonal())
    return sp.csr_array(part)


# Embeddings and starts.


def _as_inputs(selection: Selection, n: int) -> Array | AffineInputs:
    if (selection.columns >= 0).all():
        return selection.columns
    entries = np.flatnonzero(selection.columns.reshape(-1) >= 0)
    places = entries, selection.columns.reshape(-1)[entries]
    matrix = sp.csr_array((np.ones(entries.size), places), shape=(selection.columns.size, n))
    return AffineInputs(matrix, selection.constants)


def _repeated(columns: Array) -> int | None:
    """The first column that is there twice."""
    numbers, counts = np.unique(columns, return_counts=True)
    return int(numbers[counts > 1][0]) if (counts > 1).any() else None


def _read_entries(path: Path) -> list[Any]:
    if path.suffix.lower() not in (".toml", ".json"):
        raise InputError(f"{path} is not a list of embeddings by its name; accepted are .toml and .json.")
    _check_file(path)
    text = _read_text(path)
    try:
        record = tomllib.loads(text) if path.suffix.lower() == ".toml" else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not valid {path.suffix[1:].upper()}: {error}.") from None
    entries = record.get("embedding") if isinstance(record, dict) else record
    if not isinstance(entries, list) or not entries:
        raise InputError(f"{path}: a list named 'embedding' is expected ([[embedding]] in TOML), each with network, inputs and outputs.")
    return entries


def _parse_sol(text: str) -> dict[str, str]:
    lines = [line.rsplit(None, 1) for line in text.splitlines() if line.strip() and not line.startswith(("#", "="))]
    return {name.strip(): value for name, value in lines}
