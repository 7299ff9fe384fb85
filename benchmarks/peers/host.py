"""The host in the form that the packages take: every network input is a column with finite bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from benchmarks.problems.perceptron import TORCH_LAYERS
from dcembed import Embedding, Network, Program
from dcembed.embedded.verify import predict
from dcembed.network.activations.ranges import value_range
from dcembed.network.bounds import bound
from dcembed.program.derive import add_columns, add_rows, derive
from dcembed.program.tightening import tighten

Array = np.ndarray
# Bounds that are computed here are widened by this, relative to their size, so that rounding never cuts a point off.
SAFETY = 1e-7
# Weight decay leaves weights of 1e-36. Solvers drop coefficients that are smaller than this, and with some of them dropped and the
# bounds that follow from them kept, HiGHS calls a feasible model infeasible.
NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class PlainHost:
    """A program whose network inputs and outputs are columns.

    Parameters
    ----------
    program
        The host, with a column for each input that is not a column already and a row that ties it.
    networks
        One for each embedding.
    inputs, outputs
        Column numbers, shapes (k, n_in) and (k, n_out), one pair for each embedding.
    num_columns
        Of the host as it was; the columns after them are inputs.
    """

    program: Program
    networks: tuple[Network, ...]
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    num_columns: int


def build_plain_host(program: Program, embeddings: Sequence[Embedding]) -> PlainHost:
    """The same problem with columns as inputs; bounds are those that rows and networks imply."""
    lb, ub = tighten(program)
    program = replace_bounds(program, lb, ub)
    num_columns, inputs = program.num_columns, []
    for embedding in embeddings:
        program, columns = _with_input_columns(program, embedding, num_columns)
        inputs.append(columns)
    for embedding, columns in zip(embeddings, inputs, strict=True):
        program = _with_output_bounds(program, embedding, columns)
    return PlainHost(
        program, tuple(e.network for e in embeddings), tuple(inputs), tuple(embedding.outputs for embedding in embeddings), num_columns
    )


def extend(host: PlainHost, embeddings: Sequence[Embedding], w: Array) -> Array:
    """A point of the original host with its predictions and the columns of its inputs."""
    w = predict(embeddings, w)
    x = np.concatenate([w, np.zeros(host.program.num_columns - w.size)])
    for embedding, columns in zip(embeddings, host.inputs, strict=True):
        x[columns] = embedding.points(w)
    return x


def replace_bounds(program: Program, lb: Array, ub: Array) -> Program:
    return derive(program, lb=lb, ub=np.maximum(lb, ub))


def whole_quadratic(program: Program) -> sp.csr_array | None:
    """M of the objective 1/2 w'Mw, of one that is not convex both parts; None if it is linear."""
    if program.concave is None:
        return program.quadratic
    return sp.csr_array(-program.concave if program.quadratic is None else program.quadratic - program.concave)


def layers(network: Network) -> list[tuple[Array, Array]]:
    """Weights and biases of a plain multilayer perceptron, the only kind that all packages take."""
    found = []
    for number, stage in enumerate((*network.stages, network.output)):
        if set(stage.weights) != {number}:
            raise ValueError(f"stage {number + 1} does not use the stage before it alone: the packages take plain perceptrons only")
        block = stage.weights[number]
        dense = block.toarray() if sp.issparse(block) else block
        found.append((np.where(np.abs(dense) < NOTHING, 0.0, dense), stage.bias))
    return found


def build_torch(network: Network):
    """The network as a torch Sequential of Linear and activations, in double precision."""
    import torch

    modules: list = []
    for number, (weight, bias) in enumerate(layers(network)):
        if number:
            modules.append(getattr(torch.nn, TORCH_LAYERS[network.activations[number - 1].name])())
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0], dtype=torch.float64)
        linear.weight.data, linear.bias.data = torch.from_numpy(weight.copy()), torch.from_numpy(bias.copy())
        modules.append(linear)
    return torch.nn.Sequential(*modules)


def _with_input_columns(program: Program, embedding: Embedding, num_columns: int) -> tuple[Program, Array]:
    """Add a column for every input that is not one, tied to x = matrix @ w + offset; constants are fixed columns."""
    affine = embedding.affine_inputs(num_columns)
    matrix, offset = affine.matrix, affine.offset.reshape(-1)
    num_entries = np.diff(matrix.indptr)
    first = np.minimum(matrix.indptr[:-1], max(matrix.nnz - 1, 0))
    is_column = (num_entries == 1) & (offset == 0) & (matrix.data[first] == 1.0)
    made, tied = np.flatnonzero(~is_column), np.flatnonzero(~is_column & (num_entries > 0))
    n = program.num_columns
    columns = np.empty(offset.size, dtype=np.int64)
    columns[is_column] = matrix.indices[first][is_column]
    columns[made] = n + np.arange(made.size)
    low, high = _interval(matrix[made], program.lb[:num_columns], program.ub[:num_columns])
    ties = sp.hstack([-matrix[tied], sp.csr_array((tied.size, n - num_columns))])
    picks = sp.csr_array((np.ones(tied.size), (np.arange(tied.size), columns[tied] - n)), shape=(tied.size, made.size))
    wide = add_columns(program, offset[made] + low, offset[made] + high)
    tied_program = add_rows(wide, sp.hstack([ties, picks], format="csr"), offset[tied], offset[tied])
    return tied_program, columns.reshape(affine.offset.shape)


def _interval(matrix: sp.csr_array, lb: Array, ub: Array) -> tuple[Array, Array]:
    """Bounds of matrix @ w over a box."""
    positive, negative = matrix.maximum(0), matrix.minimum(0)
    # Only columns that occur count: an infinite bound of another one would make NaN of zero.
    used = np.zeros(matrix.shape[1], dtype=bool)
    used[matrix.indices] = True
    lb, ub = np.where(used, lb, 0.0), np.where(used, ub, 0.0)
    return positive @ lb + negative @ ub, positive @ ub + negative @ lb


def _with_output_bounds(program: Program, embedding: Embedding, columns: Array) -> Program:
    network = embedding.network
    low, high = bound(network, program.lb[columns], program.ub[columns])[-1]
    last = sp.csr_array(network.output.weights[len(network.stages)])
    low, high = value_range(network.activations[-1], low, high)
    positive, negative = last.maximum(0), last.minimum(0)
    smallest = (positive @ low.T + negative @ high.T).T + network.output.bias
    largest = (positive @ high.T + negative @ low.T).T + network.output.bias
    lb, ub = program.lb.copy(), program.ub.copy()
    lb[embedding.outputs] = np.maximum(lb[embedding.outputs], smallest - SAFETY * (1 + np.abs(smallest)))
    ub[embedding.outputs] = np.minimum(ub[embedding.outputs], largest + SAFETY * (1 + np.abs(largest)))
    return replace_bounds(program, lb, ub)
