"""Where the gradients of measurements have their entries: at the same places whatever the point, so they are found once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.sparse import compressed, row_numbers


@dataclass(frozen=True, eq=False)
class Inflow:
    """What one network brings to the entries: entry[place] += gradient[source] * coefficient.

    Parameters
    ----------
    place, source, coefficient
        Of each coefficient of the maps of its parts: the entry, the number in the gradients of the parts (p, n_in) one after the other,
        and its value.
    """

    place: Array
    source: Array
    coefficient: Array


@dataclass(frozen=True, eq=False)
class SlopePattern:
    """The entries of a matrix (s + 1, n) of gradients, and how they follow from those of the networks in their inputs.

    Parameters
    ----------
    indices, indptr, shape
        Of the matrix in compressed rows.
    inflows
        One for each network.
    """

    indices: Array
    indptr: Array
    shape: tuple[int, int]
    inflows: tuple[Inflow, ...]

    def gather(self, gradients: list[Array]) -> sp.csr_array:
        """The matrix, from the gradients of the parts of each network in their inputs, shapes (p, n_in)."""
        total = np.zeros(self.indices.size)
        for inflow, gradient in zip(self.inflows, gradients, strict=True):
            total += np.bincount(inflow.place, gradient.reshape(-1)[inflow.source] * inflow.coefficient, minlength=total.size)
        return compressed(total, self.indices, self.indptr, self.shape)


def find_pattern(networks: tuple[MeasuredNetwork, ...], shape: tuple[int, int]) -> SlopePattern:
    """The entries that the networks may have in measurements over the columns, a matrix of this shape."""
    keys, flows = [np.zeros(0, dtype=np.int64)], []
    for measured in networks:
        maps = measured.part_maps
        source = row_numbers(maps)
        keys.append(measured.parts.measurement[source // measured.network.num_inputs].astype(np.int64) * shape[1] + maps.indices)
        flows.append((source, maps.data))
    filled, place = np.unique(np.concatenate(keys), return_inverse=True)
    places = np.split(place.reshape(-1), np.cumsum([key.size for key in keys])[:-1])[1:]
    row, column = np.divmod(filled, shape[1])
    inflows = tuple(Inflow(at, *flow) for at, flow in zip(places, flows, strict=True))
    return SlopePattern(column.astype(np.int32), np.searchsorted(row, np.arange(shape[0] + 1)).astype(np.int32), shape, inflows)
