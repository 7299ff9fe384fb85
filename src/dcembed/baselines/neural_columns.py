"""Which columns of the host the evaluations and the neural rows of an embedded problem depend on, whatever their slopes."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.sparse import row_numbers


def columns_of_evaluations(measured: MeasuredNetwork) -> sp.csr_array:
    """A one for each column that an evaluation's inputs depend on, shape (k, n)."""
    maps = measured.block_maps()
    row = row_numbers(maps) // measured.network.num_inputs
    return _ones(sp.csr_array((np.ones(maps.nnz), (row, maps.indices)), shape=(measured.num_blocks, maps.shape[1])))


def columns_of_rows(embedded: EmbeddedProgram) -> sp.csr_array:
    """A one for each column that a neural row depends on, its indicator included, shape (s, n)."""
    restrictions = embedded.restrictions
    behind, size = np.flatnonzero(restrictions.indicator >= 0), restrictions.num_restrictions
    switches = sp.csr_array((np.ones(behind.size), (behind, restrictions.indicator[behind])), shape=restrictions.linear.shape)
    uses = abs(restrictions.linear) + switches
    for measured in embedded.networks:
        own = np.flatnonzero(measured.terms.measurement > 0)
        places = measured.terms.measurement[own] - 1, measured.terms.block[own]
        uses = uses + sp.csr_array((np.ones(own.size), places), shape=(size, measured.num_blocks)) @ columns_of_evaluations(measured)
    return _ones(sp.csr_array(uses))


def _ones(matrix: sp.csr_array) -> sp.csr_array:
    """The same places with ones in them."""
    return sp.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
