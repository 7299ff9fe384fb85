"""The network part of objective and restrictions at a point: values, tangents of the linearized component, bounds.

Measurement 0 is the objective, measurement i + 1 the i-th restriction. Each is f = G - H with G kept and H linearized.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.network.bounds import bound
from dcembed.network.evaluate import backpropagate, preactivations, units
from dcembed.network.network import Array
from dcembed.program.elimination import EmbeddedProgram, MeasuredNetwork


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
    total = np.zeros(embedded.restrictions.num_restrictions + 1)
    for measured in embedded.networks:
        points = measured.points(w)
        total += _collect(measured, _term_values(measured, points, units(preactivations(measured.network, points))), total.size)
    return total


def linearize(embedded: EmbeddedProgram, w: Array) -> Tangents:
    """Values of all measurements at w, and tangents of their components H."""
    size = embedded.restrictions.num_restrictions + 1
    value, height = np.zeros(size), np.zeros(size)
    slope = sp.csr_array((size, w.size))
    for measured in embedded.networks:
        points = measured.points(w)
        stages = preactivations(measured.network, points)
        active = units(stages)
        value += _collect(measured, _term_values(measured, points, active), size)
        terms = measured.terms
        weights = [weight[terms.direction] for weight in measured.split.concave]
        height += _collect(measured, _weigh(weights, [z[terms.block] for z in active], terms.block.size), size)
        # A unit at its kink counts as active: at the origin of a network without biases the other choice has no slope at all.
        gradient = backpropagate(measured.network, [a[terms.block] >= 0 for a in stages], weights)
        if gradient.size:
            slope = slope + _pull_back(measured, gradient, size)
    return Tangents(value, sp.csr_array(slope), height - slope @ w)


def kept_affine(embedded: EmbeddedProgram) -> tuple[sp.csr_array, Array]:
    """The part d'x + beta of G in each measurement, as coefficients on w (s + 1, n) and constants (s + 1,)."""
    size = embedded.restrictions.num_restrictions + 1
    slope, constant = sp.csr_array((size, embedded.host.num_columns)), np.zeros(size)
    for measured in embedded.networks:
        terms, split = measured.terms, measured.split
        weights = split.slope[terms.direction]
        slope = slope + _pull_back(measured, weights, size)
        at_offset = (weights * measured.inputs.offset[terms.block]).sum(axis=1)
        constant += _collect(measured, split.constant[terms.direction] + at_offset, size)
    return sp.csr_array(slope), constant


def largest_kept(embedded: EmbeddedProgram, lb: Array, ub: Array) -> Array:
    """Upper bounds over the box lb <= w <= ub of the part of G that is in the units, shape (s + 1,)."""
    size = embedded.restrictions.num_restrictions + 1
    total = np.zeros(size)
    for measured in embedded.networks:
        terms = measured.terms
        weights = [weight[terms.direction] for weight in measured.split.convex]
        largest = [np.maximum(high, 0.0)[terms.block] for _, high in bound(measured.network, *_input_box(measured, lb, ub))]
        # A unit without weight may be as large as it likes.
        reach = [np.where(weight > 0, z, 0.0) for weight, z in zip(weights, largest, strict=True)]
        total += _collect(measured, _weigh(weights, reach, terms.block.size), size)
    return total


def _input_box(measured: MeasuredNetwork, lb: Array, ub: Array) -> tuple[Array, Array]:
    matrix = sp.coo_array(measured.inputs.matrix)
    low = np.where(matrix.data > 0, matrix.data * lb[matrix.col], matrix.data * ub[matrix.col])
    high = np.where(matrix.data > 0, matrix.data * ub[matrix.col], matrix.data * lb[matrix.col])
    shape, offset = measured.inputs.offset.shape, measured.inputs.offset
    size = matrix.shape[0]
    return (
        np.bincount(matrix.row, low, minlength=size).reshape(shape) + offset,
        np.bincount(matrix.row, high, minlength=size).reshape(shape) + offset,
    )


def _term_values(measured: MeasuredNetwork, points: Array, active: Sequence[Array]) -> Array:
    """direction' f at the block of each term, shape (t,)."""
    terms, split = measured.terms, measured.split
    weights = [(g - h)[terms.direction] for g, h in zip(split.convex, split.concave, strict=True)]
    affine = (split.slope[terms.direction] * points[terms.block]).sum(axis=1) + split.constant[terms.direction]
    return affine + _weigh(weights, [z[terms.block] for z in active], terms.block.size)


def _weigh(weights: Sequence[Array], values: Sequence[Array], size: int) -> Array:
    total = np.zeros(size)
    for weight, value in zip(weights, values, strict=True):
        total += np.einsum("tj,tj->t", weight, value)
    return total


def _collect(measured: MeasuredNetwork, values: Array, size: int) -> Array:
    """Sum term values into their measurements."""
    return np.bincount(measured.terms.measurement, measured.terms.scale * values, minlength=size)


def _pull_back(measured: MeasuredNetwork, gradient: Array, size: int) -> sp.csr_array:
    """Coefficients on w of measurements whose terms have these gradients (t, n_in) in their block's input."""
    terms, num_inputs = measured.terms, measured.network.num_inputs
    column = terms.block[:, None] * num_inputs + np.arange(num_inputs)
    row = np.broadcast_to(terms.measurement[:, None], column.shape)
    data = terms.scale[:, None] * gradient
    entries = (data.reshape(-1), (row.reshape(-1), column.reshape(-1)))
    return sp.csr_array(sp.csr_array(entries, shape=(size, measured.inputs.matrix.shape[0])) @ measured.inputs.matrix)
