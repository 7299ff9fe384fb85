"""What a formulation adds to the host to hold the kept components G exactly: columns, rows, and G as a linear form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array, Matrix
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measured_network import MeasuredNetwork


@dataclass(frozen=True, eq=False)
class Epigraph:
    """Auxiliary columns v >= lb with on_host @ w + on_auxiliary @ v >= row_lb, and G = (affine part) + kept @ v.

    Parameters
    ----------
    lb
        Lower bounds of the auxiliary columns, shape (a,).
    on_host, on_auxiliary
        Shapes (r, n) and (r, a).
    row_lb
        Shape (r,).
    kept
        Weights of the auxiliary columns in the components G of all measurements, shape (s + 1, a).
    """

    lb: Array
    on_host: sp.csr_array
    on_auxiliary: sp.csr_array
    row_lb: Array
    kept: sp.csr_array

    @property
    def num_columns(self) -> int:
        """Auxiliary columns."""
        return self.lb.size

    @property
    def num_rows(self) -> int:
        """Rows that hold them up."""
        return self.row_lb.size

    def rows(self, num_more: int = 0) -> sp.csr_array:
        """The rows over [w | v], and over so many more columns that they do not use."""
        return sp.csr_array(sp.hstack([self.on_host, self.on_auxiliary, sp.csr_array((self.num_rows, num_more))], format="csr"))


def no_epigraph(embedded: EmbeddedProgram) -> Epigraph:
    """Nothing is held: for models that have no kept component."""
    n, size = embedded.host.num_columns, embedded.restrictions.num_restrictions + 1
    empty = np.zeros(0)
    return Epigraph(empty, sp.csr_array((0, n)), sp.csr_array((0, 0)), empty, sp.csr_array((size, 0)))


def join(epigraphs: list[Epigraph], embedded: EmbeddedProgram) -> Epigraph:
    """The epigraphs of several networks side by side."""
    if not epigraphs:
        return no_epigraph(embedded)
    return Epigraph(
        lb=np.concatenate([e.lb for e in epigraphs]),
        on_host=sp.vstack([e.on_host for e in epigraphs], format="csr"),
        on_auxiliary=sp.block_diag([e.on_auxiliary for e in epigraphs], format="csr"),
        row_lb=np.concatenate([e.row_lb for e in epigraphs]),
        kept=sp.hstack([e.kept for e in epigraphs], format="csr"),
    )


def spread_over_blocks(measured: MeasuredNetwork, weights: list[Array], size: int) -> sp.csr_array:
    """Weights (D, width) of each group of units per direction as weights of columns per measurement.

    Columns are ordered group by group, block by block within a group: shape (size, num_blocks * sum of widths).
    """
    terms, k = measured.terms, measured.num_blocks
    parts = []
    for weight in weights:
        width = weight.shape[1]
        column = terms.block[:, None] * width + np.arange(width)
        row = np.broadcast_to(terms.measurement[:, None], column.shape)
        data = terms.scale[:, None] * weight[terms.direction]
        parts.append(sp.csr_array((data.reshape(-1), (row.reshape(-1), column.reshape(-1))), shape=(size, k * width)))
    kept = sp.hstack(parts, format="csr")
    kept.eliminate_zeros()
    return kept


def repeat_over_blocks(block: Matrix, k: int) -> sp.csr_array:
    """Block-diagonal matrix with k copies."""
    return sp.csr_array(sp.kron(sp.eye_array(k), block, format="csr"))
