"""The functions that measurements are sums of, and affine functions below them over a box of the columns.

A relaxation has a column for each of them. Three kinds: terms of networks, by linear bounds of the networks; evaluations that share their
decisions, as convex functions (tangents, valid everywhere) and concave ones (chords, valid on the box); the concave part of the objective,
by chords along its eigenvectors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.collapsed import Collapsed, collapsed_inputs
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.embedded.measurements import input_box, pull_back
from dcembed.embedded.ramps import ramp_slopes, ramp_values
from dcembed.network.bounds import go_on
from dcembed.network.chunks import slices
from dcembed.network.network import CHUNK_ENTRIES, evaluate
from dcembed.network.planes import lower_planes

# Chords and tangents are lowered by this, relative to the values that they are made from: more than rounding does.
MARGIN = 1e-13
# What stands for infinity in sums, and from where on a sum counts as infinite.
ENDLESS, HUGE = 1e200, 1e100


@dataclass(frozen=True, eq=False)
class Below:
    """Affine functions slope @ w + constant below k functions: shapes (k, n) and (k,)."""

    slope: sp.csr_array
    constant: Array


def least(below: Below, lb: Array, ub: Array) -> Array:
    """The least value of affine functions over a box, shape (k,), lowered by rounding; -inf where there is none."""
    plus, minus = below.slope.maximum(0.0), below.slope.minimum(0.0)
    low, high = np.nan_to_num(lb, neginf=-ENDLESS), np.nan_to_num(ub, posinf=ENDLESS)
    size = np.abs(below.constant) + abs(below.slope) @ np.maximum(np.abs(low), np.abs(high))
    with np.errstate(invalid="ignore"):
        value = below.constant + plus @ low + minus @ high - 10.0 * MARGIN * size
    return np.where(value > -HUGE, value, -np.inf)


class Source(Protocol):
    """Functions of one kind."""

    @property
    def measurement(self) -> Array:
        """The measurement that each function belongs to, shape (k,)."""

    def values(self, w: Array) -> Array:
        """The functions at a point, shape (k,)."""

    def below(self, lb: Array, ub: Array, check: Callable[[], None]) -> Below:
        """Affine functions below them over a box."""

    def most(self, lb: Array, ub: Array, check: Callable[[], None]) -> Array:
        """Upper bounds of the functions over a box, shape (k,)."""

    def columns(self, number: int) -> Array:
        """The columns that a function depends on."""


@dataclass(frozen=True, eq=False)
class NetworkTerms:
    """The parts of a network that are evaluated term by term."""

    measured: MeasuredNetwork

    @cached_property
    def used(self) -> Array:
        """The parts that have such terms."""
        return np.unique(self.measured.terms.part)

    @property
    def measurement(self) -> Array:
        return self.measured.parts.measurement[self.used]

    def values(self, w: Array) -> Array:
        measured, terms = self.measured, self.measured.terms
        predictions = measured.predict(w)[terms.block]
        each = terms.scale * np.einsum("ti,ti->t", measured.directions[terms.direction], predictions)
        total: Array = np.bincount(terms.part, each, minlength=measured.parts.num_parts)[self.used]
        return total

    def most(self, lb: Array, ub: Array, check: Callable[[], None] = go_on) -> Array:
        return -least(self.below(lb, ub, check, sign=-1.0), lb, ub)

    def below(self, lb: Array, ub: Array, check: Callable[[], None] = go_on, sign: float = 1.0) -> Below:
        """Below the functions, or below their negatives."""
        measured, terms = self.measured, self.measured.terms
        low, high = input_box(measured, lb, ub)
        slope, constant = self._planes(low, high, sign, check)
        size = measured.parts.num_parts
        # Of u = M w + o in each block: the constants of the inputs belong to those of the planes.
        constant = constant + np.einsum("ti,ti->t", slope, measured.offset[terms.block])
        margin = MARGIN * np.einsum("ti,ti->t", np.abs(slope), np.abs(measured.offset[terms.block]))
        gather = sp.csr_array((np.ones(terms.part.size), (terms.part, np.arange(terms.part.size))), shape=(size, terms.part.size))
        pulled = pull_back(measured, gather @ slope)
        return Below(sp.csr_array(pulled[self.used]), (gather @ (constant - margin))[self.used])

    def columns(self, number: int) -> Array:
        rows = self.measured.rows_of(self.measured.parts.map[self.used[number : number + 1]]).reshape(-1)
        return np.unique(self.measured.maps[rows].indices)

    def _planes(self, low: Array, high: Array, sign: float, check: Callable[[], None]) -> tuple[Array, Array]:
        """Below each term, in the inputs of its block: shapes (t, n_in) and (t,)."""
        measured, terms = self.measured, self.measured.terms
        network = measured.network
        slope, constant = np.empty((terms.block.size, network.num_inputs)), np.empty(terms.block.size)
        settled, endless = (high <= low).all(axis=1), ~(np.isfinite(low) & np.isfinite(high)).all(axis=1)
        unknown = np.flatnonzero(endless[terms.block])
        slope[unknown], constant[unknown] = 0.0, -np.inf
        at_points = np.flatnonzero(settled[terms.block])
        if at_points.size:
            slope[at_points], constant[at_points] = 0.0, self._at_points(low, settled, at_points, sign)
        rest = np.flatnonzero(~(settled | endless)[terms.block])
        for some in slices(rest.size, network.num_inputs * (network.num_inputs + network.num_hidden), CHUNK_ENTRIES):
            chunk = rest[some]
            block, weights = terms.block[chunk], sign * terms.scale[chunk, None] * measured.directions[terms.direction[chunk]]
            planes = lower_planes(network, weights, low[block], high[block], check=check)
            slope[chunk], constant[chunk] = planes.slope[:, 0], planes.constant[:, 0]
        return slope, constant

    def _at_points(self, low: Array, settled: Array, chosen: Array, sign: float) -> Array:
        """The values of terms whose inputs are fixed, lowered by rounding."""
        measured, terms = self.measured, self.measured.terms
        predictions = np.zeros((settled.size, measured.network.num_outputs))
        predictions[settled] = evaluate(measured.network, low[settled])
        used = measured.directions[terms.direction[chosen]] * predictions[terms.block[chosen]]
        # An evaluation is within a few hundred roundings of the largest number in it.
        size = np.abs(used).sum(axis=1) + 1.0
        value: Array = terms.scale[chosen] * (sign * used.sum(axis=1) - 100.0 * MARGIN * size)
        return value


@dataclass(frozen=True, eq=False)
class SharedDecisions:
    """Evaluations that share their decisions: the units of one sign, and with the convex ones what is affine."""

    measured: MeasuredNetwork
    collapsed: Collapsed
    is_convex: bool

    @property
    def measurement(self) -> Array:
        return self.measured.parts.measurement[self.collapsed.part]

    @cached_property
    def weights(self) -> Array:
        """Of the units in each group, those of the other sign zero: shape (g, width)."""
        ((weights,), _, _) = self.measured.direct
        own = weights[self.collapsed.direction]
        return np.maximum(own, 0.0) if self.is_convex else np.minimum(own, 0.0)

    @cached_property
    def _affine(self) -> tuple[Array, Array]:
        """Slope in M w (g, n_in) and constant (g,) of the affine part."""
        _, slope, constant = self.measured.direct
        collapsed = self.collapsed
        own = slope[collapsed.direction]
        return collapsed.mass[:, None] * own, np.einsum("gi,gi->g", collapsed.offset, own) + collapsed.mass * constant[collapsed.direction]

    def values(self, w: Array) -> Array:
        inputs = collapsed_inputs(self.collapsed, w)
        units = np.einsum("gj,gj->g", ramp_values(self.collapsed.ramps, inputs @ self.collapsed.weights.T), self.weights)
        if not self.is_convex:
            return units
        slope, constant = self._affine
        total: Array = units + np.einsum("gi,gi->g", slope, inputs) + constant
        return total

    def below(self, lb: Array, ub: Array, check: Callable[[], None] = go_on) -> Below:
        """Tangents in the middle of the box, or chords over it."""
        if self.is_convex:
            return self.tangents(0.5 * (lb + ub))
        collapsed = self.collapsed
        low, high = _ranges(collapsed, lb, ub)
        at_low, at_high = ramp_values(collapsed.ramps, low), ramp_values(collapsed.ramps, high)
        width = high - low
        steep = np.where(width > 0, (at_high - at_low) / np.where(width > 0, width, 1.0), 0.0)
        # Above the function at both ends, whatever a division by a tiny width gets wrong.
        height = np.maximum(at_low - steep * low, at_high - steep * high)
        size = np.abs(at_low) + np.abs(at_high) + np.abs(steep) * (np.abs(low) + np.abs(high)) + np.abs(collapsed.mass)[:, None]
        constant = np.einsum("gj,gj->g", self.weights, height + 100.0 * MARGIN * size)
        return self._pulled(self.weights * steep, constant)

    def most(self, lb: Array, ub: Array, check: Callable[[], None] = go_on) -> Array:
        """The functions of the units do not fall."""
        collapsed = self.collapsed
        low, high = _ranges(collapsed, lb, ub)
        largest = ramp_values(collapsed.ramps, high if self.is_convex else low)
        units = np.einsum("gj,gj->g", self.weights, largest)
        if not self.is_convex:
            return units + 100.0 * MARGIN * np.abs(units)
        slope, constant = self._affine
        return units - least(self._pulled(np.zeros_like(self.weights), -constant - 100.0 * MARGIN * (units + 1.0), -slope), lb, ub)

    def tangents(self, w: Array) -> Below:
        """Of the convex functions at a point; below them everywhere."""
        collapsed = self.collapsed
        inputs = collapsed_inputs(collapsed, w)
        t = inputs @ collapsed.weights.T
        steep, value = ramp_slopes(collapsed.ramps, t), ramp_values(collapsed.ramps, t)
        size = np.abs(value) + np.abs(steep * t) + np.abs(collapsed.mass)[:, None]
        constant = np.einsum("gj,gj->g", self.weights, value - steep * t - 100.0 * MARGIN * size)
        slope, affine = self._affine
        return self._pulled(self.weights * steep, constant + affine - MARGIN * np.abs(affine), slope)

    def columns(self, number: int) -> Array:
        width = self.measured.network.num_inputs
        return np.unique(self.collapsed.maps[number * width : (number + 1) * width].indices)

    def _pulled(self, unit_slopes: Array, constant: Array, slope: Array | float = 0.0) -> Below:
        """Slopes in the units (g, width), and in M w (g, n_in), as slopes in the columns."""
        collapsed = self.collapsed
        gradient = unit_slopes @ collapsed.weights + slope
        size, width = gradient.shape
        rows = sp.csr_array((gradient.reshape(-1), np.arange(gradient.size), np.arange(size + 1) * width), shape=(size, gradient.size))
        return Below(sp.csr_array(rows @ collapsed.maps), constant)


def _ranges(collapsed: Collapsed, lb: Array, ub: Array) -> tuple[Array, Array]:
    """Of t = W M w over the box, shapes (g, width); W M has the coefficients of one column in one place."""
    size, width = collapsed.num_groups, collapsed.weights.shape[0]
    low, high = np.empty((size, width)), np.empty((size, width))
    for group in range(size):
        rows = collapsed.maps[group * collapsed.weights.shape[1] : (group + 1) * collapsed.weights.shape[1]]
        matrix = sp.csr_array(sp.csr_array(collapsed.weights) @ rows)
        plus, minus = matrix.maximum(0.0), matrix.minimum(0.0)
        low[group], high[group] = plus @ lb + minus @ ub, plus @ ub + minus @ lb
    slack = 100.0 * MARGIN * np.maximum(np.abs(low), np.abs(high))
    return low - slack, high + slack


@dataclass(frozen=True, eq=False)
class ConcaveSquares:
    """-1/2 w'Cw of the objective, as squares along eigenvectors."""

    concave: sp.csr_array

    @property
    def measurement(self) -> Array:
        return np.zeros(1, dtype=np.int64)

    @cached_property
    def _eigen(self) -> tuple[Array, Array, Array]:
        """The columns that are used, eigenvalues, and eigenvectors as columns."""
        used = np.unique(self.concave.indices)
        values, vectors = np.linalg.eigh(self.concave[used][:, used].toarray())
        # An eigenvalue below zero is rounding, and its square is not negative.
        return used, np.maximum(values, 0.0), vectors

    def values(self, w: Array) -> Array:
        return np.array([-0.5 * float(w @ (self.concave @ w))])

    def below(self, lb: Array, ub: Array, check: Callable[[], None] = go_on) -> Below:
        used, values, vectors = self._eigen
        plus, minus = np.maximum(vectors, 0.0), np.minimum(vectors, 0.0)
        low, high = plus.T @ lb[used] + minus.T @ ub[used], plus.T @ ub[used] + minus.T @ lb[used]
        # The chord of t^2 lies above it: t^2 <= (low + high) t - low * high.
        slope = -0.5 * vectors @ (values * (low + high))
        constant = 0.5 * float(values @ (low * high))
        reach = np.maximum(np.abs(lb[used]), np.abs(ub[used]))
        slack = 10.0 * used.size * MARGIN * float(np.abs(values).max(initial=0.0)) * float(reach @ reach)
        row = sp.csr_array((slope, used, np.array([0, used.size])), shape=(1, lb.size))
        return Below(row, np.array([constant - slack]))

    def most(self, lb: Array, ub: Array, check: Callable[[], None] = go_on) -> Array:
        return np.zeros(1)

    def columns(self, number: int) -> Array:
        return self._eigen[0]


def find_sources(embedded: EmbeddedProgram) -> list[Source]:
    """All functions of a problem."""
    sources: list[Source] = []
    for measured in embedded.networks:
        if measured.plain.terms.part.size:
            sources.append(NetworkTerms(measured.plain))
        if measured.collapsed is not None:
            sources += [SharedDecisions(measured, measured.collapsed, is_convex) for is_convex in (True, False)]
    return sources if embedded.concave is None else [*sources, ConcaveSquares(embedded.concave)]
