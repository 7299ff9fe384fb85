"""Ranges of predictions while a binary has a value: bounds of their networks over the inputs that are left then."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.unit_bounds import propagate
from dcembed.network.along import measured_along
from dcembed.network.bounds import bound
from dcembed.network.chunks import slices
from dcembed.network.network import CHUNK_ENTRIES, Network
from dcembed.program.conditional_bounds import ConditionalBounds
from dcembed.program.tightening import SAFETY, Box

# Multiplications that bounds by lines may take for all boxes of a network; beyond, intervals are all there is.
MAX_WORK = 2e9


def output_ranges(
    embeddings: Sequence[Embedding],
    column: Array,
    binary: Array,
    value: Array,
    box: Box,
    bounds: ConditionalBounds,
    by_lines: bool,
    check: Callable[[], None],
) -> Box:
    """The box of the columns with those of predictions made tighter by their networks, while binaries have values.

    Parameters
    ----------
    column, binary, value
        Entries: a column, and the binary beside it with its value. Shape (k,).
    box
        Bounds of each column then.
    by_lines
        Whether the bounds are linear ones, which cost more than intervals.
    check
        Called between large products; what it raises ends the computation.
    """
    lb, ub = box.lb.copy(), box.ub.copy()
    for embedding in embeddings:
        place = np.full(bounds.box.lb.size, -1)
        place[embedding.outputs.reshape(-1)] = np.arange(embedding.outputs.size)
        entry = np.flatnonzero(place[column] >= 0)
        if entry.size == 0:
            continue
        evaluation, output = np.divmod(place[column[entry]], embedding.network.num_outputs)
        # Rows of one binary on several predictions of an evaluation look at the same inputs.
        asked, number = np.unique(np.stack([evaluation, binary[entry], value[entry]]), axis=1, return_inverse=True)
        low, high = _ranges(embedding.network, _input_box(embedding, bounds, *asked), by_lines, check)
        low, high = low[number.reshape(-1), output], high[number.reshape(-1), output]
        # Rounding never cuts a prediction off.
        lb[entry] = np.maximum(lb[entry], low - SAFETY * (1.0 + np.abs(low)))
        ub[entry] = np.minimum(ub[entry], high + SAFETY * (1.0 + np.abs(high)))
    return Box(lb, ub)


def _input_box(embedding: Embedding, bounds: ConditionalBounds, evaluation: Array, binary: Array, value: Array) -> Box:
    """Bounds of the inputs of evaluations, each while its binary has its value; shapes (k, n_in)."""
    inputs, width = embedding.affine_inputs(bounds.box.lb.size), embedding.network.num_inputs
    matrix = inputs.matrix[(evaluation[:, None] * width + np.arange(width)).reshape(-1)]
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    box = bounds.at(matrix.indices, binary[row // width], value[row // width])
    used, size = matrix.data != 0.0, matrix.shape[0]
    row, one, other = row[used], (matrix.data * box.lb)[used], (matrix.data * box.ub)[used]
    low, high = (np.bincount(row, pick(one, other), minlength=size).reshape(-1, width) for pick in (np.minimum, np.maximum))
    return Box(low + inputs.offset[evaluation], high + inputs.offset[evaluation])


def _ranges(network: Network, box: Box, by_lines: bool, check: Callable[[], None]) -> tuple[Array, Array]:
    """Bounds of the predictions over each box, shapes (k, n_out)."""
    whole = measured_along(network, np.eye(network.num_outputs))
    size = box.lb.shape[0]
    weights = sum(block.shape[0] * block.shape[1] for stage in whole.stages for block in stage.weights.values())
    lines = by_lines and 4.0 * size * weights * network.num_inputs <= MAX_WORK
    low, high = np.empty((size, network.num_outputs)), np.empty((size, network.num_outputs))
    for part in slices(size, network.num_inputs * (network.num_inputs + whole.num_hidden), CHUNK_ENTRIES):
        check()
        inside = Box(box.lb[part], box.ub[part])
        stages = bound(whole, *inside, check) if lines else _by_intervals(whole, inside)
        low[part], high[part] = stages[-1]
    return low, high


def _by_intervals(network: Network, box: Box) -> list[tuple[Array, Array]]:
    size = box.lb.shape[0]
    endless = [(np.full((size, width), -np.inf), np.full((size, width), np.inf)) for width in network.widths]
    return propagate(network, (box.lb, box.ub), endless)
