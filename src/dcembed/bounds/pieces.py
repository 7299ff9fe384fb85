"""Pieces: one evaluation of a network with the columns that feed it, and the constraints that are about nothing else.

The set of a piece is { (w_J, eta) : u = M w_J + o, its own restrictions hold, eta_k >= F_k(u) }. What is least over this set for prices of
its columns and functions is found in the few inputs alone, whatever the host; hull cuts and prices of blocks are made from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.bounds.network_terms import NetworkTerms
from dcembed.bounds.relaxation import Relaxation
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.network.bounds import go_on
from dcembed.network.network import Network
from dcembed.program.tightening import Box
from dcembed.sparse import take_rows

# Rows of the host that a piece looks at, at most.
MAX_ROWS = 4


@dataclass(frozen=True, eq=False)
class Own:
    """Restrictions slope'u + weights'f(u) <= rhs of a piece: shapes (r, n_in), (r, n_out) and (r,); `rows` has the numbers of the neural ones.

    All hold where `switch` is -1, else while the column `switch` has the value `on`.
    """

    slope: Array
    weights: Array
    rhs: Array
    rows: Array
    switch: int = -1
    on: int = 1


@dataclass(frozen=True, eq=False)
class Piece:
    """One evaluation.

    Parameters
    ----------
    network, offset
        The network, and the constants in its inputs (n_in,).
    columns, place, factor
        Columns that feed it, the input that each feeds, and with what factor: u[place] += factor * w[column]. Shapes (c,).
    lb, ub
        Bounds of these columns, shapes (c,).
    functions, weights
        Numbers of the functions of the relaxation that are weights'f of this evaluation, shapes (k,) and (k, n_out).
    own
        Its own restrictions.
    step
        Of inputs that an integer feeds alone, what they change by at a time; zero for the others. Shape (n_in,).
    """

    network: Network
    offset: Array
    columns: Array
    place: Array
    factor: Array
    lb: Array
    ub: Array
    functions: Array
    weights: Array
    own: Own
    step: Array

    @cached_property
    def box(self) -> tuple[Array, Array]:
        """Bounds of the inputs, shapes (n_in,)."""
        one, other = self.factor * self.lb, self.factor * self.ub
        low, high = self.offset.copy(), self.offset.copy()
        np.add.at(low, self.place, np.minimum(one, other))
        np.add.at(high, self.place, np.maximum(one, other))
        return low, high

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Pieces with the same key have the same set in their inputs."""
        own = self.own
        parts = (*self.box, self.weights, own.slope, own.weights, own.rhs, self.step)
        return (id(self.network), *(part.tobytes() for part in parts))

    def within(self, box: Box) -> Piece:
        """The same while the columns of the host are in a box."""
        return replace(self, lb=box.lb[self.columns], ub=box.ub[self.columns])

    def inputs(self, w: Array) -> Array:
        """u at a point of the host, shape (n_in,)."""
        u = self.offset.copy()
        np.add.at(u, self.place, self.factor * w[self.columns])
        return u


@dataclass(frozen=True, eq=False)
class _Surroundings:
    """What all pieces of a relaxation look at, computed once.

    Parameters
    ----------
    relaxation
        The relaxation.
    alone
        Which measurements are of one function only, mask of shape (s + 1,).
    by_column
        The rows of the host by their columns, without zeros.
    """

    relaxation: Relaxation
    alone: Array
    by_column: sp.csc_array

    def rows_inside(self, columns: Array) -> Array:
        """The rows of the host, of at least two entries, that have no columns but these."""
        by_column, lengths = self.by_column, np.diff(self.relaxation.embedded.host.rows.indptr)
        begin, end = by_column.indptr[columns], by_column.indptr[columns + 1]
        # The row that all columns share is met once for each of them: only short rows are looked at.
        touched = np.concatenate([np.zeros(0, dtype=np.int64), *(by_column.indices[a:b] for a, b in zip(begin, end, strict=True))])
        touched = touched[lengths[touched] <= columns.size]
        rows, number = np.unique(touched, return_counts=True)
        inside: Array = rows[(number == lengths[rows]) & (number > 1)]
        return inside


def count_pieces(relaxation: Relaxation) -> int:
    """How many evaluations `find_pieces` looks at."""
    return sum(np.unique(source.measured.terms.block[_single_terms(source)]).size for source in _network_sources(relaxation))


def find_pieces(relaxation: Relaxation, check: Callable[[], None] = go_on) -> list[Piece]:
    """Evaluations that are functions of few columns, each of which feeds one input; `check` is called between them."""
    alone = np.bincount(relaxation.measurement, minlength=relaxation.embedded.restrictions.num_restrictions + 1) == 1
    by_column = sp.csc_array(relaxation.embedded.host.rows)
    by_column.eliminate_zeros()
    around = _Surroundings(relaxation, alone, by_column)
    pieces: list[Piece] = []
    first = 0
    for source in relaxation.sources:
        if isinstance(source, NetworkTerms):
            for piece in _of_network(around, source, first):
                check()
                pieces += [] if piece is None else [piece]
        first += source.measurement.size
    return pieces


def _network_sources(relaxation: Relaxation) -> Iterator[NetworkTerms]:
    return (source for source in relaxation.sources if isinstance(source, NetworkTerms))


def _single_terms(source: NetworkTerms) -> Array:
    """Terms that are the only ones of their parts."""
    terms = source.measured.terms
    is_single = np.bincount(terms.part, minlength=source.measured.parts.num_parts) == 1
    return np.flatnonzero(is_single[terms.part])


def _of_network(around: _Surroundings, source: NetworkTerms, first: int) -> Iterator[Piece | None]:
    measured, terms = source.measured, source.measured.terms
    position = np.full(measured.parts.num_parts, -1)
    position[source.used] = first + np.arange(source.used.size)
    chosen = _single_terms(source)
    order = chosen[np.argsort(terms.block[chosen], kind="stable")]
    if order.size == 0:
        return
    blocks, begin = np.unique(terms.block[order], return_index=True)
    for block, own in zip(blocks, np.split(order, begin)[1:], strict=True):
        yield _piece(around, measured, int(block), position[terms.part[own]], own)


def _piece(around: _Surroundings, measured: MeasuredNetwork, block: int, functions: Array, terms: Array) -> Piece | None:
    relaxation = around.relaxation
    rows = take_rows(measured.maps, measured.rows_of(measured.map_of[block : block + 1]).reshape(-1))
    place = np.repeat(np.arange(measured.network.num_inputs), np.diff(rows.indptr))
    columns, factor = rows.indices.astype(np.int64), rows.data
    used = factor != 0
    place, columns, factor = place[used], columns[used], factor[used]
    lb, ub = relaxation.root.lb[columns], relaxation.root.ub[columns]
    if np.unique(columns).size != columns.size or not (np.isfinite(lb).all() and np.isfinite(ub).all()):
        return None
    weights = measured.terms.scale[terms, None] * measured.directions[measured.terms.direction[terms]]
    offset = measured.offset[block]
    own = _own(around, functions, weights, columns, place, factor, offset)
    own = _with_rows(around, own, columns, place, factor, offset)
    step = np.zeros(offset.size)
    alone = (np.bincount(place, minlength=offset.size) == 1)[place] & relaxation.embedded.integer[columns]
    step[place[alone]] = np.abs(factor[alone])
    return Piece(measured.network, offset, columns, place, factor, lb, ub, functions, weights, own, step)


def _with_rows(around: _Surroundings, own: Own, columns: Array, place: Array, factor: Array, offset: Array) -> Own:
    """The restrictions, and rows of the host that are about the columns of the piece alone: they hold always, so with those, too."""
    host = around.relaxation.embedded.host
    if np.unique(place).size < place.size:
        return own
    inside = around.rows_inside(columns)[:MAX_ROWS]
    slope = np.zeros((inside.size, offset.size))
    slope[:, place] = np.array([_entries(host.rows, row, columns) for row in inside]).reshape(inside.size, columns.size) / factor
    constant = slope @ offset
    upper, lower = np.isfinite(host.row_ub[inside]), np.isfinite(host.row_lb[inside])
    sides = np.concatenate([slope[upper], -slope[lower]])
    rhs = np.concatenate([(host.row_ub[inside] + constant)[upper], -(host.row_lb[inside] + constant)[lower]])
    weights = np.concatenate([own.weights, np.zeros((rhs.size, own.weights.shape[1]))])
    return replace(own, slope=np.concatenate([own.slope, sides]), weights=weights, rhs=np.concatenate([own.rhs, rhs]))


def _entries(matrix: sp.csr_array, row: int, columns: Array) -> Array:
    """One row at some columns, without a look at all of them."""
    inside = slice(matrix.indptr[row], matrix.indptr[row + 1])
    order = np.argsort(columns, kind="stable")
    found = np.minimum(np.searchsorted(columns, matrix.indices[inside], sorter=order), columns.size - 1)
    place = order[found]
    fits = columns[place] == matrix.indices[inside]
    values = np.zeros(columns.size)
    values[place[fits]] = matrix.data[inside][fits]
    return values


def _own(around: _Surroundings, functions: Array, weights: Array, columns: Array, place: Array, factor: Array, offset: Array) -> Own:
    """The restrictions that have nothing but this evaluation in them; those behind one binary only if none holds always."""
    restrictions, measurement = around.relaxation.embedded.restrictions, around.relaxation.measurement
    is_one_to_one = np.unique(place).size == place.size
    found = []
    for number, function in enumerate(functions):
        row = int(measurement[function]) - 1
        if row < 0 or not around.alone[row + 1]:
            continue
        used = restrictions.linear.indices[restrictions.linear.indptr[row] : restrictions.linear.indptr[row + 1]]
        if used.size and not (is_one_to_one and np.isin(used, columns).all()):
            continue
        found.append((row, number))
    switches = {int(restrictions.indicator[row]) for row, _ in found}
    switch = -1 if -1 in switches else min(switches, default=-1)
    kept = [(row, number) for row, number in found if restrictions.indicator[row] == switch]
    if switch >= 0:
        on = int(restrictions.indicator_value[kept[0][0]])
        kept = [(row, number) for row, number in kept if restrictions.indicator_value[row] == on]
    slope = np.zeros((len(kept), offset.size))
    rhs = np.zeros(len(kept))
    for index, (row, _) in enumerate(kept):
        slope[index, place] = _entries(restrictions.linear, row, columns) / factor
        rhs[index] = restrictions.rhs[row] + slope[index] @ offset
    numbers = [number for _, number in kept]
    rows = np.array([row for row, _ in kept], dtype=np.int64)
    on = int(restrictions.indicator_value[rows[0]]) if switch >= 0 else 1
    return Own(slope, weights[numbers], rhs, rows, switch, on)
