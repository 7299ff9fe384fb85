"""Terms of networks as functions of the columns, by planes below the networks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.bounds.functions import MARGIN, Below, least
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.embedded.measurements import input_box, pull_back
from dcembed.network.bounds import go_on
from dcembed.network.chunks import slices
from dcembed.network.network import CHUNK_ENTRIES, evaluate
from dcembed.network.planes import lower_planes


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
        """The measurement that each function belongs to, shape (k,)."""
        return self.measured.parts.measurement[self.used]

    def values(self, w: Array) -> Array:
        """The functions at a point, shape (k,)."""
        measured, terms = self.measured, self.measured.terms
        predictions = measured.predict(w)[terms.block]
        each = terms.scale * np.einsum("ti,ti->t", measured.directions[terms.direction], predictions)
        total: Array = np.bincount(terms.part, each, minlength=measured.parts.num_parts)[self.used]
        return total

    def most(self, lb: Array, ub: Array, check: Callable[[], None] = go_on) -> Array:
        """Upper bounds of the functions over a box, shape (k,)."""
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
        """The columns that a function depends on."""
        rows = self.measured.rows_of(self.measured.parts.map[self.used[number : number + 1]]).reshape(-1)
        return np.unique(self.measured.maps[rows].indices)

    def _planes(self, low: Array, high: Array, sign: float, check: Callable[[], None]) -> tuple[Array, Array]:
        """Below each term, in the inputs of its block: shapes (t, n_in) and (t,)."""
        measured, terms = self.measured, self.measured.terms
        network = measured.network
        slope, constant = np.empty((terms.block.size, network.num_inputs)), np.empty(terms.block.size)
        settled = np.asarray((high <= low).all(axis=1))
        endless = np.asarray(~(np.isfinite(low) & np.isfinite(high)).all(axis=1))
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
