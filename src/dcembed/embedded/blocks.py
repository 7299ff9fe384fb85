"""Whether a problem falls apart: blocks of columns with networks that only a few rows tie together.

Columns that one evaluation, indicator, quadratic term or cone has in it belong together, and so do those of a short row. What is left are
rows that touch many blocks: budgets, demands, capacities. They link the blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from dcembed.arrays import Array
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.grouping import inside
from dcembed.program.program import Program
from dcembed.sparse import row_numbers

# A row that touches at most so many pieces makes them one.
SHORT = 4
# Fewer blocks than these are no structure: with integers in them, and without, where tangents of the whole problem move all at once. More
# linking rows than this many times the blocks are none either.
MIN_BLOCKS, MIN_CONTINUOUS, MAX_LINKS = 8, 32, 3


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks with networks, and what ties them together.

    Parameters
    ----------
    block
        Of each column of the host, shape (n,); -1 for columns that belong to none: no network depends on what is tied to them.
    row, restriction
        Of each row of the host (m,) and each neural restriction (s,) the block that it is in; -1 for the others.
    num_blocks
        How many there are.
    linking_rows, linking_restrictions
        Numbers of the rows and of the neural restrictions that several blocks share.
    """

    block: Array
    row: Array
    restriction: Array
    num_blocks: int
    linking_rows: Array
    linking_restrictions: Array

    @property
    def num_links(self) -> int:
        """Rows of either kind that blocks share."""
        return self.linking_rows.size + self.linking_restrictions.size


def find_blocks(embedded: EmbeddedProgram) -> Blocks | None:
    """The blocks of a problem; None where it does not fall apart."""
    rows, touched = sp.csr_array(embedded.host.rows), touched_by_restrictions(embedded)
    pattern = _pattern(sp.vstack([rows, touched], format="csr"))
    free = np.concatenate([np.ones(rows.shape[0], dtype=bool), embedded.restrictions.indicator < 0])
    piece = _pieces(_inseparable(embedded, sp.csr_array(pattern[~free])))
    piece = _merge_short(piece, sp.csr_array(pattern[free]))
    piece = _adopt(piece, pattern, embedded)
    block, num_blocks = _with_networks(piece, embedded)
    has_integers = bool(embedded.integer[block >= 0].any())
    if num_blocks < (MIN_BLOCKS if has_integers else MIN_CONTINUOUS):
        return None
    is_linking, of_row = _places(pattern, piece, block)
    (of_host, of_restriction), (is_row, is_restriction) = (np.split(part, [rows.shape[0]]) for part in (of_row, is_linking))
    blocks = Blocks(block, of_host, of_restriction, num_blocks, np.flatnonzero(is_row), np.flatnonzero(is_restriction))
    return blocks if 0 < blocks.num_links <= MAX_LINKS * num_blocks else None


def touched_by_restrictions(embedded: EmbeddedProgram) -> sp.csr_array:
    """Which columns a neural restriction depends on, by its own coefficients, its indicator and the inputs of its networks: (s, n)."""
    restrictions = embedded.restrictions
    size, n = restrictions.linear.shape
    behind = np.flatnonzero(restrictions.indicator >= 0)
    switches = sp.csr_array((np.ones(behind.size), (behind, restrictions.indicator[behind])), shape=(size, n))
    total = _pattern(restrictions.linear) + switches
    for measured in embedded.networks:
        used = np.flatnonzero(measured.terms.measurement > 0)
        row, block = measured.terms.measurement[used] - 1, measured.terms.block[used]
        uses = sp.csr_array(
            (np.ones(used.size), (row, measured.map_of[block])), shape=(size, measured.maps.shape[0] // measured.network.num_inputs)
        )
        total = total + uses @ _columns_of_maps(measured.maps, measured.network.num_inputs)
    return sp.csr_array(total)


def _columns_of_maps(maps: sp.csr_array, num_inputs: int) -> sp.csr_array:
    """The columns that each map of inputs depends on, shape (g, n)."""
    row = row_numbers(maps) // num_inputs
    return _pattern(sp.csr_array((np.ones(maps.nnz), (row, maps.indices)), shape=(maps.shape[0] // num_inputs, maps.shape[1])))


def _inseparable(embedded: EmbeddedProgram, switched: sp.csr_array) -> sp.csr_array:
    """Groups of columns that nothing may cut in two, as rows: evaluations, what is behind indicators, quadratic terms, cones."""
    host, n = embedded.host, embedded.host.num_columns
    groups = [switched, *_curves(host)]
    groups += [_columns_of_maps(measured.maps, measured.network.num_inputs) for measured in embedded.networks]
    indicators = host.indicator_rows
    size = indicators.column.size
    groups += [_pattern(indicators.matrix) + sp.csr_array((np.ones(size), (np.arange(size), indicators.column)), shape=(size, n))]
    groups += [] if embedded.concave is None else [_pattern(embedded.concave)]
    return sp.csr_array(sp.vstack(groups, format="csr"))


def _curves(host: Program) -> list[sp.csr_array]:
    """The columns of quadratic terms, quadratic constraints and cones; each row of them belongs together."""
    groups = [] if host.quadratic is None else [_pattern(host.quadratic)]
    for constraint in host.quadratic_constraints:
        columns = np.union1d(constraint.quadratic.indices, constraint.coefficients.indices)
        groups.append(_group(columns, host.num_columns))
    return [*groups, *(_group(np.unique(cone.matrix.indices), host.num_columns) for cone in host.cones)]


def _group(columns: Array, n: int) -> sp.csr_array:
    return sp.csr_array((np.ones(columns.size), (np.zeros(columns.size, dtype=np.int64), columns)), shape=(1, n))


def _pieces(groups: sp.csr_array) -> Array:
    """Of each column the number of its piece, when the columns of a group belong together."""
    size, n = groups.shape
    graph = sp.csr_array((np.ones(groups.nnz), (row_numbers(groups), size + groups.indices)), shape=(size + n, size + n))
    labels = connected_components(graph, directed=False)[1][size:]
    return np.unique(labels, return_inverse=True)[1].reshape(-1)


def _merge_short(piece: Array, rows: sp.csr_array) -> Array:
    """The pieces when rows that touch few of them have made them one; a row may touch few because others have."""
    while True:
        touched = _touched(rows, piece)
        number = np.diff(touched.indptr)
        short = np.flatnonzero((number > 1) & (number <= SHORT))
        if short.size == 0:
            return piece
        piece = _pieces(sp.csr_array(touched[short]))[piece]


def _adopt(piece: Array, rows: sp.csr_array, embedded: EmbeddedProgram) -> Array:
    """The pieces when what stands beside one piece with networks only, however long the rows, belongs to it: weights of a hull do."""
    touched = _touched(rows, piece)
    number = touched.shape[1]
    has_network = np.zeros(number, dtype=bool)
    has_network[piece[embedded.input_columns]] = True
    beside = sp.csr_array(touched[:, has_network])
    count = np.diff(beside.indptr)
    alone = np.flatnonzero(count == 1)
    # Of each row the piece with networks that it has to itself, counted from 1.
    owner = np.zeros(rows.shape[0])
    owner[alone] = 1 + np.flatnonzero(has_network)[beside.indices[beside.indptr[alone]]]
    by_piece = sp.csr_array(touched[count > 0].T)
    owners = owner[count > 0][by_piece.indices]
    filled = np.flatnonzero(np.diff(by_piece.indptr) > 0)
    first = by_piece.indptr[:-1][filled]
    least, most = (reduce.reduceat(owners, first) if first.size else owners for reduce in (np.minimum, np.maximum))
    adopted = filled[(least == most) & (least > 0) & ~has_network[filled]]
    place = np.arange(number)
    place[adopted] = (most[np.isin(filled, adopted)] - 1).astype(np.int64)
    return np.unique(place[piece], return_inverse=True)[1].reshape(-1)


def _touched(rows: sp.csr_array, piece: Array) -> sp.csr_array:
    """The pieces that each row touches, shape (number of rows, number of pieces)."""
    shape = rows.shape[0], int(piece.max(initial=-1)) + 1
    return _pattern(sp.csr_array((np.ones(rows.nnz), (row_numbers(rows), piece[rows.indices])), shape=shape))


def _places(rows: sp.csr_array, piece: Array, block: Array) -> tuple[Array, Array]:
    """Whether each row touches several pieces, and the block that it is in; -1 for none."""
    touched = _touched(rows, piece)
    number = np.diff(touched.indptr)
    inside = np.flatnonzero(number == 1)
    of_row = np.full(rows.shape[0], -1, dtype=np.int64)
    of_row[inside] = block[rows.indices[rows.indptr[inside]]]
    return number > 1, of_row


def _with_networks(piece: Array, embedded: EmbeddedProgram) -> tuple[Array, int]:
    """Of each column the number of its block, -1 where its piece has no network in it."""
    size = int(piece.max(initial=-1)) + 1
    having = inside(size, piece[embedded.input_columns])
    number = np.full(size, -1, dtype=np.int64)
    number[having] = np.arange(having.size)
    return number[piece], having.size


def _pattern(matrix: sp.csr_array) -> sp.csr_array:
    """Ones where there are entries, once each."""
    pattern = sp.csr_array(matrix, copy=True)
    pattern.sum_duplicates()
    pattern.data = np.ones(pattern.nnz)
    return pattern
