"""What the networks say about the columns of their predictions: a column that stays in the host has at most the range of its network.

A host may square such a column or multiply it by others; without an end to it, a solver has no bound to begin with.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedding import AffineInputs, Embedding
from dcembed.network.bounds import bound_outputs
from dcembed.network.chunks import slices
from dcembed.program.derive import derive
from dcembed.program.program import Program
from dcembed.program.tightening import SAFETY, Box, tighten

# Networks may feed one another; a chain of so many is bounded to its end.
NUM_PASSES = 4
# Numbers that the bounds of some evaluations may hold at a time, 80 MB.
CHUNK_ENTRIES = 10_000_000


def bound_predictions(program: Program, embeddings: Sequence[Embedding], columns: Array) -> Program:
    """The program with the ranges of the networks as bounds of these prediction columns, where those have no end of their own."""
    box = Box(program.lb.copy(), program.ub.copy())
    endless = columns[np.isinf(box.lb[columns]) | np.isinf(box.ub[columns])]
    if endless.size == 0:
        return program
    for _ in range(NUM_PASSES):
        before = box.lb[endless], box.ub[endless]
        implied = tighten(derive(program, lb=box.lb, ub=box.ub))
        for embedding in embeddings:
            _narrow(embedding, implied, box, endless)
        if np.array_equal(before, (box.lb[endless], box.ub[endless])):
            break
    return derive(program, lb=box.lb, ub=box.ub)


def _narrow(embedding: Embedding, implied: Box, box: Box, columns: Array) -> None:
    """Narrow the box on the predictions of one embedding, evaluation by evaluation."""
    network, inputs = embedding.network, embedding.affine_inputs(implied.lb.size)
    used = np.flatnonzero(np.isin(embedding.outputs, columns).any(axis=1))
    low, high = _input_ranges(inputs, implied)
    size = network.num_inputs * (network.num_hidden + network.num_outputs)
    for chunk in slices(used.size, size, CHUNK_ENTRIES):
        some = used[chunk]
        lower, upper = bound_outputs(network, low[some], high[some])
        own = embedding.outputs[some]
        wanted = np.isin(own, columns)
        room = SAFETY * (1.0 + np.maximum(np.abs(lower), np.abs(upper)))
        np.maximum.at(box.lb, own[wanted], _finite(lower - room, -np.inf)[wanted])
        np.minimum.at(box.ub, own[wanted], _finite(upper + room, np.inf)[wanted])
    # What two networks say of one column may not fit together; that is for the rows to tell.
    np.minimum(box.lb, box.ub, out=box.lb)


def _finite(value: Array, otherwise: float) -> Array:
    return np.where(np.isfinite(value), value, otherwise)


def _input_ranges(inputs: AffineInputs, box: Box) -> tuple[Array, Array]:
    """Bounds of the inputs of every evaluation, shapes (k, n_in)."""
    matrix, shape = inputs.matrix, inputs.offset.shape
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    used = matrix.data != 0
    one, other = matrix.data[used] * box.lb[matrix.indices[used]], matrix.data[used] * box.ub[matrix.indices[used]]
    low = np.bincount(row[used], np.minimum(one, other), minlength=matrix.shape[0])
    high = np.bincount(row[used], np.maximum(one, other), minlength=matrix.shape[0])
    return low.reshape(shape) + inputs.offset, high.reshape(shape) + inputs.offset
