"""Columns that belong together: those of a row, of an evaluation with its indicator, of a neural restriction.

A neighbourhood in which something can change has whole companies in it: of two integers in an equality none can move alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.blocks import touched_by_restrictions
from dcembed.embedded.embedded_program import EmbeddedProgram

# Of a company with more columns so many, drawn anew, join a neighbourhood at a time.
LARGE = 24


@dataclass(frozen=True, eq=False)
class Companies:
    """Which columns each company has.

    Parameters
    ----------
    members
        A one for each column of each company, shape (c, n).
    of_networks
        Which companies are evaluations or neural restrictions, mask of shape (c,).
    """

    members: sp.csr_array
    of_networks: Array

    def grow(self, seed: int, number: int, integer: Array, rng: np.random.Generator) -> Array:
        """A neighbourhood around a column with about so many integers, by one company after the other: mask of shape (n,)."""
        inside = np.zeros(self.members.shape[1], dtype=bool)
        inside[seed] = True
        used = np.zeros(self.members.shape[0], dtype=bool)
        while int((inside & integer).sum()) < number:
            touching = np.flatnonzero((self.members @ inside.astype(np.float64) > 0) & ~used)
            if touching.size == 0:
                break
            company = int(rng.choice(touching))
            used[company] = True
            inside[self._some(company, rng)] = True
        return inside

    def gather(self, number: int, integer: Array, rng: np.random.Generator) -> Array:
        """Companies of networks from anywhere, until they have about so many integers: mask of shape (n,)."""
        inside = np.zeros(self.members.shape[1], dtype=bool)
        having = np.flatnonzero(self.of_networks & (self.members @ integer.astype(np.float64) > 0))
        for company in rng.permutation(having):
            if int((inside & integer).sum()) >= number:
                break
            inside[self._some(int(company), rng)] = True
        return inside

    def _some(self, company: int, rng: np.random.Generator) -> Array:
        """The columns of a company, or some of them where it is large."""
        columns = self.members.indices[self.members.indptr[company] : self.members.indptr[company + 1]]
        return columns if columns.size <= LARGE else rng.choice(columns, LARGE, replace=False)


def find_companies(embedded: EmbeddedProgram) -> Companies:
    """The companies of a problem."""
    host = embedded.host
    evaluations = [_columns_of_evaluations(measured.maps, measured.network.num_inputs) for measured in embedded.networks]
    networks = [sp.csr_array(part) for part in (touched_by_restrictions(embedded), *evaluations)]
    on, count = host.indicator_rows, host.indicator_rows.column.size
    switches = sp.csr_array((np.ones(count), (np.arange(count), on.column)), shape=(count, host.num_columns))
    plain = [sp.csr_array(host.rows), sp.csr_array(abs(on.matrix) + switches)]
    members = sp.csr_array(sp.vstack([*networks, *plain], format="csr"))
    members.data[:] = 1.0
    of_networks = np.arange(members.shape[0]) < sum(part.shape[0] for part in networks)
    return Companies(members, of_networks)


def _columns_of_evaluations(maps: sp.csr_array, num_inputs: int) -> sp.csr_array:
    """Which columns the inputs of each evaluation depend on: a row for each."""
    number = maps.shape[0] // num_inputs
    joined = sp.csr_array(
        (np.ones(maps.shape[0]), (np.arange(maps.shape[0]) // num_inputs, np.arange(maps.shape[0]))), shape=(number, maps.shape[0])
    )
    return sp.csr_array(joined @ abs(maps))
