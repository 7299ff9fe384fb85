"""The network part of objective and restrictions at a point: values, tangents of the linearized component, bounds.

Measurement 0 is the objective, measurement i + 1 the i-th restriction. Each is f = G - H with G kept and H linearized. The concave part
-1/2 w'Cw of an objective that is not convex belongs to H of measurement 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from dcembed.embedded.collapsed import Collapsed, collapsed_inputs, collapsed_slopes, collapsed_units, collapsed_values, largest_units
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measured_network import MeasuredNetwork, Pass, adder
from dcembed.network.activations import RELU
from dcembed.network.activations.ranges import value_range
from dcembed.network.affine import Array
from dcembed.network.backpropagation import backpropagate
from dcembed.network.bounds import bound
from dcembed.network.network import Network, chunks
from dcembed.program.derive import widened
from dcembed.program.matrices import half_square
from dcembed.tolerances import KINK_TOL

# Terms for each block from which on blocks are passed through before they are given to their terms.
FEW = 2


@dataclass(frozen=True, eq=False)
class Tangents:
    """The affine lower bounds H^(w) = slope @ w + constant of the components H of all measurements; shapes (s + 1, n) and (s + 1,)."""

    slope: sp.csr_array
    constant: Array


def evaluate_measurements(embedded: EmbeddedProgram, w: Array, predictions: Sequence[Array] | None = None) -> Array:
    """The network part f of every measurement, shape (s + 1,).

    From the predictions of all networks at w where they are given; else terms that share their decisions are evaluated together.
    """
    total = np.zeros(num_measurements(embedded))
    total[0] = -half_square(embedded.concave, w)
    for number, measured in enumerate(embedded.networks):
        plain = measured if predictions is not None else measured.plain
        _add_terms(total, plain, predictions[number] if predictions is not None else plain.predict(w))
        if predictions is None and (collapsed := measured.collapsed) is not None:
            weights, slope, constant = measured.direct
            values = collapsed_values(collapsed, collapsed_inputs(collapsed, w), weights[0], slope, constant)
            np.add.at(total, measured.parts.measurement[collapsed.part], values)
    return total


def _add_terms(total: Array, measured: MeasuredNetwork, outputs: Array) -> None:
    """Add the terms to their measurements, given the predictions of all blocks."""
    terms = measured.terms
    values = np.einsum("to,to->t", measured.directions[terms.direction], outputs[terms.block])
    total += np.bincount(terms.measurement, terms.scale * values, minlength=total.size)


def num_measurements(embedded: EmbeddedProgram) -> int:
    """s + 1: the objective and the restrictions."""
    return embedded.restrictions.num_restrictions + 1


def linearize(embedded: EmbeddedProgram, w: Array, on_at_kinks: bool = True) -> Tangents:
    """Tangents at w of the components H of all measurements, in the split for the whole input space."""
    height, slope = begin_tangents(embedded, w)
    for measured in embedded.networks:
        (swept,) = sweep(measured.convex, w, [by_direction(measured.split.concave)], on_at_kinks)
        height += embedded.part_sums[measured.number] @ swept.height
        slope = slope + embedded.part_sums[measured.number] @ pull_back(measured, swept.gradient)
    return Tangents(sp.csr_array(slope), height - slope @ w)


def begin_tangents(embedded: EmbeddedProgram, w: Array) -> tuple[Array, sp.csr_array]:
    """Height (s + 1,) and slope (s + 1, n) of the components H at w without their networks: 1/2 w'Cw in the objective, else zero."""
    size = num_measurements(embedded)
    height, slope = np.zeros(size), sp.csr_array((size, w.size))
    if embedded.concave is None:
        return height, slope
    height[0] = half_square(embedded.concave, w)
    return height, widened(sp.csr_array((embedded.concave @ w)[None]), size, w.size)


def slopes(embedded: EmbeddedProgram, w: Array, on_at_kinks: bool = True) -> sp.csr_array:
    """Gradients of the network part of every measurement on the linear piece at w, shape (s + 1, n)."""
    slope = embedded.slope_pattern.gather([_gradient(measured, w, on_at_kinks) for measured in embedded.networks])
    return slope if embedded.concave is None else sp.csr_array(slope - begin_tangents(embedded, w)[1])


def _gradient(measured: MeasuredNetwork, w: Array, on_at_kinks: bool) -> Array:
    """Of each part in its inputs, shape (p, n_in)."""
    (swept,) = sweep(measured, w, [measured.weights_of_terms], on_at_kinks, with_heights=False)
    if 0 not in measured.network.output.weights:
        return swept.gradient
    gradient: Array = swept.gradient + _sum_over_terms(measured, measured.direct_slope)
    return gradient


def kept_affine(embedded: EmbeddedProgram) -> tuple[sp.csr_array, Array]:
    """The part d'x + beta of G in each measurement, as coefficients on w (s + 1, n) and constants (s + 1,)."""
    size = num_measurements(embedded)
    slope, constant = sp.csr_array((size, embedded.host.num_columns)), np.zeros(size)
    for measured in embedded.networks:
        split, plain, collapsed = measured.split, measured.plain, measured.collapsed
        terms = plain.terms
        at_offset = np.einsum("td,td->t", split.slope[terms.direction], plain.offset[terms.block])
        constant += np.bincount(terms.measurement, terms.scale * (split.constant[terms.direction] + at_offset), minlength=size)
        if collapsed is not None:
            at_offset = np.einsum("gd,gd->g", split.slope[collapsed.direction], collapsed.offset)
            value = collapsed.mass * split.constant[collapsed.direction] + at_offset
            constant += np.bincount(measured.parts.measurement[collapsed.part], value, minlength=size)
        slope = slope + embedded.part_sums[measured.number] @ pull_back(measured, _sum_over_terms(measured, split.slope))
    return sp.csr_array(slope), constant


def _sum_over_terms(measured: MeasuredNetwork, slope: Array) -> Array:
    """Sums over the terms of each part, shape (p, n_in), of their scale times what is given for each direction (d, n_in)."""
    plain, collapsed = measured.plain, measured.collapsed
    total: Array = plain.term_sums @ slope[plain.terms.direction]
    if collapsed is not None:
        np.add.at(total, collapsed.part, collapsed.mass[:, None] * slope[collapsed.direction])
    return total


def largest_kept(embedded: EmbeddedProgram, lb: Array, ub: Array) -> Array:
    """Upper bounds over the box lb <= w <= ub of the part of G that is in the units, shape (s + 1,)."""
    total = np.zeros(num_measurements(embedded))
    for measured in embedded.networks:
        plain, form = measured.plain, measured.convex_form
        terms = plain.terms
        low, high = input_box(plain, lb, ub)
        for chunk in chunks(terms.block.size, measured.network):
            block, direction = terms.block[chunk], terms.direction[chunk]
            reach = np.zeros(block.size)
            bounds = form.bounds(bound(measured.network, low[block], high[block]))
            for weight, activation, ends in zip(measured.split.convex, form.network.activations, bounds, strict=True):
                # A unit without weight may be as large as it likes: zero times infinity is zero.
                largest = np.where(weight[direction] > 0, value_range(activation, *ends)[1], 0.0)
                reach += np.einsum("tj,tj->t", weight[direction], largest)
            total += np.bincount(terms.measurement[chunk], terms.scale[chunk] * reach, minlength=total.size)
        if measured.collapsed is not None:
            np.add.at(total, measured.parts.measurement[measured.collapsed.part], _largest_collapsed(measured, measured.collapsed, lb, ub))
    return total


def _largest_collapsed(measured: MeasuredNetwork, collapsed: Collapsed, lb: Array, ub: Array) -> Array:
    """Upper bounds over the box of the part of G that is in the units of each group, shape (g,)."""
    low, high = (side[measured.parts.map[collapsed.part]] for side in map_box(measured, lb, ub))
    ((_, upper),) = bound(measured.network, low, high)
    return largest_units(collapsed, upper, measured.network.stages[0].bias, measured.split.convex[0])


def input_box(measured: MeasuredNetwork, lb: Array, ub: Array) -> tuple[Array, Array]:
    """Bounds of the inputs of every block when lb <= w <= ub, shapes (num_blocks, n_in)."""
    low, high = map_box(measured, lb, ub)
    return low[measured.map_of] + measured.offset, high[measured.map_of] + measured.offset


def map_box(measured: MeasuredNetwork, lb: Array, ub: Array) -> tuple[Array, Array]:
    """Bounds of the inputs without their constants when lb <= w <= ub, for each map: shapes (g, n_in)."""
    matrix = measured.maps
    with np.errstate(invalid="ignore"):
        one, other = matrix.data * lb[matrix.indices], matrix.data * ub[matrix.indices]
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    low = measured.spread(np.bincount(row, np.minimum(one, other), minlength=matrix.shape[0]))
    high = measured.spread(np.bincount(row, np.maximum(one, other), minlength=matrix.shape[0]))
    return low, high


@dataclass(frozen=True, eq=False)
class Swept:
    """Of each part at a point: the height of a component (p,), and its gradient in the inputs (p, n_in)."""

    height: Array
    gradient: Array


# Unit weights of a component in some directions, stage by stage: from their numbers (t,) to arrays (t, width).
Component: TypeAlias = Callable[[Array], list[Array]]


def by_direction(weights: Sequence[Array]) -> Component:
    """The component whose unit weights in all directions are known, each of shape (d, width)."""
    return lambda directions: [weight[directions] for weight in weights]


def sweep(
    measured: MeasuredNetwork, w: Array, components: Sequence[Component], on_at_kinks: bool = True, with_heights: bool = True
) -> list[Swept]:
    """One forward pass over all terms, and a backward pass for each component, given by its unit weights per direction.

    A unit at its kink counts as active by default: at the origin of a network without biases the other choice has no slope at all. Without
    heights those of terms that are passed through one by one stay zero.
    """
    plain = measured.plain
    network, terms, size = plain.network, plain.terms, plain.parts.num_parts
    swept = [Swept(np.zeros(size), np.zeros((size, network.num_inputs))) for _ in components]
    known = plain.passes_at(w) if terms.block.size >= FEW * plain.num_blocks else None
    moved = plain.moved(w) if known is None else np.zeros(0)
    for chunk in chunks(terms.block.size, network):
        block, direction, scale = terms.block[chunk], terms.direction[chunk], terms.scale[chunk]
        made, repeats = (known, block) if known is not None else _pass(plain, moved, block)
        active = [each[repeats] for each in unit_slopes(network, made.before, on_at_kinks)]
        values = [each[repeats] for each in made.units] if with_heights else []
        gather = plain.term_sums if block.size == terms.block.size else adder(terms.part[chunk], scale, size)
        for component, total in zip(components, swept, strict=True):
            weights = component(direction)
            if with_heights:
                np.add(total.height, gather @ _weigh(weights, values, block.size), out=total.height)
            np.add(total.gradient, backpropagate(network, active, weights, gather), out=total.gradient)
    if measured.collapsed is not None:
        _sweep_collapsed(measured.collapsed, w, components, on_at_kinks, swept)
    return swept


def _pass(measured: MeasuredNetwork, moved: Array, block: Array) -> tuple[Pass, Array | slice]:
    """The forward pass of these blocks, and where each of them is found there.

    Where most blocks come several times, as with all sides of all outputs, all of them are passed through once.
    """
    everything = slice(None)
    if block.size >= FEW * measured.num_blocks:
        return measured.pass_through(moved, everything), block
    return measured.pass_through(moved, block), everything


def _sweep_collapsed(collapsed: Collapsed, w: Array, components: Sequence[Component], on_at_kinks: bool, swept: Sequence[Swept]) -> None:
    """Add the groups to their parts."""
    every = np.arange(int(collapsed.direction.max()) + 1)
    inputs, weights = collapsed_inputs(collapsed, w), [component(every)[0] for component in components]
    gradients = collapsed_slopes(collapsed, inputs, weights, on_at_kinks)
    for total, height, gradient in zip(swept, collapsed_units(collapsed, inputs, weights), gradients, strict=True):
        np.add.at(total.height, collapsed.part, height)
        np.add.at(total.gradient, collapsed.part, gradient)


def unit_slopes(network: Network, preactivation: Sequence[Array], on_at_kinks: bool = True) -> list[Array]:
    """The slopes of the units of every stage; of a ReLU, whether it counts as active."""
    pairs = zip(network.activations, preactivation, strict=True)
    return [is_active(stage, on_at_kinks) if activation is RELU else activation.slope(stage) for activation, stage in pairs]


def is_active(preactivation: Array, on_at_kinks: bool) -> Array:
    """Which units count as active, those at a kink (to rounding) one way or the other."""
    return preactivation >= -KINK_TOL if on_at_kinks else preactivation > KINK_TOL


def are_on_one_piece(embedded: EmbeddedProgram, one: Array, other: Array) -> bool:
    """Whether the networks are known to be one and the same affine function around two points: no unit is at a kink, and all agree.

    Only of ReLU networks that are passed through term by term it is known.
    """
    return all(_is_on_one_piece(measured, one, other) for measured in embedded.networks) and embedded.concave is None


def _is_on_one_piece(measured: MeasuredNetwork, one: Array, other: Array) -> bool:
    network = measured.network
    if measured.collapsed is not None or any(activation is not RELU for activation in network.activations):
        return False
    if (first := measured.passes_at(one)) is not None and (second := measured.passes_at(other)) is not None:
        return _agree(first, second)
    at_one, at_other = measured.moved(one), measured.moved(other)
    some = chunks(measured.num_blocks, network)
    return all(_agree(measured.pass_through(at_one, chunk), measured.pass_through(at_other, chunk)) for chunk in some)


def _agree(one: Pass, other: Pass) -> bool:
    """Whether all units are on the same side in two passes, and none at its kink in the second."""
    pairs = zip(one.before, other.before, strict=True)
    return all(np.array_equal(first > 0, second > 0) and np.abs(second).min(initial=np.inf) > KINK_TOL for first, second in pairs)


def pull_back(measured: MeasuredNetwork, gradient: Array) -> sp.csr_array:
    """Coefficients on w of parts whose gradient in their inputs is given (p, n_in): shape (p, n)."""
    size, width = gradient.shape
    entries = gradient.reshape(-1), np.arange(gradient.size), np.arange(size + 1) * width
    return sp.csr_array(sp.csr_array(entries, shape=(size, gradient.size)) @ measured.part_maps)


def _weigh(weights: Sequence[Array], values: Sequence[Array], size: int) -> Array:
    total = np.zeros(size)
    for weight, value in zip(weights, values, strict=True):
        total += np.einsum("tj,tj->t", weight, value)
    return total
