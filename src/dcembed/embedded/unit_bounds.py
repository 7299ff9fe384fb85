"""Bounds of the pre-activations of every evaluation, from what the host says about the columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.errors import MissingBoundError
from dcembed.network.activations.ranges import value_range
from dcembed.network.bounds import bound, go_on, image
from dcembed.network.chunks import slices
from dcembed.network.network import CHUNK_ENTRIES, Network
from dcembed.program.program import Program
from dcembed.program.tightening import tighten

# For each stage the lower and upper bounds of its pre-activations, each of shape (k, width).
StageBounds = list[tuple[Array, Array]]


def column_box(program: Program, embeddings: Sequence[Embedding], check: Callable[[], None] = go_on) -> tuple[Array, Array]:
    """Bounds of all columns, those of the predictions by interval arithmetic; shapes (n,). `check` may raise to end it."""
    lb, ub = tighten(program)
    for _ in embeddings:
        before = lb.copy(), ub.copy()
        for embedding in embeddings:
            _limit_outputs(embedding, lb, ub, check)
        if np.array_equal(before[0], lb) and np.array_equal(before[1], ub):
            break
    return lb, ub


def input_boxes(embedding: Embedding, lb: Array, ub: Array) -> tuple[Array, Array]:
    """Bounds of the inputs of every evaluation when lb <= w <= ub, shapes (k, n_in)."""
    inputs = embedding.affine_inputs(lb.size)
    plus, minus = _part(inputs.matrix, 1.0), _part(inputs.matrix, -1.0)
    low = (plus @ lb + minus @ ub).reshape(inputs.offset.shape) + inputs.offset
    return low, (plus @ ub + minus @ lb).reshape(inputs.offset.shape) + inputs.offset


def bound_evaluations(embedding: Embedding, lb: Array, ub: Array, check: Callable[[], None] = go_on) -> StageBounds:
    """Bounds of the pre-activations of every evaluation when lb <= w <= ub; `check` may raise to end it."""
    network = embedding.network
    low, high = input_boxes(embedding, lb, ub)
    result = [(np.empty((low.shape[0], width)), np.empty((low.shape[0], width))) for width in network.widths]
    # Bounds carry the slopes in all inputs along.
    for part in slices(low.shape[0], network.num_inputs * (network.num_inputs + network.num_hidden), CHUNK_ENTRIES):
        for (stage_lb, stage_ub), (some_lb, some_ub) in zip(result, bound(network, low[part], high[part], check), strict=True):
            stage_lb[part], stage_ub[part] = some_lb, some_ub
    return result


def propagate(network: Network, box: tuple[Array, Array], bounds: StageBounds) -> StageBounds:
    """The same bounds, those of later stages tightened by interval arithmetic from the earlier ones; `box` bounds the inputs."""
    sources, result = [box], []
    for stage, activation, (stage_lb, stage_ub) in zip(network.stages, network.activations, bounds, strict=True):
        low, high = image(stage, sources)
        result.append((np.fmax(low, stage_lb), np.fmin(high, stage_ub)))
        sources.append(value_range(activation, *result[-1]))
    return result


def check_finite(program: Program, embedding: Embedding, bounds: StageBounds, lb: Array, ub: Array) -> None:
    """MissingBoundError naming a column that leaves a pre-activation without bounds."""
    if all(np.isfinite(low).all() and np.isfinite(high).all() for low, high in bounds):
        return
    columns = np.unique(embedding.affine_inputs(lb.size).coefficients.indices)
    endless = columns[np.isinf(lb[columns]) | np.isinf(ub[columns])]
    if endless.size == 0:
        raise MissingBoundError(
            "The units of a network may be as large as numbers go over the bounds of its inputs, and an exact encoding needs bounds of every "
            "unit. Give the inputs narrower bounds."
        )
    column = endless[0]
    side = "lower" if np.isinf(lb[column]) else "upper"
    label = program.column_label(int(column))
    raise MissingBoundError(
        f"C{label[1:]} has no finite {side} bound, but the input of a network depends on it, and an exact encoding needs bounds of "
        f"every unit. Give {label} a finite {side} bound, or rows that imply one."
    )


def _limit_outputs(embedding: Embedding, lb: Array, ub: Array, check: Callable[[], None]) -> None:
    """Tighten lb and ub in place by the range of the predictions."""
    box = input_boxes(embedding, lb, ub)
    bounds = bound_evaluations(embedding, lb, ub, check)
    units = [value_range(activation, *ends) for activation, ends in zip(embedding.network.activations, bounds, strict=True)]
    low, high = image(embedding.network.output, [box, *units])
    # A range beside the column's own bounds means an infeasible problem, which the solver is to find.
    fits = (low <= ub[embedding.outputs]) & (high >= lb[embedding.outputs])
    columns = embedding.outputs[fits]
    lb[columns] = np.maximum(lb[columns], low[fits])
    ub[columns] = np.minimum(ub[columns], high[fits])


def _part(matrix: sp.csr_array, sign: float) -> sp.csr_array:
    """The entries of one sign alone: stored zeros times infinite bounds would not be numbers."""
    part = matrix.copy()
    part.data = np.where(part.data * sign > 0, part.data, 0.0)
    part.eliminate_zeros()
    return part
