"""Model files: an LP or MPS host with networks on its columns, and the answer in solution and trace files."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedding import AffineInputs, Embedding, read_support
from dcembed.errors import DcembedError, InputError
from dcembed.frontends.column_names import Selection, select
from dcembed.frontends.contract import Extraction
from dcembed.frontends.feature_names import check_names
from dcembed.frontends.host_files import check_file, read_host, read_text
from dcembed.frontends.solution_files import (
    SOLUTIONS,
    column_names,
    read_start,
    save_result,
    save_solution,
    write_solution,
    write_trace,
)
from dcembed.frontends.support_tables import in_order_of, read_region
from dcembed.importers import load_network
from dcembed.network.network import Network
from dcembed.program.derive import derive
from dcembed.program.program import Program
from dcembed.result import Result
from dcembed.saving.problem import is_same_problem
from dcembed.words import Words

WORDS = Words(
    go_on="--save FILE and then --resume FILE",
    nearest="in the file of --solution",
    prove="--prove=auto",
    option="--option {}=...",
    named={"time_limit": "--time-limit", "gap_tol": "--gap-tol"},
)

__all__ = [
    "SOLUTIONS",
    "ModelFile",
    "NetworkEntry",
    "build_embedding",
    "check_resumed",
    "column_names",
    "extract",
    "extract_saved",
    "read_embeddings",
    "read_host",
    "read_start",
    "restore",
    "write_solution",
    "write_trace",
]


# Keys of an embedding in a file.
REQUIRED, OPTIONAL = ("network", "inputs", "outputs"), ("input_shape", "architecture", "support")


@dataclass(frozen=True)
class NetworkEntry:
    """A network and the columns that it ties together, by name; see `column_names.select` for what is accepted.

    Parameters
    ----------
    network, input_shape, architecture
        What `load_network` takes.
    inputs, outputs
        Names, patterns and numbers of columns. Inputs of a network that was fitted with names may be a table from these to columns.
    support
        Where the inputs belong, made by `dcembed.support`; None for anywhere. Data that has just the names of the input columns may have them in any order.
    """

    network: Any
    inputs: Any
    outputs: Any
    input_shape: Any = None
    architecture: Any = None
    support: Any = None


@dataclass(frozen=True)
class ModelFile:
    """A model in files.

    Parameters
    ----------
    host
        An LP or MPS file, plain or gzipped.
    networks
        What is embedded in it, or a TOML or JSON file that lists it.
    solution, trace, saved
        Files that the answer is written to; none if not given.
    """

    host: str | Path
    networks: Sequence[NetworkEntry] | str | Path
    solution: str | Path | None = None
    trace: str | Path | None = None
    saved: str | Path | None = None


def extract(model: ModelFile) -> Extraction[ModelFile]:
    """Read the files of a model."""
    program = read_host(model.host)
    if isinstance(model.networks, str | Path):
        embeddings = read_embeddings(model.networks, program)
    else:
        embeddings = [build_embedding(program, entry) for entry in model.networks]
    return Extraction(program, tuple(embeddings), model)


def extract_saved(result: Result, model: ModelFile) -> Extraction[ModelFile]:
    """The problem of a result that was saved; columns without names are x0, x1, ..."""
    program = result.program
    names = program.column_names or tuple(f"x{number}" for number in range(program.num_columns))
    return Extraction(derive(program, column_names=names), tuple(result.embeddings), model)


def check_resumed(result: Result, extraction: Extraction[ModelFile], path: str | Path) -> str:
    """What a run on this problem takes up of a result from a file, in words; InputError if it has other columns."""
    program, names = result.program, result.program.column_names
    if program.num_columns != extraction.program.num_columns or (names is not None and names != extraction.program.column_names):
        raise InputError(
            f"{path} is about another problem, {program}, whose columns are not those of {extraction.handle.host}, {extraction.program}. "
            "Leave the host out to go on with the problem in the file, or leave --resume out."
        )
    point = "no point" if result.x is None else f"objective {result.objective:.9g} ({'' if result.is_feasible else 'NOT '}feasible)"
    if not is_same_problem((program, result.embeddings), (extraction.program, extraction.embeddings)):
        return f"{path} is about another problem with the same columns: its point is a start, {point} there; its bound is not taken up."
    bound = f", bound {result.bound:.9g}" if np.isfinite(result.bound) else ""
    return f"Going on from {path}: {point}{bound}."


def restore(extraction: Extraction[ModelFile], result: Result, load_infeasible: bool = True) -> Result:
    """Write the solution and the trace where they are wanted; the result is returned as it is.

    Files say whether their point is feasible, so that one that is not is written, too.
    """
    model = extraction.handle
    if model.solution is not None:
        save_solution(model.solution, result)
    if model.trace is not None:
        write_trace(model.trace, result)
    if model.saved is not None:
        save_result(model.saved, result)
    return result


def build_embedding(program: Program, entry: NetworkEntry) -> Embedding:
    """An embedding on columns given by name."""
    network = load_network(entry.network, input_shape=entry.input_shape, architecture=entry.architecture)
    names = column_names(program)
    source = _by_names(select(names, _in_order(entry.inputs, network), network.num_inputs, "inputs"), names, network)
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
    region = read_support(entry.support, network, "inputs")
    region = in_order_of(region, network, [names[column] if column >= 0 else None for column in source.columns[0]])
    return Embedding(network, _as_inputs(source, program.num_columns), target.columns, region)


def read_embeddings(path: str | Path, program: Program) -> list[Embedding]:
    """Embeddings listed in a TOML or JSON file; paths of networks and of data are relative to it."""
    path = Path(path)
    entries = _read_entries(path)
    embeddings = []
    for number, entry in enumerate(entries):
        where = f"{path}, embedding {number}"
        if not isinstance(entry, dict) or not set(REQUIRED) <= set(entry) <= {*REQUIRED, *OPTIONAL}:
            keys = ", ".join(map(str, entry)) if isinstance(entry, dict) else repr(entry)
            raise InputError(f"{where}: {_join(REQUIRED)} are expected ({_join(OPTIONAL)} are optional), received {keys}.")
        try:
            network = path.parent / str(entry["network"])
            region = read_region(entry.get("support"), path.parent)
            named = NetworkEntry(network, entry["inputs"], entry["outputs"], entry.get("input_shape"), entry.get("architecture"), region)
            embeddings.append(build_embedding(program, named))
        except DcembedError as error:
            raise InputError(f"{where}: {error}") from None
    return embeddings


def _join(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


# Embeddings.


def _in_order(inputs: Any, network: Network) -> Any:
    """A table from names of features as a list in the order of the fit."""
    if not isinstance(inputs, Mapping):
        return inputs
    if network.input_names is None:
        raise InputError("inputs is a table of names, but the network has no names of features. Give a list in their order.")
    check_names(list(inputs), network.input_names, "inputs: the names")
    return [inputs[name] for name in network.input_names]


def _by_names(selection: Selection, names: Sequence[str], network: Network) -> Selection:
    """The columns of an evaluation in the order of the fit, where they have just the names of its features; others as they were given."""
    if network.input_names is None or (selection.columns < 0).any():
        return selection
    place = {name: number for number, name in enumerate(network.input_names)}
    columns = selection.columns.copy()
    for row in columns:
        if {names[column] for column in row} == set(place):
            row[:] = sorted(row, key=lambda column: place[names[column]])
    return replace(selection, columns=columns)


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
    check_file(path)
    text = read_text(path)
    try:
        record = tomllib.loads(text) if path.suffix.lower() == ".toml" else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not valid {path.suffix[1:].upper()}: {error}.") from None
    entries = record.get("embedding") if isinstance(record, dict) else record
    if not isinstance(entries, list) or not entries:
        raise InputError(f"{path}: a list named 'embedding' is expected ([[embedding]] in TOML), each with network, inputs and outputs.")
    return entries
