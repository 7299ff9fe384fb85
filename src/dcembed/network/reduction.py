"""A network on a box: units whose sign is settled there are substituted exactly, the open ones remain.

For each of k boxes, over the open units u (in the order of their stages) and the input x,

    u = max(alpha x + gamma + links u, 0)   stage by stage,     f = out_units u + out_slope x + out_constant.

Boxes have different open units; within a stage they are padded to the same number by units that are always off.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, fields

import numpy as np

from dcembed.network.affine import Affine, Array
from dcembed.network.batched_products import apply_to_boxes, back_each, chunks_of_boxes, of_boxes, times_each
from dcembed.network.chunks import slices
from dcembed.network.network import Network
from dcembed.network.split import split_units

OFF = -1.0

# Units of a wide stage are written in terms of inputs and open units some at a time, so many numbers, 16 MB, in all.
COMPOSED_ENTRIES = 2_000_000


@dataclass(frozen=True, eq=False)
class ReducedNetwork:
    """The network on each of k boxes.

    Parameters
    ----------
    stages
        Slices of the open units of each stage.
    alpha, gamma
        Shapes (k, u, n_in) and (k, u).
    links
        For each stage the effect of all earlier open units on its own, shape (k, units of the stage, units before it).
    out_units, out_slope, out_constant
        Shapes (k, n_out, u), (k, n_out, n_in), (k, n_out).
    """

    stages: tuple[slice, ...]
    alpha: Array
    gamma: Array
    links: tuple[Array, ...]
    out_units: Array
    out_slope: Array
    out_constant: Array


def reduce(network: Network, bounds: list[tuple[Array, Array]], k: int) -> ReducedNetwork:
    """Substitute the units that `bounds` (of `bound`, over k boxes) settle."""
    d = network.num_inputs
    opens = [(low < 0) & (high > 0) for low, high in bounds]
    sizes = [int(o.sum(axis=1).max()) if o.size else 0 for o in opens]
    edges = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    stages = tuple(slice(int(a), int(b)) for a, b in itertools.pairwise(edges))
    total = int(edges[-1])
    reduced = ReducedNetwork(
        stages=stages,
        alpha=np.zeros((k, total, d)),
        gamma=np.full((k, total), OFF),
        links=tuple(np.zeros((k, stage.stop - stage.start, stage.start)) for stage in stages),
        out_units=np.zeros((k, network.num_outputs, total)),
        out_slope=np.zeros((k, network.num_outputs, d)),
        out_constant=np.zeros((k, network.num_outputs)),
    )
    for boxes in chunks_of_boxes(k, max((stage.num_rows for stage in network.stages), default=0) * (total + d)):
        _fill(network, [(low[boxes], open_[boxes]) for (low, _), open_ in zip(bounds, opens, strict=True)], edges, reduced, boxes)
    return reduced


def _fill(network: Network, signs: list[tuple[Array, Array]], edges: Array, reduced: ReducedNetwork, boxes: slice) -> None:
    """Reduce the network on some of the boxes; `signs` has lower bounds and the open units of every stage there."""
    k, d = boxes.stop - boxes.start, network.num_inputs
    alpha, gamma = reduced.alpha[boxes], reduced.gamma[boxes]
    values: list[_Value] = []
    for index, (stage, (low, open_)) in enumerate(zip(network.stages, signs, strict=True)):
        first = int(edges[index])
        links = reduced.links[index][boxes]
        parts = []
        for rows in list(slices(stage.num_rows, k * (d + first), COMPOSED_ENTRIES)) or [slice(0, 0)]:
            slope, constant, on_units = _compose(stage, rows, values, k, d, first)
            box, unit, slot = _slots(open_, rows, first)
            alpha[box, slot] = slope[box, unit]
            gamma[box, slot] = constant[box, unit]
            links[box, slot - first] = on_units[box, unit]
            # In a large box few units are settled, in a small one few are open: what is zero in all boxes is left out.
            live = np.flatnonzero((low[:, rows] >= 0).any(axis=0))
            on = (low[:, rows][:, live] >= 0).astype(np.float64)
            settled = slope[:, live] * on[:, :, None], constant[:, live] * on, on_units[:, live] * on[:, :, None]
            parts.append(_Value(rows.start + live, *settled, box, rows.start + unit, slot))
        values.append(_join(parts))
    output = slice(0, network.num_outputs)
    slope, constant, on_units = _compose(network.output, output, values, k, d, int(edges[-1]))
    reduced.out_slope[boxes], reduced.out_constant[boxes], reduced.out_units[boxes] = slope, constant, on_units


@dataclass(frozen=True, eq=False)
class _Value:
    """The units of a stage: those settled in some box as affine functions of x and earlier open units, open ones by their slots."""

    live: Array
    slope: Array
    constant: Array
    on_units: Array
    box: Array
    unit: Array
    slot: Array


def _join(parts: list[_Value]) -> _Value:
    """A stage from parts of it: units are the second axis, or the only one."""
    if len(parts) == 1:
        return parts[0]
    together = {field.name: [getattr(part, field.name) for part in parts] for field in fields(_Value)}
    return _Value(**{name: np.concatenate(arrays, axis=min(1, arrays[0].ndim - 1)) for name, arrays in together.items()})


def _slots(open_: Array, rows: slice, first: int) -> tuple[Array, Array, Array]:
    """Box, unit (counted from the first of the rows) and position of every open unit among some rows of a stage."""
    box, unit = np.nonzero(open_[:, rows])
    position = np.cumsum(open_, axis=1)[box, rows.start + unit] - 1
    return box, unit, first + position


def _compose(affine: Affine, rows: slice, values: list[_Value], k: int, d: int, total: int) -> tuple[Array, Array, Array]:
    """Some rows of an affine map of the sources in terms of x and the first `total` open units: (k, n, d), (k, n), (k, n, total)."""
    n = rows.stop - rows.start
    slope, constant, on_units = np.zeros((k, n, d)), np.tile(affine.bias[rows], (k, 1)), np.zeros((k, n, total))
    for source, whole in affine.weights.items():
        block = whole[rows]
        if source == 0:
            slope += block if isinstance(block, np.ndarray) else block.toarray()
            continue
        value = values[source - 1]
        settled = block[:, value.live]
        slope += apply_to_boxes(settled, value.slope)
        constant += value.constant @ settled.T
        earlier = value.on_units.shape[2]
        if earlier:
            on_units[:, :, :earlier] += apply_to_boxes(settled, value.on_units)
        # An open unit stands for itself: its column of the block.
        columns = block[:, value.unit]
        on_units[value.box, :, value.slot] += (columns if isinstance(columns, np.ndarray) else columns.toarray()).T
    return slope, constant, on_units


def open_units(reduced: ReducedNetwork, points: Array) -> Array:
    """Pre-activations of the open units at one point per box (k, n_in): shape (k, u)."""
    before = times_each(reduced.alpha, points) + reduced.gamma
    units = np.maximum(before, 0.0)
    for stage, links in zip(reduced.stages[1:], reduced.links[1:], strict=True):
        before[:, stage] += times_each(links, units[:, : stage.start])
        np.maximum(before[:, stage], 0.0, out=units[:, stage])
    return before


def backpropagate_open(reduced: ReducedNetwork, block: Array, active: Array, weights: Array) -> Array:
    """Gradient in x of weights' u on the linear piece `active`, for terms on given boxes: (t, u) -> (t, n_in)."""
    adjoint = weights.copy()
    for stage, links in zip(reversed(reduced.stages), reversed(reduced.links), strict=True):
        flow = adjoint[:, stage] * active[:, stage]
        adjoint[:, : stage.start] += back_each(flow, of_boxes(links, block))
    return back_each(adjoint * active, of_boxes(reduced.alpha, block))


def split_open(reduced: ReducedNetwork, block: Array, measurements: Array) -> tuple[Array, Array, Array, Array]:
    """The split of measurements (t, n_out) on given boxes: unit weights of G and of H (t, u), slope (t, n_in), constant (t,)."""
    direct = back_each(measurements, of_boxes(reduced.out_units, block))
    convex, concave = np.empty_like(direct), np.empty_like(direct)
    for terms in chunks_of_boxes(block.size, max((links[0].size for links in reduced.links if len(links)), default=0)):
        links = (
            (stage, slice(0, stage.start), of_boxes(effect, block[terms]))
            for stage, effect in zip(reversed(reduced.stages), reversed(reduced.links), strict=True)
        )
        convex[terms], concave[terms] = split_units(direct[terms], links, back_each)
    slope = back_each(measurements, of_boxes(reduced.out_slope, block))
    constant = np.einsum("to,to->t", measurements, reduced.out_constant[block])
    return convex, concave, slope, constant
