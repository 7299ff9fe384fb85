"""Some blocks of a problem alone: the same blocks over their own columns, so that work on them costs what they cost.

What blocks share stays, with the coefficients that these blocks have in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.blocks import Blocks
from dcembed.embedded.definitions import Definitions
from dcembed.embedded.embedded_program import EmbeddedProgram, Restrictions
from dcembed.embedded.grouping import distinct
from dcembed.embedded.measured_network import MeasuredNetwork, Parts, Terms
from dcembed.engine.columns.layout import Layout
from dcembed.engine.columns.rows import BlockRows, Links
from dcembed.program.derive import derive
from dcembed.program.program import Program
from dcembed.program.tightening import Box
from dcembed.sparse import empty_rows, take_columns, take_rows


@dataclass(frozen=True, eq=False)
class Narrow:
    """Some blocks.

    Parameters
    ----------
    layout
        Of these blocks alone.
    blocks
        Their numbers in the whole problem, shape (b,).
    columns
        Their columns in the host of the whole problem, shape (c,).
    """

    layout: Layout
    blocks: Array
    columns: Array


def can_narrow(layout: Layout) -> bool:
    """Whether blocks can be measured alone: predictions that stay columns are predicted for the whole problem only."""
    return layout.embedded.linked.size == 0


def narrow(layout: Layout, blocks: Array) -> Narrow:
    """Some blocks, by their numbers in increasing order."""
    number = np.full(layout.num_blocks + 1, -1, dtype=np.int64)
    number[blocks] = np.arange(blocks.size)
    columns = np.flatnonzero(number[layout.blocks.block] >= 0)
    rows = np.flatnonzero(number[layout.rows.block] >= 0)
    used = [np.array([-1, 0]), layout.rows.measurement[rows], layout.links.measurement]
    # The objective is measurement 0; a row without a network has -1, which stays the last of what is looked up.
    measurements = np.unique(np.concatenate(used))[1:]
    renumbered = np.full(layout.embedded.restrictions.num_restrictions + 2, -1, dtype=np.int64)
    renumbered[measurements] = np.arange(measurements.size)
    embedded = _narrow_embedded(layout, number, columns, renumbered, measurements.size - 1)
    position = np.full(layout.blocks.block.size + 1, -1, dtype=np.int64)
    position[columns] = np.arange(columns.size)
    none = np.zeros(0, dtype=np.int64)
    here = Layout(
        embedded=embedded,
        blocks=Blocks(number[layout.blocks.block[columns]], none, none, blocks.size, none, none),
        box=Box(layout.box.lb[columns], layout.box.ub[columns]),
        rows=_narrow_rows(layout.rows, rows, columns, position, renumbered, number),
        links=_narrow_links(layout.links, columns, renumbered),
    )
    return Narrow(here, blocks, columns)


def _narrow_rows(rows: BlockRows, kept: Array, columns: Array, position: Array, renumbered: Array, number: Array) -> BlockRows:
    return BlockRows(
        matrix=take_columns(take_rows(rows.matrix, kept), columns),
        rhs=rows.rhs[kept],
        measurement=renumbered[rows.measurement[kept]],
        indicator=position[rows.indicator[kept]],
        value=rows.value[kept],
        block=number[rows.block[kept]],
        slot=rows.slot[kept],
    )


def _narrow_links(links: Links, columns: Array, renumbered: Array) -> Links:
    return replace(links, matrix=take_columns(links.matrix, columns), measurement=renumbered[links.measurement])


def _narrow_embedded(layout: Layout, number: Array, columns: Array, renumbered: Array, size: int) -> EmbeddedProgram:
    embedded = layout.embedded
    networks = [
        _narrow_network(measured, np.flatnonzero(number[of_term] >= 0), columns, renumbered)
        for measured, of_term in zip(embedded.networks, layout.term_blocks, strict=True)
    ]
    none = np.zeros(0, dtype=np.int64)
    host = _narrow_host(embedded.host, columns)
    return replace(
        embedded,
        program=derive(host, integer=embedded.integer[columns]),
        embeddings=(),
        kept=np.arange(columns.size),
        host=host,
        concave=None if embedded.concave is None else take_columns(take_rows(embedded.concave, columns), columns),
        restrictions=Restrictions(empty_rows(size, columns.size), np.zeros(size), np.arange(size), np.full(size, -1), np.zeros(size)),
        networks=tuple(measured for measured in networks if measured.terms.block.size),
        linked=none,
        definitions=Definitions(none, empty_rows(0, columns.size), np.zeros(0), np.zeros(0)),
    )


def _narrow_host(host: Program, columns: Array) -> Program:
    """The columns alone: what holds inside blocks is known by their rows."""
    return derive(
        host,
        cost=host.cost[columns],
        quadratic=None if host.quadratic is None else take_columns(take_rows(host.quadratic, columns), columns),
        concave=None,
        rows=empty_rows(0, columns.size),
        row_lb=np.zeros(0),
        row_ub=np.zeros(0),
        lb=host.lb[columns],
        ub=host.ub[columns],
        integer=host.integer[columns],
        indicators=(),
        quadratic_constraints=(),
        cones=(),
        row_names=None,
        column_names=None,
        column_numbers=None,
    )


def _narrow_network(measured: MeasuredNetwork, kept: Array, columns: Array, renumbered: Array) -> MeasuredNetwork:
    """The network with some of its terms."""
    terms, parts = measured.terms, measured.parts
    blocks, block = distinct(terms.block[kept])
    of_part, part = distinct(terms.part[kept])
    maps, map_of = distinct(np.concatenate([measured.map_of[blocks], parts.map[of_part]]))
    return replace(
        measured,
        evaluations=measured.evaluations[blocks],
        maps=sp.csr_array(take_columns(take_rows(measured.maps, measured.rows_of(maps).reshape(-1)), columns)),
        map_of=map_of[: blocks.size],
        offset=measured.offset[blocks],
        terms=Terms(renumbered[terms.measurement[kept]], block, terms.direction[kept], terms.scale[kept], part),
        parts=Parts(renumbered[parts.measurement[of_part]], map_of[blocks.size :]),
    )
