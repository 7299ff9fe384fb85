"""A split for a box: units whose sign is settled there are substituted exactly, and only what is left is split.

The curvature of both components shrinks with the box, so steps inside it are long where the paper's split allows tiny ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.embedded.measurements import Tangents, input_box, is_active, num_measurements, pull_back, sum_parts, sum_terms
from dcembed.engine.bundle.cuts import Heights
from dcembed.network.bounds import bound
from dcembed.network.reduction import ReducedNetwork, backpropagate_open, open_units, reduce, split_open

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class _Piece:
    """One network on its boxes: unit weights of G and H for each term (t, u), and the affine part of G."""

    measured: MeasuredNetwork
    reduced: ReducedNetwork
    convex: Array
    concave: Array
    slope: Array
    constant: Array
    largest: Array


class LocalSplit:
    """Every measurement as G - H, valid for lb <= w <= ub."""

    def __init__(self, embedded: EmbeddedProgram, lb: Array, ub: Array) -> None:
        self._embedded = embedded
        self._pieces = [_piece(measured, lb, ub) for measured in embedded.networks]
        size = num_measurements(embedded)
        self.kept_slope = sp.csr_array((size, embedded.host.num_columns))
        self.kept_constant = np.zeros(size)
        for piece in self._pieces:
            measured, terms = piece.measured, piece.measured.terms
            at_offset = np.einsum("td,td->t", piece.slope, measured.offset[terms.block])
            self.kept_constant += np.bincount(terms.measurement, terms.scale * (piece.constant + at_offset), minlength=size)
            self.kept_slope = self.kept_slope + sum_parts(measured, size) @ pull_back(measured, sum_terms(measured) @ piece.slope)

    def tangents(self, w: Array, on_at_kinks: bool = True) -> Tangents:
        """Values of the measurements and tangents of their components H."""
        size = num_measurements(self._embedded)
        value, height, slope = np.zeros(size), np.zeros(size), sp.csr_array((size, w.size))
        for piece in self._pieces:
            measured, terms = piece.measured, piece.measured.terms
            x = measured.points(w)
            before = open_units(piece.reduced, x)[terms.block]
            units = np.maximum(before, 0.0)
            low = np.einsum("tu,tu->t", piece.concave, units)
            f = np.einsum("tu,tu->t", piece.convex, units) - low + np.einsum("td,td->t", piece.slope, x[terms.block]) + piece.constant
            gradient = backpropagate_open(piece.reduced, terms.block, is_active(before, on_at_kinks), piece.concave)
            value += np.bincount(terms.measurement, terms.scale * f, minlength=size)
            height += np.bincount(terms.measurement, terms.scale * low, minlength=size)
            slope = slope + sum_parts(measured, size) @ pull_back(measured, sum_terms(measured) @ gradient)
        return Tangents(value, sp.csr_array(slope), height - slope @ w)

    def heights(self, w: Array) -> Heights:
        """The unit part of the component G of every part."""
        value: list[Array] = [np.zeros(0)]
        slope = [sp.csr_array((0, w.size))]
        for piece in self._pieces:
            measured, terms = piece.measured, piece.measured.terms
            before = open_units(piece.reduced, measured.points(w))[terms.block]
            height = np.einsum("tu,tu->t", piece.convex, np.maximum(before, 0.0))
            gradient = backpropagate_open(piece.reduced, terms.block, before >= 0, piece.convex)
            value.append(np.bincount(terms.part, terms.scale * height, minlength=measured.parts.num_parts))
            slope.append(pull_back(measured, sum_terms(measured) @ gradient))
        return Heights(np.concatenate(value), sp.vstack(slope, format="csr"))

    def largest_kept(self) -> Array:
        """Upper bounds of the unit part of every G on the box, shape (s + 1,)."""
        size = num_measurements(self._embedded)
        total = np.zeros(size)
        for piece in self._pieces:
            terms = piece.measured.terms
            reach = np.einsum("tu,tu->t", piece.convex, piece.largest[terms.block])
            total += np.bincount(terms.measurement, terms.scale * reach, minlength=size)
        return total


def _piece(measured: MeasuredNetwork, lb: Array, ub: Array) -> _Piece:
    low, high = input_box(measured, lb, ub)
    bounds = bound(measured.network, low, high)
    reduced = reduce(measured.network, bounds, measured.num_blocks)
    convex, concave, slope, constant = split_open(reduced, measured.terms.block, measured.directions[measured.terms.direction])
    return _Piece(measured, reduced, convex, concave, slope, constant, _largest(reduced, bounds))


def _largest(reduced: ReducedNetwork, bounds: list[tuple[Array, Array]]) -> Array:
    """Upper bounds of the open units, in their slots: shape (k, u)."""
    largest = np.zeros(reduced.gamma.shape)
    for stage, (low, high) in zip(reduced.stages, bounds, strict=True):
        open_ = (low < 0) & (high > 0)
        box, unit = np.nonzero(open_)
        largest[box, stage.start + np.cumsum(open_, axis=1)[box, unit] - 1] = high[box, unit]
    return largest
