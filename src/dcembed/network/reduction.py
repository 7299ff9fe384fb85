"""A network of convex units on a box: units that are straight there are substituted exactly, of the others what is bent remains.

On [low, high] a unit psi(a) is its tangent at low, which is substituted, and what it gains on that tangent, which is convex,
nondecreasing and zero at low. Of a ReLU whose sign is settled nothing remains, of one whose sign is open the whole unit.
For each of k boxes, over the open units u (in the order of their stages) and the input x,

    a = alpha x + gamma + links u,   u = psi(a) - tilt * a - height   stage by stage,     f = out_units u + out_slope x + out_constant.

Boxes have different open units; within a stage they are padded to the same number by units that are always zero.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from dcembed.network.activations import RELU, Activation
from dcembed.network.affine import Affine, Array
from dcembed.network.batched_products import apply_to_boxes, back_each, chunks_of_boxes, of_boxes, times_each
from dcembed.network.chunks import slices
from dcembed.network.network import Network
from dcembed.network.split import split_units
from dcembed.network.unit_tangents import Tangent, tangent_at

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
    activations
        psi of each stage.
    tilt, height
        The tangents that are taken out of the open units, shapes (k, u); None where they are zero, as of ReLU units.
    steepest, largest
        Of the open units the largest slope and value on their boxes, shapes (k, u); no slope where it is 1, as of ReLU units.
    """

    stages: tuple[slice, ...]
    alpha: Array
    gamma: Array
    links: tuple[Array, ...]
    out_units: Array
    out_slope: Array
    out_constant: Array
    activations: tuple[Activation, ...]
    tilt: Array | None
    height: Array | None
    steepest: Array | None
    largest: Array

    def units(self, before: Array, stage: int) -> Array:
        """The open units of a stage, given their pre-activations (k, units of the stage) on all boxes."""
        value = self.activations[stage].value(before)
        if self.tilt is None or self.height is None:
            return value
        own = self.stages[stage]
        gain: Array = np.maximum(value - self.tilt[:, own] * before - self.height[:, own], 0.0)
        return gain


def reduce(network: Network, bounds: list[tuple[Array, Array]], k: int) -> ReducedNetwork:
    """Substitute what `bounds` (of `bound`, over k boxes) settle of a network of convex units."""
    d = network.num_inputs
    tangents = [tangent_at(*each) for each in zip(network.activations, bounds, strict=True)]
    opens = [tangent.is_open for tangent in tangents]
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
        activations=network.activations,
        tilt=None,
        height=None,
        steepest=None,
        largest=_in_slots(tangents, stages, "largest", k),
    )
    if not network.is_piecewise_linear:
        tilt, steepest = (_in_slots(tangents, stages, name, k) for name in ("tilt", "steepest"))
        # A padded unit is the same in all boxes, and is taken out as a whole.
        padding = [activation.value(np.array([OFF]))[0] for activation in network.activations]
        height = _in_slots(tangents, stages, "height", k, padding)
        reduced = replace(reduced, tilt=tilt, height=height, steepest=steepest)
    for boxes in chunks_of_boxes(k, max((stage.num_rows for stage in network.stages), default=0) * (total + d)):
        _fill(network, [tangent.on(boxes) for tangent in tangents], edges, reduced, boxes)
    return reduced


def _in_slots(tangents: list[Tangent], stages: tuple[slice, ...], name: str, k: int, padding: Sequence[float] | None = None) -> Array:
    """Something of all open units, in their slots: shape (k, u); zero in padded slots, or what is given for them stage by stage."""
    values = np.zeros((k, stages[-1].stop if stages else 0))
    for index, (tangent, stage) in enumerate(zip(tangents, stages, strict=True)):
        values[:, stage] = 0.0 if padding is None else padding[index]
        box, unit, slot = open_slots(tangent.is_open, stage.start)
        values[box, slot] = getattr(tangent, name)[box, unit]
    return values


def _fill(network: Network, tangents: list[Tangent], edges: Array, reduced: ReducedNetwork, boxes: slice) -> None:
    """Reduce the network on some of the boxes, given the tangents of every stage there."""
    k, d = boxes.stop - boxes.start, network.num_inputs
    alpha, gamma = reduced.alpha[boxes], reduced.gamma[boxes]
    values: list[_Value] = []
    for index, (stage, tangent) in enumerate(zip(network.stages, tangents, strict=True)):
        first = int(edges[index])
        links = reduced.links[index][boxes]
        parts = []
        for rows in list(slices(stage.num_rows, k * (d + first), COMPOSED_ENTRIES)) or [slice(0, 0)]:
            slope, constant, on_units = _compose(stage, rows, values, k, d, first)
            box, unit, slot = open_slots(tangent.is_open, first, rows)
            alpha[box, slot] = slope[box, unit]
            gamma[box, slot] = constant[box, unit]
            links[box, slot - first] = on_units[box, unit]
            # In a large box few units are settled, in a small one few are open: what is zero in all boxes is left out.
            tilt, height = tangent.tilt[:, rows], tangent.height[:, rows]
            live = np.flatnonzero(((tilt != 0) | (height != 0)).any(axis=0))
            on = tilt[:, live]
            settled = slope[:, live] * on[:, :, None], constant[:, live] * on + height[:, live], on_units[:, live] * on[:, :, None]
            parts.append(_Value(rows.start + live, *settled, box, rows.start + unit, slot))
        values.append(_join(parts))
    output = slice(0, network.num_outputs)
    slope, constant, on_units = _compose(network.output, output, values, k, d, int(edges[-1]))
    reduced.out_slope[boxes], reduced.out_constant[boxes], reduced.out_units[boxes] = slope, constant, on_units


@dataclass(frozen=True, eq=False)
class _Value:
    """The units of a stage: their tangents as affine functions of x and earlier open units, what open ones gain on them by their slots."""

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


def open_slots(is_open: Array, first: int, rows: slice = slice(0, None)) -> tuple[Array, Array, Array]:
    """Box, unit (counted from the first of the rows) and slot of every open unit among some rows of a stage, whose slots begin with `first`."""
    box, unit = np.nonzero(is_open[:, rows])
    position = np.cumsum(is_open, axis=1)[box, rows.start + unit] - 1
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
    units = np.empty_like(before)
    for index, (stage, links) in enumerate(zip(reduced.stages, reduced.links, strict=True)):
        if index:
            before[:, stage] += times_each(links, units[:, : stage.start])
        units[:, stage] = reduced.units(before[:, stage], index)
    return before


def open_values(reduced: ReducedNetwork, before: Array) -> Array:
    """The open units, given their pre-activations on all boxes, shape (k, u)."""
    if reduced.tilt is None:
        return np.maximum(before, 0.0)
    return np.concatenate([before[:, :0], *(reduced.units(before[:, own], index) for index, own in enumerate(reduced.stages))], axis=1)


def open_slopes(reduced: ReducedNetwork, before: Array, is_on: Callable[[Array], Array]) -> Array:
    """The slopes of the open units, shape (k, u); of ReLU units whether they are on, which `is_on` decides."""
    if reduced.tilt is None:
        return is_on(before)
    stages = [
        is_on(before[:, own]) if activation is RELU else activation.slope(before[:, own])
        for activation, own in zip(reduced.activations, reduced.stages, strict=True)
    ]
    slopes: Array = np.maximum(np.concatenate([before[:, :0], *stages], axis=1) - reduced.tilt, 0.0)
    return slopes


def backpropagate_open(reduced: ReducedNetwork, block: Array, slopes: Array, weights: Array) -> Array:
    """Gradient in x of weights' u with these slopes of the units, for terms on given boxes: (t, u) -> (t, n_in)."""
    adjoint = weights.copy()
    for stage, links in zip(reversed(reduced.stages), reversed(reduced.links), strict=True):
        flow = adjoint[:, stage] * slopes[:, stage]
        adjoint[:, : stage.start] += back_each(flow, of_boxes(links, block))
    return back_each(adjoint * slopes, of_boxes(reduced.alpha, block))


def split_open(reduced: ReducedNetwork, block: Array, measurements: Array) -> tuple[Array, Array, Array, Array]:
    """The split of measurements (t, n_out) on given boxes: unit weights of G and of H (t, u), slope (t, n_in), constant (t,)."""
    direct = back_each(measurements, of_boxes(reduced.out_units, block))
    convex, concave = np.empty_like(direct), np.empty_like(direct)
    for terms in chunks_of_boxes(block.size, max((links[0].size for links in reduced.links if len(links)), default=0)):
        links = (
            (stage, slice(0, stage.start), of_boxes(effect, block[terms]))
            for stage, effect in zip(reversed(reduced.stages), reversed(reduced.links), strict=True)
        )
        steepest = None if reduced.steepest is None else reduced.steepest[block[terms]]
        convex[terms], concave[terms] = split_units(direct[terms], links, back_each, steepest)
    slope = back_each(measurements, of_boxes(reduced.out_slope, block))
    constant = np.einsum("to,to->t", measurements, reduced.out_constant[block])
    return convex, concave, slope, constant
