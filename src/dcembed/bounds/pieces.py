"""Pieces: one evaluation of a network with the columns that feed it, and the constraints that are about nothing else.

The set of a piece is { (w_J, eta) : u = M w_J + o, its own restrictions hold, eta_k >= F_k(u) }. What is least over this set for prices of
its columns and functions is found in the few inputs alone, whatever the host; hull cuts and prices of blocks are made from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dcembed.arrays import Array
from dcembed.bounds.network_terms import NetworkTerms
from dcembed.bounds.relaxation import Relaxation
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.network.network import Network
from dcembed.program.tightening import Box

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


def find_pieces(relaxation: Relaxation) -> list[Piece]:
    """Evaluations that are functions of few columns, each of which feeds one input."""
    pieces: list[Piece] = []
    first = 0
    for source in relaxation.sources:
        if isinstance(source, NetworkTerms):
            pieces += _of_network(relaxation, source, first)
        first += source.measurement.size
    return pieces


def _of_network(relaxation: Relaxation, source: NetworkTerms, first: int) -> Iterator[Piece]:
    measured, terms = source.measured, source.measured.terms
    position = np.full(measured.parts.num_parts, -1)
    position[source.used] = first + np.arange(source.used.size)
    is_single = np.bincount(terms.part, minlength=measured.parts.num_parts) == 1
    chosen = np.flatnonzero(is_single[terms.part])
    order = chosen[np.argsort(terms.block[chosen], kind="stable")]
    if order.size == 0:
        return
    blocks, begin = np.unique(terms.block[order], return_index=True)
    for block, own in zip(blocks, np.split(order, begin)[1:], strict=True):
        piece = _piece(relaxation, measured, int(block), position[terms.part[own]], own)
        if piece is not None:
            yield piece


def _piece(relaxation: Relaxation, measured: MeasuredNetwork, block: int, functions: Array, terms: Array) -> Piece | None:
    rows = measured.maps[measured.rows_of(measured.map_of[block : block + 1]).reshape(-1)]
    place = np.repeat(np.arange(measured.network.num_inputs), np.diff(rows.indptr))
    columns, factor = rows.indices.astype(np.int64), rows.data
    used = factor != 0
    place, columns, factor = place[used], columns[used], factor[used]
    lb, ub = relaxation.root.lb[columns], relaxation.root.ub[columns]
    if np.unique(columns).size != columns.size or not (np.isfinite(lb).all() and np.isfinite(ub).all()):
        return None
    weights = measured.terms.scale[terms, None] * measured.directions[measured.terms.direction[terms]]
    offset = measured.offset[block]
    own = _own(relaxation, functions, weights, columns, place, factor, offset)
    own = _with_rows(relaxation, own, columns, place, factor, offset)
    step = np.zeros(offset.size)
    alone = (np.bincount(place, minlength=offset.size) == 1)[place] & relaxation.embedded.integer[columns]
    step[place[alone]] = np.abs(factor[alone])
    return Piece(measured.network, offset, columns, place, factor, lb, ub, functions, weights, own, step)


def _with_rows(relaxation: Relaxation, own: Own, columns: Array, place: Array, factor: Array, offset: Array) -> Own:
    """The restrictions, and rows of the host that are about the columns of the piece alone: they hold always, so with those, too."""
    host = relaxation.embedded.host
    if np.unique(place).size < place.size:
        return own
    is_mine = np.zeros(host.num_columns)
    is_mine[columns] = 1.0
    pattern = host.rows != 0
    inside = np.flatnonzero((pattern @ is_mine == np.diff(host.rows.indptr)) & (np.diff(host.rows.indptr) > 1))[:MAX_ROWS]
    slope = np.zeros((inside.size, offset.size))
    slope[:, place] = host.rows[inside][:, columns].toarray() / factor
    constant = slope @ offset
    upper, lower = np.isfinite(host.row_ub[inside]), np.isfinite(host.row_lb[inside])
    sides = np.concatenate([slope[upper], -slope[lower]])
    rhs = np.concatenate([(host.row_ub[inside] + constant)[upper], -(host.row_lb[inside] + constant)[lower]])
    weights = np.concatenate([own.weights, np.zeros((rhs.size, own.weights.shape[1]))])
    return replace(own, slope=np.concatenate([own.slope, sides]), weights=weights, rhs=np.concatenate([own.rhs, rhs]))


def _own(relaxation: Relaxation, functions: Array, weights: Array, columns: Array, place: Array, factor: Array, offset: Array) -> Own:
    """The restrictions that have nothing but this evaluation in them; those behind one binary only if none holds always."""
    restrictions, measurement = relaxation.embedded.restrictions, relaxation.measurement
    alone = np.bincount(measurement, minlength=restrictions.num_restrictions + 1) == 1
    is_one_to_one = np.unique(place).size == place.size
    found = []
    for number, function in enumerate(functions):
        row = int(measurement[function]) - 1
        if row < 0 or not alone[row + 1]:
            continue
        linear = restrictions.linear[[row]]
        if linear.nnz and not (is_one_to_one and np.isin(linear.indices, columns).all()):
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
        linear = restrictions.linear[[row]].toarray().reshape(-1)[columns]
        slope[index, place] = linear / factor
        rhs[index] = restrictions.rhs[row] + slope[index] @ offset
    numbers = [number for _, number in kept]
    rows = np.array([row for row, _ in kept], dtype=np.int64)
    on = int(restrictions.indicator_value[rows[0]]) if switch >= 0 else 1
    return Own(slope, weights[numbers], rhs, rows, switch, on)
