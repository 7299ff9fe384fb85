"""The blocks of a problem side by side: every block is a row of an array, padded to the largest, so that all are worked on at once.

A vector over all columns of the host has one point for each block in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.blocks import Blocks
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.embedded.patterns import Pattern, join
from dcembed.engine.columns.rows import BlockRows, Links, find_block_rows, find_links, positions
from dcembed.network.network import evaluate
from dcembed.program.tightening import Box
from dcembed.sparse import row_numbers

# Columns, and one-sided rows, that a block may have: the programs of blocks are dense.
MAX_WIDTH, MAX_HEIGHT = 200, 60
# Numbers that the rows of all blocks may hold, 400 MB.
MAX_ENTRIES = 50_000_000


@dataclass(frozen=True, eq=False)
class Layout:
    """A problem by its blocks.

    Parameters
    ----------
    embedded, blocks
        The problem and its blocks.
    box
        Bounds of the columns that the rows of the host imply.
    rows, links
        What holds inside blocks, and what they share.
    """

    embedded: EmbeddedProgram
    blocks: Blocks
    box: Box
    rows: BlockRows
    links: Links

    @cached_property
    def is_inside(self) -> Array:
        """Which columns belong to blocks, mask of shape (n,)."""
        return self.blocks.block >= 0

    @cached_property
    def position(self) -> Array:
        """Of each column inside its block, shape (n,)."""
        return positions(self.blocks.block)

    @property
    def num_blocks(self) -> int:
        """B."""
        return self.blocks.num_blocks

    @cached_property
    def width(self) -> int:
        """Columns of the largest block."""
        return int(self.position[self.is_inside].max()) + 1

    @property
    def height(self) -> int:
        """Rows of the block that has most of them."""
        return int(self.rows.slot.max(initial=-1)) + 1

    @cached_property
    def columns(self) -> Array:
        """The columns of each block, shape (B, width); n where a block has fewer."""
        columns = np.full((self.num_blocks, self.width), self.blocks.block.size)
        inside = np.flatnonzero(self.is_inside)
        columns[self.blocks.block[inside], self.position[inside]] = inside
        return columns

    @cached_property
    def term_blocks(self) -> list[Array]:
        """Of each network, the block that each of its terms is in; B where all inputs are constant."""
        return [_term_blocks(self.blocks, measured) for measured in self.embedded.networks]

    @cached_property
    def gather(self) -> sp.csr_array:
        """Adds columns to their blocks, shape (B, n)."""
        inside = np.flatnonzero(self.is_inside)
        shape = self.num_blocks, self.blocks.block.size
        return sp.csr_array((np.ones(inside.size), (self.blocks.block[inside], inside)), shape=shape)

    @cached_property
    def link_columns(self) -> sp.csr_array:
        """Coefficients of the columns in the linking rows, shape (n, L)."""
        return sp.csr_array(self.links.matrix.T)

    @cached_property
    def use_pattern(self) -> Pattern:
        """What blocks use of the linking rows (B, L), from a vector over the columns and the values of the terms of each network."""
        matrix = self.links.matrix
        own = np.flatnonzero(self.is_inside[matrix.indices])
        column, link = matrix.indices[own], row_numbers(matrix)[own]
        terms = [(self.blocks.block[column], link, column, matrix.data[own])]
        for measured, of_term in zip(self.embedded.networks, self.term_blocks, strict=True):
            of_link = self.link_of[measured.terms.measurement]
            used = np.flatnonzero((of_link >= 0) & (of_term < self.num_blocks))
            terms.append((of_term[used], of_link[used], used, np.ones(used.size)))
        return join(terms, (self.num_blocks, self.links.num_links))

    @cached_property
    def entry_blocks(self) -> Array:
        """The block of each entry of what blocks use."""
        return np.repeat(np.arange(self.num_blocks), np.diff(self.use_pattern.indptr))

    @cached_property
    def row_places(self) -> tuple[Array, Array, Array]:
        """The block, the slot and the position of each coefficient of the rows inside blocks."""
        return self.places(np.arange(self.rows.rhs.size), self.rows.matrix)

    @cached_property
    def neural_rows(self) -> Array:
        """The rows inside blocks that have a network in them."""
        return np.flatnonzero(self.rows.measurement >= 0)

    def places(self, rows: Array, matrix: sp.csr_array) -> tuple[Array, Array, Array]:
        """The same of the coefficients that a matrix has for some of the rows."""
        row = rows[row_numbers(matrix)]
        return self.rows.block[row], self.rows.slot[row], self.position[matrix.indices]

    @property
    def links_sign(self) -> Array:
        """The sign of the price of a link that has one side, zero where it has two: shape (L,)."""
        return np.isfinite(self.links.ub).astype(np.float64) - np.isfinite(self.links.lb)

    @cached_property
    def link_of(self) -> Array:
        """The linking row of each measurement, -1 for none."""
        link_of = np.full(self.embedded.restrictions.num_restrictions + 1, -1)
        neural = np.flatnonzero(self.links.measurement >= 0)
        link_of[self.links.measurement[neural]] = neural
        return link_of

    @cached_property
    def link_constant(self) -> Array:
        """What evaluations with constant inputs bring to the linking rows, shape (L,)."""
        constant = np.zeros(self.links.num_links)
        for measured, of_term in zip(self.embedded.networks, self.term_blocks, strict=True):
            terms = measured.terms
            fixed = np.flatnonzero((of_term == self.num_blocks) & (self.link_of[terms.measurement] >= 0))
            if fixed.size:
                outputs = evaluate(measured.network, measured.offset[terms.block[fixed]])
                values = terms.scale[fixed] * np.einsum("to,to->t", measured.directions[terms.direction[fixed]], outputs)
                constant += np.bincount(self.link_of[terms.measurement[fixed]], values, minlength=constant.size)
        return constant

    @property
    def is_affordable(self) -> bool:
        """Whether dense programs of all blocks fit."""
        fits = self.width <= MAX_WIDTH and self.height <= MAX_HEIGHT
        return fits and self.num_blocks * self.width * max(1, self.height) <= MAX_ENTRIES

    def take(self, w: Array) -> Array:
        """A vector over the columns by blocks, shape (B, width); zero where a block has fewer columns."""
        taken: Array = np.append(w, 0.0)[self.columns]
        return taken

    def put(self, values: Array, w: Array) -> Array:
        """The vector `w` with the values (B, width) of all blocks in it."""
        put = np.append(w, 0.0)
        put[self.columns] = values
        return put[:-1]

    def choose(self, is_first: Array, first: Array, second: Array) -> Array:
        """The columns of `first` in the blocks of a mask (B,), of `second` in all others."""
        chosen: Array = np.where(np.append(is_first, False)[self.blocks.block], first, second)
        return chosen


def _term_blocks(blocks: Blocks, measured: MeasuredNetwork) -> Array:
    size, maps = measured.network.num_inputs, measured.maps
    first, last = maps.indptr[:-1:size], maps.indptr[size::size]
    of_map = np.full(first.size, blocks.num_blocks)
    has_columns = last > first
    of_map[has_columns] = blocks.block[maps.indices[first[has_columns]]]
    of_term: Array = of_map[measured.map_of[measured.terms.block]]
    return of_term


def lay_out(embedded: EmbeddedProgram, blocks: Blocks, box: Box) -> Layout | None:
    """The layout of a problem; None where its blocks hold something that is not linear, or are too large."""
    host = embedded.host
    if host.quadratic_constraints or host.cones:
        curved = np.concatenate([c.quadratic.indices for c in host.quadratic_constraints] + [c.matrix.indices for c in host.cones])
        if (blocks.block[curved.astype(np.int64)] >= 0).any():
            return None
    layout = Layout(embedded, blocks, box, find_block_rows(embedded, blocks), find_links(embedded, blocks))
    return layout if layout.is_affordable else None
