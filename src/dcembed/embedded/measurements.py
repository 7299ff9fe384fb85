"""The network part of objective and restrictions at a point: values, tangents of the linearized component, bounds.

Measurement 0 is the objective, measurement i + 1 the i-th restriction. Each is f = G - H with G kept and H linearized.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.network.affine import Array
from dcembed.network.backpropagation import backpropagate
from dcembed.network.bounds import bound
from dcembed.network.network import chunks, evaluate, preactivations, units
from dcembed.tolerances import KINK_TOL


@dataclass(frozen=True, eq=False)
class Tangents:
    """Values of the measurements at a point and the affine lower bounds H^ of their components H there.

    Parameters
    ----------
    value
        f, shape (s + 1,).
    slope
        H^(w) = slope @ w + constant; shape (s + 1, n).
    constant
        Shape (s + 1,).
    """

    value: Array
    slope: sp.csr_array
    constant: Array


def evaluate_measurements(embedded: EmbeddedProgram, w: Array) -> Array:
    """The network part f of every measurement at w, shape (s + 1,)."""
    total = np.zeros(num_measurements(embedded))
    for measured in embedded.networks:
        terms = measured.terms
        for chunk in chunks(terms.block.size, measured.network):
            outputs = evaluate(measured.network, measured.points(w, terms.block[chunk]))
            values = np.einsum("to,to->t", measured.directions[terms.direction[chunk]], outputs)
            total += np.bincount(terms.measurement[chunk], terms.scale[chunk] * values, minlength=total.size)
    return total


def num_measurements(embedded: EmbeddedProgram) -> int:
    """s + 1: the objective and the restrictions."""
    return embedded.restrictions.num_restrictions + 1


def linearize(embedded: EmbeddedProgram, w: Array, on_at_kinks: bool = True) -> Tangents:
    """Values of all measurements at w, and tangents of their components H."""
    size = num_measurements(embedded)
    value, height = np.zeros(size), np.zeros(size)
    slope = sp.csr_array((size, w.size))
    for measured in embedded.networks:
        swept = sweep(measured, w, measured.split.concave, on_at_kinks)
        value += np.bincount(measured.parts.measurement, swept.value, minlength=size)
        height += np.bincount(measured.parts.measurement, swept.height, minlength=size)
        slope = slope + sum_parts(measured, size) @ pull_back(measured, swept.gradient)
    return Tangents(value, sp.csr_array(slope), height - slope @ w)


def slopes(embedded: EmbeddedProgram, w: Array) -> sp.csr_array:
    """Gradients of the network part of every measurement on the linear piece at w, shape (s + 1, n)."""
    size = num_measurements(embedded)
    slope = kept_affine(embedded)[0]
    for measured in embedded.networks:
        difference = [g - h for g, h in zip(measured.split.convex, measured.split.concave, strict=True)]
        slope = slope + sum_parts(measured, size) @ pull_back(measured, sweep(measured, w, difference).gradient)
    return sp.csr_array(slope)


def kept_affine(embedded: EmbeddedProgram) -> tuple[sp.csr_array, Array]:
    """The part d'x + beta of G in each measurement, as coefficients on w (s + 1, n) and constants (s + 1,)."""
    size = num_measurements(embedded)
    slope, constant = sp.csr_array((size, embedded.host.num_columns)), np.zeros(size)
    for measured in embedded.networks:
        terms, split = measured.terms, measured.split
        weights = split.slope[terms.direction]
        at_offset = np.einsum("td,td->t", weights, measured.offset[terms.block])
        constant += np.bincount(terms.measurement, terms.scale * (split.constant[terms.direction] + at_offset), minlength=size)
        slope = slope + sum_parts(measured, size) @ pull_back(measured, sum_terms(measured) @ weights)
    return sp.csr_array(slope), constant


def largest_kept(embedded: EmbeddedProgram, lb: Array, ub: Array) -> Array:
    """Upper bounds over the box lb <= w <= ub of the part of G that is in the units, shape (s + 1,)."""
    total = np.zeros(num_measurements(embedded))
    for measured in embedded.networks:
        terms = measured.terms
        low, high = input_box(measured, lb, ub)
        for chunk in chunks(terms.block.size, measured.network):
            block, direction = terms.block[chunk], terms.direction[chunk]
            reach = np.zeros(block.size)
            for weight, (_, upper) in zip(measured.split.convex, bound(measured.network, low[block], high[block]), strict=True):
                # A unit without weight may be as large as it likes: zero times infinity is zero.
                largest = np.where(weight[direction] > 0, np.maximum(upper, 0.0), 0.0)
                reach += np.einsum("tj,tj->t", weight[direction], largest)
            total += np.bincount(terms.measurement[chunk], terms.scale[chunk] * reach, minlength=total.size)
    return total


def input_box(measured: MeasuredNetwork, lb: Array, ub: Array) -> tuple[Array, Array]:
    """Bounds of the inputs of every block when lb <= w <= ub, shapes (num_blocks, n_in)."""
    matrix = measured.maps
    with np.errstate(invalid="ignore"):
        one, other = matrix.data * lb[matrix.indices], matrix.data * ub[matrix.indices]
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    low = measured.spread(np.bincount(row, np.minimum(one, other), minlength=matrix.shape[0]))
    high = measured.spread(np.bincount(row, np.maximum(one, other), minlength=matrix.shape[0]))
    return low[measured.map_of] + measured.offset, high[measured.map_of] + measured.offset


@dataclass(frozen=True, eq=False)
class Swept:
    """Of each part at a point: the value of f, the height of one component, and its gradient in the inputs (p, n_in)."""

    value: Array
    height: Array
    gradient: Array


def sweep(measured: MeasuredNetwork, w: Array, component: Sequence[Array], on_at_kinks: bool = True) -> Swept:
    """One pass over all terms: f, and a component given by its unit weights per direction.

    A unit at its kink counts as active by default: at the origin of a network without biases the other choice has no slope at all.
    """
    network, terms, split, size = measured.network, measured.terms, measured.split, measured.parts.num_parts
    value, height, gradient = np.zeros(size), np.zeros(size), np.zeros((size, network.num_inputs))
    difference = [g - h for g, h in zip(split.convex, split.concave, strict=True)]
    for chunk in chunks(terms.block.size, network):
        block, direction, scale = terms.block[chunk], terms.direction[chunk], terms.scale[chunk]
        x = measured.points(w, block)
        stages = preactivations(network, x)
        active = units(stages)
        affine = np.einsum("td,td->t", split.slope[direction], x) + split.constant[direction]
        f = affine + _weigh([weight[direction] for weight in difference], active, block.size)
        weights = [weight[direction] for weight in component]
        value += np.bincount(terms.part[chunk], scale * f, minlength=size)
        height += np.bincount(terms.part[chunk], scale * _weigh(weights, active, block.size), minlength=size)
        gradient += backpropagate(network, [is_active(a, on_at_kinks) for a in stages], weights, _adder(terms.part[chunk], scale, size))
    return Swept(value, height, gradient)


def is_active(preactivation: Array, on_at_kinks: bool) -> Array:
    """Which units count as active, those at a kink (to rounding) one way or the other."""
    return preactivation >= -KINK_TOL if on_at_kinks else preactivation > KINK_TOL


def sum_terms(measured: MeasuredNetwork) -> sp.csr_array:
    """Adds scaled terms to their parts, shape (p, t)."""
    return _adder(measured.terms.part, measured.terms.scale, measured.parts.num_parts)


def sum_parts(measured: MeasuredNetwork, size: int) -> sp.csr_array:
    """Adds parts to their measurements, shape (size, p)."""
    return _adder(measured.parts.measurement, np.ones(measured.parts.num_parts), size)


def pull_back(measured: MeasuredNetwork, gradient: Array) -> sp.csr_array:
    """Coefficients on w of parts whose gradient in their inputs is given (p, n_in): shape (p, n)."""
    size = gradient.shape[0]
    column = measured.rows_of(measured.parts.map)
    row = np.broadcast_to(np.arange(size)[:, None], column.shape)
    entries = gradient.reshape(-1), (row.reshape(-1), column.reshape(-1))
    return sp.csr_array(sp.csr_array(entries, shape=(size, measured.maps.shape[0])) @ measured.maps)


def _adder(target: Array, scale: Array, size: int) -> sp.csr_array:
    return sp.csr_array((scale, (target, np.arange(target.size))), shape=(size, target.size))


def _weigh(weights: Sequence[Array], values: Sequence[Array], size: int) -> Array:
    total = np.zeros(size)
    for weight, value in zip(weights, values, strict=True):
        total += np.einsum("tj,tj->t", weight, value)
    return total
