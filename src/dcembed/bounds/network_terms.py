"""Terms of networks as functions of the columns, by planes below the networks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.bounds.clusters import Clusters, find_clusterings, fine_enough, sensitivity
from dcembed.bounds.functions import MARGIN, Below, least
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.embedded.measurements import map_box, pull_back
from dcembed.network.bounds import go_on
from dcembed.network.chunks import slices
from dcembed.network.network import CHUNK_ENTRIES, Network, evaluate
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
        measured = self.measured
        low, high = map_box(measured, lb, ub)
        with np.errstate(invalid="ignore"):
            moved = float(np.nan_to_num((high - low) @ sensitivity(measured), nan=np.inf, posinf=np.inf).max(initial=0.0))
        clusters = fine_enough(self._clusterings, moved)
        of_map = measured.parts.map[clusters.part]
        slope, constant = self._planes(clusters, low[of_map] + clusters.low, high[of_map] + clusters.high, sign, check)
        # Of u = M w + o in each term: the constants of the inputs belong to those of the planes.
        at_offset = np.einsum("ci,ci->c", slope, clusters.moment)
        margin = MARGIN * np.einsum("ci,ci->c", np.abs(slope), np.abs(clusters.moment))
        size, number = measured.parts.num_parts, clusters.part.size
        gather = sp.csr_array((np.ones(number), (clusters.part, np.arange(number))), shape=(size, number))
        pulled = pull_back(measured, gather @ (clusters.mass[:, None] * slope))
        return Below(sp.csr_array(pulled[self.used]), (gather @ (clusters.mass * constant + at_offset - margin))[self.used])

    def columns(self, number: int) -> Array:
        """The columns that a function depends on."""
        rows = self.measured.rows_of(self.measured.parts.map[self.used[number : number + 1]]).reshape(-1)
        return np.unique(self.measured.maps[rows].indices)

    @cached_property
    def _clusterings(self) -> list[Clusters]:
        return find_clusterings(self.measured)

    def _planes(self, clusters: Clusters, low: Array, high: Array, sign: float, check: Callable[[], None]) -> tuple[Array, Array]:
        """Below the prediction in the direction of each cluster, over boxes of the inputs: shapes (c, n_in) and (c,)."""
        network, direction = self.measured.network, sign * self.measured.directions[clusters.direction]
        slope, constant = np.zeros(low.shape), np.full(low.shape[0], -np.inf)
        settled = np.flatnonzero((high <= low).all(axis=1))
        if settled.size:
            constant[settled] = _at_points(network, direction[settled], low[settled])
        rest = np.flatnonzero((high > low).any(axis=1) & np.isfinite(low).all(axis=1) & np.isfinite(high).all(axis=1))
        for some in slices(rest.size, network.num_inputs * (network.num_inputs + network.num_hidden), CHUNK_ENTRIES):
            chunk = rest[some]
            planes = lower_planes(network, direction[chunk], low[chunk], high[chunk], check=check)
            slope[chunk], constant[chunk] = planes.slope[:, 0], planes.constant[:, 0]
        return slope, constant


def _at_points(network: Network, direction: Array, points: Array) -> Array:
    """The predictions in directions at points, lowered by rounding."""
    used = direction * evaluate(network, points)
    # An evaluation is within a few hundred roundings of the largest number in it.
    value: Array = used.sum(axis=1) - 100.0 * MARGIN * (np.abs(used).sum(axis=1) + 1.0)
    return value
