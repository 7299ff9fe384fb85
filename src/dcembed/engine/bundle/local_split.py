"""A split for a box: units whose sign is settled there are substituted exactly, and only what is left is split.

The curvature of both components shrinks with the box, so steps inside it are long where the paper's split allows tiny ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.embedded.measurements import Tangents, begin_tangents, input_box, is_active, num_measurements, pull_back
from dcembed.engine.bundle.global_split import join_heights
from dcembed.engine.cuts import Heights
from dcembed.network.bounds import bound, go_on
from dcembed.network.reduction import ReducedNetwork, backpropagate_open, open_slopes, open_units, open_values, reduce, split_open
from dcembed.program.tightening import Box


@dataclass(frozen=True, eq=False)
class Piece:
    """One network on its boxes: unit weights of G and H for each term (t, u), and the affine part of G."""

    measured: MeasuredNetwork
    reduced: ReducedNetwork
    convex: Array
    concave: Array
    slope: Array
    constant: Array

    def preactivations(self, w: Array) -> Array:
        """Of the open units of each block, shape (k, u)."""
        return open_units(self.reduced, self.measured.points(w))

    def weigh(self, before: Array, weights: Array) -> Array:
        """weights' u of each term, shape (t,), where the open units have these pre-activations."""
        total: Array = np.einsum("tu,tu->t", weights, open_values(self.reduced, before)[self.measured.terms.block])
        return total

    def pull_back(self, slopes: Array, weights: Array) -> sp.csr_array:
        """Coefficients on w of the parts of weights' u where the open units have these slopes (k, u): shape (p, n)."""
        block = self.measured.terms.block
        gradient = backpropagate_open(self.reduced, block, slopes[block], weights)
        return pull_back(self.measured, self.measured.term_sums @ gradient)

    def heights(self, before: Array) -> Heights:
        """The unit part of G of every part, where the open units have these pre-activations."""
        slopes = open_slopes(self.reduced, before, lambda a: a >= 0)
        return Heights(self.measured.term_sums @ self.weigh(before, self.convex), self.pull_back(slopes, self.convex))


@dataclass(frozen=True, eq=False)
class LocalSplit:
    """Every measurement as G - H, valid on a box of the columns."""

    embedded: EmbeddedProgram
    pieces: tuple[Piece, ...]

    @cached_property
    def kept(self) -> tuple[sp.csr_array, Array]:
        """The affine part of every G: slope (s + 1, n) and constant (s + 1,)."""
        size = num_measurements(self.embedded)
        slope, constant = sp.csr_array((size, self.embedded.host.num_columns)), np.zeros(size)
        for piece in self.pieces:
            measured, terms = piece.measured, piece.measured.terms
            at_offset = np.einsum("td,td->t", piece.slope, measured.offset[terms.block])
            constant += np.bincount(terms.measurement, terms.scale * (piece.constant + at_offset), minlength=size)
            slope = slope + self.embedded.part_sums[measured.number] @ pull_back(measured, measured.term_sums @ piece.slope)
        return sp.csr_array(slope), constant

    def linearize(self, w: Array) -> tuple[Tangents, Heights]:
        """Tangents of the components H and the heights of the components G, from one forward pass."""
        before = [piece.preactivations(w) for piece in self.pieces]
        return self._tangents(w, before, True), self._heights(w, before)

    def tangents(self, w: Array, on_at_kinks: bool = True) -> Tangents:
        """Tangents of the components H alone."""
        return self._tangents(w, [piece.preactivations(w) for piece in self.pieces], on_at_kinks)

    def heights(self, w: Array) -> Heights:
        """The unit part of the component G of every part alone."""
        return self._heights(w, [piece.preactivations(w) for piece in self.pieces])

    def largest_kept(self) -> Array:
        """Upper bounds of the unit part of every G on the box, shape (s + 1,)."""
        size = num_measurements(self.embedded)
        total = np.zeros(size)
        for piece in self.pieces:
            terms = piece.measured.terms
            reach = np.einsum("tu,tu->t", piece.convex, piece.reduced.largest[terms.block])
            total += np.bincount(terms.measurement, terms.scale * reach, minlength=size)
        return total

    def _tangents(self, w: Array, before: list[Array], on_at_kinks: bool) -> Tangents:
        size = num_measurements(self.embedded)
        height, slope = begin_tangents(self.embedded, w)
        for piece, preactivation in zip(self.pieces, before, strict=True):
            terms = piece.measured.terms
            low = piece.weigh(preactivation, piece.concave)
            height += np.bincount(terms.measurement, terms.scale * low, minlength=size)
            slopes = open_slopes(piece.reduced, preactivation, lambda a: is_active(a, on_at_kinks))
            back = piece.pull_back(slopes, piece.concave)
            slope = slope + self.embedded.part_sums[piece.measured.number] @ back
        return Tangents(sp.csr_array(slope), height - slope @ w)

    def _heights(self, w: Array, before: list[Array]) -> Heights:
        none = Heights(np.zeros(0), sp.csr_array((0, w.size)))
        return join_heights([none, *(piece.heights(each) for piece, each in zip(self.pieces, before, strict=True))])


def split_on_box(embedded: EmbeddedProgram, box: Box, check: Callable[[], None] = go_on) -> LocalSplit:
    """Bound the networks on the box of the columns, reduce them there, and split what is left; `check` may raise to end it."""
    return LocalSplit(embedded, tuple(_piece(measured, box, check) for measured in embedded.networks))


def _piece(measured: MeasuredNetwork, box: Box, check: Callable[[], None]) -> Piece:
    low, high = input_box(measured, *box)
    bounds = bound(measured.network, low, high, check)
    check()
    form = measured.convex_form
    reduced = reduce(form.network, form.bounds(bounds), measured.num_blocks)
    convex, concave, slope, constant = split_open(reduced, measured.terms.block, measured.directions[measured.terms.direction])
    return Piece(measured, reduced, convex, concave, slope, constant)
