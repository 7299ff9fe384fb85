"""Evaluations that share their decisions, as convex functions (tangents, valid everywhere) and concave ones (chords, valid on the box)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.bounds.functions import MARGIN, Below, least
from dcembed.embedded.collapsed import Collapsed, collapsed_inputs
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.embedded.ramps import ramp_slopes, ramp_values
from dcembed.network.bounds import go_on


@dataclass(frozen=True, eq=False)
class SharedDecisions:
    """Evaluations that share their decisions: the units of one sign, and with the convex ones what is affine."""

    measured: MeasuredNetwork
    collapsed: Collapsed
    is_convex: bool

    @property
    def measurement(self) -> Array:
        """The measurement that each function belongs to, shape (k,)."""
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
        """The functions at a point, shape (k,)."""
        inputs = collapsed_inputs(self.collapsed, w)
        units = np.einsum("gj,gj->g", ramp_values(self.collapsed.ramps, inputs @ self.collapsed.weights.T), self.weights)
        if not self.is_convex:
            return np.asarray(units)
        slope, constant = self._affine
        total: Array = units + np.einsum("gi,gi->g", slope, inputs) + constant
        return total

    def below(self, lb: Array, ub: Array, check: Callable[[], None] = go_on) -> Below:
        """Tangents in the middle of the box, or chords over it."""
        if self.is_convex:
            # A column without an end has no middle; a tangent holds wherever it touches.
            is_bounded, somewhere = np.isfinite(lb) & np.isfinite(ub), np.clip(0.0, lb, ub)
            return self.tangents(0.5 * (np.where(is_bounded, lb, somewhere) + np.where(is_bounded, ub, somewhere)))
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
            return np.asarray(units + 100.0 * MARGIN * np.abs(units))
        slope, constant = self._affine
        rest = least(self._pulled(np.zeros_like(self.weights), -constant - 100.0 * MARGIN * (units + 1.0), -slope), lb, ub)
        return np.asarray(units - rest)

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
        """The columns that a function depends on."""
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
