"""What holds inside blocks, as rows of one side, and the rows that blocks share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.blocks import Blocks
from dcembed.embedded.embedded_program import EmbeddedProgram


@dataclass(frozen=True, eq=False)
class BlockRows:
    """Rows inside blocks, matrix @ w + neural[measurement] <= rhs, some only while w[indicator] == value.

    Parameters
    ----------
    matrix
        Shape (r, n).
    rhs
        Shape (r,).
    measurement
        The measurement whose network part belongs to the row, -1 for none. Shape (r,).
    indicator, value
        Column of the indicator, -1 for none, and its value. Shape (r,).
    block, slot
        In which block each row is, and the how manieth of it. Shape (r,).
    """

    matrix: sp.csr_array
    rhs: Array
    measurement: Array
    indicator: Array
    value: Array
    block: Array
    slot: Array

    def values(self, w: Array, neural: Array) -> Array:
        """By how much each row is above its limit, -inf behind an indicator that is off: shape (r,)."""
        value = self.matrix @ w + np.append(neural, 0.0)[self.measurement] - self.rhs
        off = (self.indicator >= 0) & (np.round(w[self.indicator]) != self.value)
        return np.where(off, -np.inf, value)


@dataclass(frozen=True, eq=False)
class Links:
    """Rows that blocks share: lb <= matrix @ w + neural[measurement] <= ub.

    Parameters
    ----------
    matrix
        Shape (L, n).
    measurement
        The measurement whose network part belongs to the row, -1 for none. Shape (L,).
    lb, ub
        Shape (L,).
    """

    matrix: sp.csr_array
    measurement: Array
    lb: Array
    ub: Array

    @property
    def num_links(self) -> int:
        """L."""
        return self.lb.size


def find_links(embedded: EmbeddedProgram, blocks: Blocks) -> Links:
    """Rows of the host first, then neural restrictions."""
    host, restrictions = embedded.host, embedded.restrictions
    rows, neural = blocks.linking_rows, blocks.linking_restrictions
    return Links(
        matrix=sp.csr_array(sp.vstack([host.rows[rows], restrictions.linear[neural]], format="csr")),
        measurement=np.concatenate([np.full(rows.size, -1), neural + 1]),
        lb=np.concatenate([host.row_lb[rows], np.full(neural.size, -np.inf)]),
        ub=np.concatenate([host.row_ub[rows], restrictions.rhs[neural]]),
    )


def find_block_rows(embedded: EmbeddedProgram, blocks: Blocks) -> BlockRows:
    """Rows of the host, rows behind indicators and neural restrictions, each once for each of its sides."""
    host, restrictions, behind = embedded.host, embedded.restrictions, embedded.host.indicator_rows
    inside, neural = np.flatnonzero(blocks.row >= 0), np.flatnonzero(blocks.restriction >= 0)
    switched = np.flatnonzero(blocks.block[behind.column] >= 0)
    none = np.full(inside.size, -1)
    parts = [
        *_sides(host.rows[inside], host.row_lb[inside], host.row_ub[inside], none, none, blocks.row[inside]),
        *_sides(
            behind.matrix[switched],
            behind.lb[switched],
            behind.ub[switched],
            behind.column[switched],
            behind.value[switched],
            blocks.block[behind.column[switched]],
        ),
        (
            restrictions.linear[neural],
            restrictions.rhs[neural],
            restrictions.indicator[neural],
            restrictions.indicator_value[neural],
            blocks.restriction[neural],
        ),
    ]
    matrices, rhs, indicator, value, block = zip(*parts, strict=True)
    of_block = np.concatenate(block)
    return BlockRows(
        matrix=sp.csr_array(sp.vstack(matrices, format="csr")),
        rhs=np.concatenate(rhs),
        measurement=np.concatenate([np.full(of_block.size - neural.size, -1), neural + 1]),
        indicator=np.concatenate(indicator),
        value=np.concatenate(value),
        block=of_block,
        slot=positions(of_block),
    )


def _sides(
    matrix: sp.csr_array, lb: Array, ub: Array, indicator: Array, value: Array, block: Array
) -> list[tuple[sp.csr_array, Array, Array, Array, Array]]:
    """The rows that have an upper side, and the negatives of those that have a lower one."""
    upper, lower = np.flatnonzero(np.isfinite(ub)), np.flatnonzero(np.isfinite(lb))
    return [
        (matrix[upper], ub[upper], indicator[upper], value[upper], block[upper]),
        (-matrix[lower], -lb[lower], indicator[lower], value[lower], block[lower]),
    ]


def positions(group: Array) -> Array:
    """The how manieth of its group each one is, counted from 0."""
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], group[order])
    position = np.empty(group.size, dtype=np.int64)
    position[order] = np.arange(group.size) - first
    return position
