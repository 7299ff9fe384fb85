"""One network evaluated on a batch of k inputs that depend on the columns of a host program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from dcembed.arrays import Array
from dcembed.copies import replace
from dcembed.embedded.region import Region
from dcembed.errors import InputError
from dcembed.network.chunks import slices
from dcembed.network.network import CHUNK_ENTRIES, Network, evaluate
from dcembed.program.derive import widened
from dcembed.program.matrices import MatrixLike, as_sparse, set_fields
from dcembed.program.program import Program
from dcembed.reading import as_numbers, require, require_all, show
from dcembed.sparse import unit_rows


@dataclass(frozen=True, eq=False, init=False)
class AffineInputs:
    """Network inputs that are affine in the columns: x = matrix @ w + offset, k evaluations of n_in entries each.

    Parameters
    ----------
    matrix
        Shape (k * n_in, n), dense or sparse; the rows of evaluation i are i * n_in .. (i + 1) * n_in - 1. Where all evaluations have
        the same rows, as scenarios of one design do, those of one of them are enough: shape (n_in, n).
    offset
        Constants, shape (k, n_in) or all in one row; scenario data belongs here and costs nothing. Zero by default.

    Attributes
    ----------
    coefficients
        What is held of the matrix: the rows of one evaluation where all have the same, else all rows.
    """

    coefficients: sp.csr_array
    offset: Array

    def __init__(self, matrix: MatrixLike, offset: ArrayLike | None = None) -> None:
        sparse = as_sparse(matrix, "AffineInputs", "matrix")
        constants = np.atleast_2d(np.zeros(sparse.shape[0]) if offset is None else as_numbers(offset, "AffineInputs: offset"))
        if not np.isfinite(sparse.data).all() or not np.isfinite(constants).all():
            raise InputError("AffineInputs: matrix and offset must be finite; NaN or infinite entries were received.")
        set_fields(self, coefficients=sparse, offset=constants)

    @property
    def is_shared(self) -> bool:
        """Whether the rows of one evaluation stand for all."""
        return bool(self.offset.shape[0] > 1 and self.coefficients.shape[0] == self.offset.shape[1])

    @cached_property
    def matrix(self) -> sp.csr_array:
        """The rows of all evaluations, shape (k * n_in, n)."""
        return _repeated(self.coefficients, self.offset.shape[0]) if self.is_shared else self.coefficients


def _repeated(rows: sp.csr_array, number: int) -> sp.csr_array:
    """The rows so many times, one below the other."""
    ends = np.concatenate([[0], (np.arange(number)[:, None] * rows.nnz + rows.indptr[1:]).reshape(-1)])
    shape = number * rows.shape[0], rows.shape[1]
    return sp.csr_array((np.tile(rows.data, number), np.tile(rows.indices, number), ends), shape=shape)


@dataclass(frozen=True, eq=False, init=False)
class Embedding:
    """Predictions of a network as columns of the host.

    Parameters
    ----------
    network
        A `Network`, or anything `load_network` takes.
    inputs
        Column numbers of the inputs, shape (k, n_in) (or (n_in,) for k = 1), or `AffineInputs`.
    outputs
        Column numbers that stand for the predictions, shape (k, n_out) (or (n_out,) for k = 1, or (k,) for n_out = 1).
        The host uses them like any column: in the objective, rows, bounds and indicators.
    support
        Where the inputs belong, such as a region made by `dcembed.support` from the data that the network was trained on; None for anywhere.
    """

    network: Network
    inputs: Array | AffineInputs
    outputs: Array
    support: Region | None

    def __init__(self, network: Any, inputs: ArrayLike | AffineInputs, outputs: ArrayLike, support: Region | None = None) -> None:
        if not isinstance(network, Network):
            from dcembed.importers import load_network

            network = load_network(network)
        mapped: Array | AffineInputs
        if isinstance(inputs, AffineInputs):
            mapped = _shaped(inputs, network.num_inputs)
            k = mapped.offset.shape[0]
        else:
            mapped = _columns(inputs, network.num_inputs, "inputs")
            k = mapped.shape[0]
        columns = _columns(outputs, network.num_outputs, "outputs", k)
        if columns.shape[0] != k:
            raise InputError(f"Embedding: {k} evaluations are given by inputs, but {columns.shape[0]} by outputs. Both count the batch.")
        object.__setattr__(self, "network", network)
        object.__setattr__(self, "inputs", mapped)
        object.__setattr__(self, "outputs", columns)
        object.__setattr__(self, "support", read_support(support, network, "Embedding"))

    @property
    def num_evaluations(self) -> int:
        """k, the size of the batch."""
        return int(self.outputs.shape[0])

    def with_offset(self, offset: Array) -> Embedding:
        """The same with other constants in its inputs, shape (k, n_in); these are `AffineInputs`."""
        if not isinstance(self.inputs, AffineInputs):
            raise TypeError("Inputs that are columns have no constants.")
        return replace(self, inputs=replace(self.inputs, offset=offset))

    def with_support(self, support: Region | None) -> Embedding:
        """The same with its inputs in another region, or anywhere."""
        return replace(self, support=support)

    def widened(self, num_columns: int) -> Embedding:
        """The same in a program with more columns behind those that it had."""
        if not isinstance(self.inputs, AffineInputs):
            return self
        rows = self.inputs.coefficients
        return replace(self, inputs=replace(self.inputs, coefficients=widened(rows, rows.shape[0], num_columns)))

    def affine_inputs(self, num_columns: int) -> AffineInputs:
        """The inputs as an affine map of all columns."""
        if isinstance(self.inputs, AffineInputs):
            return self.inputs
        size = self.inputs.size
        matrix = unit_rows(self.inputs.reshape(-1), np.ones(size), num_columns)
        return AffineInputs(matrix, np.zeros(self.inputs.shape))

    def points(self, w: Array, evaluations: Array | slice = slice(None)) -> Array:
        """The inputs at w of all evaluations or of some, shape (k, n_in)."""
        if not isinstance(self.inputs, AffineInputs):
            return w[self.inputs[evaluations]]
        width, offset = self.network.num_inputs, self.inputs.offset[evaluations]
        if self.inputs.is_shared:
            shifted: Array = self.inputs.coefficients @ w + offset
            return shifted
        if isinstance(evaluations, slice):
            start, stop, _ = evaluations.indices(self.num_evaluations)
            rows: Array | slice = slice(start * width, stop * width)
        else:
            rows = (evaluations[:, None] * width + np.arange(width)).reshape(-1)
        matrix = self.inputs.matrix if offset.shape == self.inputs.offset.shape else self.inputs.matrix[rows]
        points: Array = (matrix @ w).reshape(offset.shape) + offset
        return points

    def predict(self, w: Array) -> Array:
        """The predictions at w, shape (k, n_out); the inputs of a million evaluations are never held at once."""
        values = np.empty(self.outputs.shape)
        for chunk in slices(self.num_evaluations, self.network.num_held, CHUNK_ENTRIES):
            values[chunk] = evaluate(self.network, self.points(w, chunk))
        return values

    def __repr__(self) -> str:
        where = "" if self.support is None else f", in the {self.support.label}"
        return f"Embedding({self.network!r}, {self.num_evaluations} evaluation{'' if self.num_evaluations == 1 else 's'}{where})"


def read_support(support: Any, network: Network, who: str) -> Region | None:
    """A region that fits the network, or None."""
    if support is None:
        return None
    if not isinstance(getattr(support, "num_inputs", None), int) or not callable(getattr(support, "excess", None)):
        raise InputError(
            f"{who}: support is not accepted: a region made by dcembed.support(data, kind=...) is expected, received {show(support)}."
        )
    if network.input_names is not None and callable(getattr(support, "for_names", None)):
        try:
            support = support.for_names(network.input_names)
        except InputError as error:
            raise InputError(f"{who}: {error}") from None
    if support.num_inputs != network.num_inputs:
        raise InputError(
            f"{who}: the support is of data with {support.num_inputs} columns, but the network has {network.num_inputs} inputs. Give "
            "dcembed.support the inputs that the network takes, one column each."
        )
    region: Region = support
    return region


def _shaped(inputs: AffineInputs, num_inputs: int) -> AffineInputs:
    """The inputs with an offset of shape (k, n_in), and with the rows of one evaluation where all have the same."""
    size = inputs.coefficients.shape[0]
    if inputs.is_shared and size == num_inputs:
        return inputs
    if size == 0 or size % num_inputs:
        raise InputError(
            f"Embedding: the input matrix has {size} rows, but the network has {num_inputs} inputs: "
            f"a multiple of {num_inputs} is expected, {num_inputs} rows for each evaluation."
        )
    shape = size // num_inputs, num_inputs
    if inputs.offset.shape not in (shape, (1, size)):
        raise InputError(f"Embedding: the input offset has shape {inputs.offset.shape}, expected {shape}.")
    first = inputs.coefficients[:num_inputs]
    shaped = AffineInputs.__new__(AffineInputs)
    is_shared = shape[0] > 1 and _is_repeated(inputs.coefficients, first, shape[0])
    set_fields(shaped, coefficients=first if is_shared else inputs.coefficients, offset=inputs.offset.reshape(shape))
    return shaped


def _is_repeated(matrix: sp.csr_array, first: sp.csr_array, number: int) -> bool:
    """Whether a matrix is its first rows so many times."""
    if matrix.nnz != number * first.nnz:
        return False
    lengths = np.diff(matrix.indptr).reshape(number, -1)
    pairs = (matrix.indices, first.indices), (matrix.data, first.data)
    return bool((lengths == lengths[0]).all()) and all(bool((all_.reshape(number, -1) == one).all()) for all_, one in pairs)


def read_embeddings(program: Program, embeddings: Sequence[Embedding] | Embedding, who: str) -> list[Embedding]:
    """The embeddings as a list that fits the program; `who` asks for them, for messages."""
    require(program, Program, f"{who}: program")
    listed = [embeddings] if isinstance(embeddings, Embedding) else list(require_all(embeddings, Embedding, f"{who}: embeddings"))
    check_embeddings(program, listed)
    return listed


def check_embeddings(program: Program, embeddings: list[Embedding]) -> None:
    """Raise InputError if an embedding refers to columns that the program does not have."""
    n = program.num_columns
    for number, embedding in enumerate(embeddings):
        if isinstance(embedding.inputs, AffineInputs):
            width = embedding.inputs.coefficients.shape[1]
            if width != n:
                raise InputError(f"Embedding {number}: the input matrix has {width} columns but the program has {n}.")
        else:
            _check_range(embedding.inputs, n, number, "inputs")
        _check_range(embedding.outputs, n, number, "outputs")
        counts = np.bincount(embedding.outputs.reshape(-1))
        if counts.max() > 1:
            raise InputError(
                f"Embedding {number}: {program.column_label(int(np.argmax(counts > 1)))} stands for more than one prediction. "
                "Give each prediction its own column and add a row if two must be equal."
            )


def _columns(value: ArrayLike, width: int, name: str, k: int | None = None) -> Array:
    try:
        columns = np.asarray(value)
    except ValueError:
        raise InputError(f"Embedding: {name} are column numbers in rows of the same length, received {show(value)}.") from None
    if columns.dtype.kind not in "iu":
        raise InputError(f"Embedding: {name} are column numbers (integers), received {columns.dtype} of shape {columns.shape}.")
    if columns.ndim == 1:
        columns = columns.reshape(-1, 1) if width == 1 and (k is None or columns.size == k) else columns.reshape(1, -1)
    if columns.ndim != 2 or columns.shape[1] != width:
        raise InputError(f"Embedding: {name} have shape {columns.shape}, but the network has {width} {name}: expected (k, {width}).")
    return columns.astype(np.int64)


def _check_range(columns: Array, n: int, number: int, name: str) -> None:
    outside = columns[(columns < 0) | (columns >= n)]
    if outside.size:
        raise InputError(f"Embedding {number}: {name} name column {outside[0]}, but columns go from 0 to {n - 1}.")
