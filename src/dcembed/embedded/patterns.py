"""Where matrices that follow from the networks have their entries: at the same places whatever the point, so they are found once.

Gradients of measurements have a row for each measurement, the Hessian of a sum of them a row for each column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.sparse import compressed, row_numbers


@dataclass(frozen=True, eq=False)
class Inflow:
    """What one network brings to the entries: entry[place] += value[source] * coefficient.

    Parameters
    ----------
    place, source, coefficient
        One of each for every term.
    """

    place: Array
    source: Array
    coefficient: Array


@dataclass(frozen=True, eq=False)
class Pattern:
    """The entries of a matrix, and how they follow from values that networks have.

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

    def gather(self, values: Sequence[Array]) -> sp.csr_array:
        """The matrix, from the values of each network."""
        total = np.zeros(self.indices.size)
        for inflow, value in zip(self.inflows, values, strict=True):
            total += np.bincount(inflow.place, value.reshape(-1)[inflow.source] * inflow.coefficient, minlength=total.size)
        return compressed(total, self.indices, self.indptr, self.shape)


def slope_pattern(networks: Sequence[MeasuredNetwork], shape: tuple[int, int]) -> Pattern:
    """Of gradients of measurements over the columns (s + 1, n), from those of the parts of each network in their inputs (p, n_in)."""
    terms = []
    for measured in networks:
        maps = measured.part_maps
        source = row_numbers(maps)
        measurement = measured.parts.measurement[source // measured.network.num_inputs]
        terms.append((measurement, maps.indices, source, maps.data))
    return join(terms, shape)


def curvature_pattern(networks: Sequence[MeasuredNetwork], num_columns: int) -> Pattern:
    """Of a Hessian over the columns (n, n), from those of the blocks of each network in their inputs (k, n_in, n_in).

    A block with the map M and the Hessian H brings M'HM: a term for every two entries of M.
    """
    terms = []
    for measured in networks:
        maps, size = measured.block_maps(), measured.network.num_inputs
        row, entries = row_numbers(maps), _entries_of_blocks(maps, size)
        left, right = _pairs(entries)
        source = row[left] * size + row[right] % size
        terms.append((maps.indices[left], maps.indices[right], source, maps.data[left] * maps.data[right]))
    return join(terms, (num_columns, num_columns))


def num_pairs(measured: MeasuredNetwork) -> int:
    """Terms that the pattern of curvature has for a network."""
    counts = np.diff(_entries_of_blocks(measured.block_maps(), measured.network.num_inputs)).astype(np.float64)
    return int((counts**2).sum())


def _entries_of_blocks(maps: sp.csr_array, size: int) -> Array:
    """Where the entries of each block begin, and after them the number of all."""
    first: Array = maps.indptr[::size].astype(np.int64)
    return first


def _pairs(first: Array) -> tuple[Array, Array]:
    """All pairs of numbers from the same range, where ranges end where the next one begins."""
    counts = np.diff(first)
    repeats = np.repeat(counts, counts)
    left = np.repeat(np.arange(first[-1]), repeats)
    # Each left one has the numbers of its range beside it, counted from where its own run begins.
    run = np.arange(left.size) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return left, np.repeat(np.repeat(first[:-1], counts), repeats) + run


def join(terms: Sequence[tuple[Array, Array, Array, Array]], shape: tuple[int, int]) -> Pattern:
    """One pattern for terms that are given by their rows, columns, sources and coefficients, network by network."""
    keys = [np.zeros(0, dtype=np.int64), *(row.astype(np.int64) * shape[1] + column for row, column, _, _ in terms)]
    filled, place = np.unique(np.concatenate(keys), return_inverse=True)
    places = np.split(place.reshape(-1), np.cumsum([key.size for key in keys])[:-1])[1:]
    row, column = np.divmod(filled, shape[1])
    inflows = tuple(Inflow(at, source, coefficient) for at, (_, _, source, coefficient) in zip(places, terms, strict=True))
    return Pattern(column.astype(np.int32), np.searchsorted(row, np.arange(shape[0] + 1)).astype(np.int32), shape, inflows)
