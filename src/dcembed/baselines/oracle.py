"""Values and gradients of the network parts of an embedded problem, for solvers that ask for numbers at a point.

One batched forward pass gives the values and remembers which units are active; the backward pass over them is made only where
gradients are asked for. Gradients are entries of a fixed sparse structure, so that nothing is built twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.embedded.measurements import num_measurements, unit_slopes
from dcembed.network.activations import RELU
from dcembed.network.affine import apply_affine
from dcembed.network.backpropagation import backpropagate
from dcembed.network.network import chunks, preactivations, units


@dataclass(frozen=True, eq=False)
class _Chunk:
    """Terms that are sent backward together: their blocks, weights of units (t, width) stage by stage, and their sums into parts (p, t)."""

    block: Array
    weights: list[Array]
    gather: sp.csr_array


class _NetworkOracle:
    """One measured network: `values` at a point, then `entries` there."""

    def __init__(self, measured: MeasuredNetwork, size: int) -> None:
        terms, parts, network = measured.terms, measured.parts, measured.network
        self._measured, self._size = measured, size
        self._directions = terms.scale[:, None] * measured.directions[terms.direction]
        weights, inputs, _ = measured.direct
        gather = measured.term_sums
        self._chunks = [
            _Chunk(terms.block[chunk], [weight[terms.direction[chunk]] for weight in weights], sp.csr_array(gather[:, chunk]))
            for chunk in chunks(terms.block.size, network)
        ]
        self._direct = gather @ inputs[terms.direction]
        kinds = zip(network.widths, network.activations, strict=True)
        self._slopes = [np.empty((measured.num_blocks, width), dtype=bool if kind is RELU else np.float64) for width, kind in kinds]
        # Entry e of the gradients is coefficient * (gradient of its part in its input).
        maps, rows = measured.maps, measured.rows_of(parts.map).reshape(-1)
        count = np.diff(maps.indptr)[rows]
        place = np.repeat(maps.indptr[rows] - np.concatenate([[0], np.cumsum(count)[:-1]]), count) + np.arange(count.sum())
        self._source = np.repeat(np.arange(rows.size), count)
        self._coefficient = maps.data[place]
        self.measurement, self.column = np.repeat(np.repeat(parts.measurement, network.num_inputs), count), maps.indices[place]

    def values(self, w: Array) -> Array:
        """The network's share of every measurement, shape (s + 1,)."""
        measured, network = self._measured, self._measured.network
        outputs, moved = np.empty((measured.num_blocks, network.num_outputs)), measured.moved(w)
        for chunk in chunks(measured.num_blocks, network):
            points = measured.inputs(moved, chunk)
            stages = preactivations(network, points)
            outputs[chunk] = apply_affine(network.output, [points, *units(network, stages)])
            for kept, slope in zip(self._slopes, unit_slopes(network, stages), strict=True):
                kept[chunk] = slope
        terms = measured.terms
        shares = np.einsum("to,to->t", self._directions, outputs[terms.block])
        return np.bincount(terms.measurement, shares, minlength=self._size)

    def entries(self) -> Array:
        """The entries of the gradients where `values` was asked last."""
        gradient = self._direct.copy()
        for chunk in self._chunks:
            active = [stage[chunk.block] for stage in self._slopes]
            gradient += backpropagate(self._measured.network, active, chunk.weights, chunk.gather)
        entries: Array = self._coefficient * gradient.reshape(-1)[self._source]
        return entries


class Oracle:
    """The network parts f of the objective (measurement 0) and of each restriction, and their gradients, point by point.

    Gradients are triplets: entry e belongs to measurement `measurement[e]` and column `column[e]`; entries of one place add up.
    """

    def __init__(self, embedded: EmbeddedProgram) -> None:
        self._size = num_measurements(embedded)
        self._networks = [_NetworkOracle(measured, self._size) for measured in embedded.networks]
        self._values, self._entries = np.zeros(self._size), np.zeros(0)
        self._point: Array | None = None
        self._has_entries = False
        empty = np.zeros(0, dtype=np.int64)
        self.measurement = np.concatenate([empty, *(network.measurement for network in self._networks)])
        self.column = np.concatenate([empty, *(network.column for network in self._networks)])

    def values(self, w: Array) -> Array:
        """f of every measurement, shape (s + 1,)."""
        if self._point is None or not np.array_equal(w, self._point):
            self._point, self._has_entries = w.copy(), False
            self._values = np.zeros(self._size)
            for network in self._networks:
                self._values += network.values(w)
        return self._values

    def entries(self, w: Array) -> Array:
        """The entries of all gradients on the linear piece at w."""
        self.values(w)
        if not self._has_entries:
            self._entries = np.concatenate([np.zeros(0), *(network.entries() for network in self._networks)])
            self._has_entries = True
        return self._entries
