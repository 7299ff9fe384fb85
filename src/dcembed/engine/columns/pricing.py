"""A walk of every block on its own: tangents of the networks, a box for each block, and each takes or leaves its own step.

What blocks use of the rows that they share has a price here; apart from that they have nothing to do with one another. So one backward pass,
one batch of small linear programs and one forward pass make a step of all blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.measurements import slopes
from dcembed.engine.columns.batched_lp import Programs, Solutions, solve_programs
from dcembed.engine.columns.layout import Layout
from dcembed.engine.columns.pieces import Pieces, choose_pieces, measure_pieces
from dcembed.run.starts import with_predictions
from dcembed.sparse import take_rows

# The first box, in relation to the ranges of the columns.
FIRST_RADIUS = 0.5
# As in the tangent steps of a whole problem: shares of the promise that take a step, and let the box grow, and how it changes.
POOR_SHARE, FAIR_SHARE, GOOD_SHARE = 0.05, 0.25, 0.5
GROWTH, SHRINKAGE = 2.0, 0.3
# The price of excess: this many times the last multiplier, and the costs in relation to the row.
FIRMNESS = 2.0
# Columns without an end move by so much at most, in relation to where they are.
ENDLESS = 10.0
TINY, ROUNDING = 1e-9, 1e-10

# Lower corner and width of the box of each block, shapes (B, width).
Box = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class Walks:
    """Where the blocks are: their points, the radius of the box of each (B,), the last multipliers (B, m), and whether tangents promise nothing."""

    pieces: Pieces
    radius: Array
    penalty: Array
    is_over: bool = False


def begin(layout: Layout, w: Array) -> Walks:
    """Walks from the points in `w`; integers stay as they are there."""
    pieces = measure_pieces(layout, with_predictions(layout.embedded, w))
    return Walks(pieces, np.full(layout.num_blocks, FIRST_RADIUS), np.zeros((layout.num_blocks, layout.height)))


def walk(layout: Layout, prices: Array, w: Array, num_steps: int) -> Iterator[Pieces]:
    """The points that blocks meet on their ways down at these prices (L,)."""
    walks = begin(layout, w)
    yield walks.pieces
    for _ in range(num_steps):
        walks, candidate = step(layout, prices, walks)
        yield candidate
        if walks.is_over:
            return


def step(layout: Layout, prices: Array, walks: Walks) -> tuple[Walks, Pieces]:
    """One step of all blocks, and the candidates, taken or not."""
    here = walks.pieces
    slope = slopes(layout.embedded, here.w)
    box = _box(layout, walks)
    gradient = priced_gradient(layout, here.w, slope, prices)
    programs = _programs(layout, here, gradient, slope, box, walks.penalty)
    solutions = solve_programs(programs)
    low, width = box
    candidate = measure_pieces(layout, with_predictions(layout.embedded, layout.put(low + width * solutions.s, here.w)))
    return _advance(layout, prices, walks, candidate, programs, solutions, box), candidate


def priced_gradient(layout: Layout, w: Array, slope: sp.csr_array, prices: Array) -> Array:
    """The gradient of objective and priced use on the linear piece at w, shape (n,)."""
    host, neural = layout.embedded.host, np.flatnonzero(layout.links.measurement >= 0)
    weights = np.zeros(slope.shape[0])
    weights[0] = 1.0
    weights[layout.links.measurement[neural]] = prices[neural]
    gradient: Array = host.cost + slope.T @ weights + layout.link_columns @ prices
    # The concave part of the objective is in the slopes of measurement 0.
    return gradient if host.quadratic is None else gradient + host.quadratic @ w


def _row_slopes(layout: Layout, slope: sp.csr_array) -> Array:
    """Gradients of the rows inside blocks, shape (B, m, width)."""
    dense = np.zeros((layout.num_blocks, layout.height, layout.width))
    dense[layout.row_places] = layout.rows.matrix.data
    neural = layout.neural_rows
    added = take_rows(slope, layout.rows.measurement[neural])
    # No coefficient comes twice.
    dense[layout.places(neural, added)] += added.data
    return dense


def _box(layout: Layout, walks: Walks) -> Box:
    """The box around each point, inside the bounds; integers are held."""
    here, inside = layout.take(walks.pieces.w), layout.columns < layout.blocks.block.size
    lb, ub = layout.take(layout.box.lb), layout.take(layout.box.ub)
    reach = np.where(np.isfinite(ub - lb), ub - lb, ENDLESS * np.maximum(1.0, np.abs(here))) * walks.radius[:, None]
    moves = inside & (layout.take(layout.embedded.integer.astype(np.float64)) == 0.0)
    low = np.where(moves, np.clip(here - reach, lb, ub), here)
    high = np.where(moves, np.clip(here + reach, lb, ub), here)
    return low, high - low


def _programs(layout: Layout, here: Pieces, gradient: Array, slope: sp.csr_array, box: Box, penalty: Array) -> Programs:
    """The tangents of all blocks over their boxes, as programs over [0, 1]."""
    rows, (low, width) = layout.rows, box
    dense = _row_slopes(layout, slope)
    rhs = np.full((layout.num_blocks, layout.height), np.inf)
    rhs[rows.block, rows.slot] = -here.rows
    rhs -= np.einsum("bmn,bn->bm", dense, low - layout.take(here.w))
    cost, scaled = layout.take(gradient) * width, dense * width[:, None, :]
    fair = np.abs(cost).sum(axis=1)[:, None] / np.maximum(np.abs(scaled).sum(axis=2), TINY)
    return Programs(cost, scaled, rhs, np.maximum(FIRMNESS * penalty, np.maximum(fair, TINY)))


def _advance(layout: Layout, prices: Array, walks: Walks, candidate: Pieces, programs: Programs, solutions: Solutions, box: Box) -> Walks:
    here, price = walks.pieces, programs.price[layout.rows.block, layout.rows.slot]
    before, after = (pieces.value(prices) + _add(layout, price * pieces.excess) for pieces in (here, candidate))
    promised, brought = _promise(layout, here, programs, solutions, box), before - after
    rounding = ROUNDING * np.maximum(1.0, np.abs(before))
    is_taken = (brought > POOR_SHARE * promised) & (brought > rounding)
    is_fair, is_good = brought > FAIR_SHARE * promised, brought >= GOOD_SHARE * promised
    radius = np.where(is_fair, np.where(is_good, GROWTH, 1.0), SHRINKAGE) * walks.radius
    is_over = not (promised > rounding).any()
    return Walks(choose_pieces(layout, is_taken, candidate, here), np.minimum(radius, 1.0), solutions.multipliers, is_over)


def _promise(layout: Layout, here: Pieces, programs: Programs, solutions: Solutions, box: Box) -> Array:
    """By how much the tangents say that each block gets better, shape (B,)."""
    low, width = box
    place = np.divide(layout.take(here.w) - low, width, out=np.zeros_like(low), where=width > 0.0)
    excess = np.zeros_like(programs.rhs)
    excess[layout.rows.block, layout.rows.slot] = here.excess
    left = np.maximum(np.einsum("bmn,bn->bm", programs.rows, solutions.s) - programs.rhs, 0.0)
    promise: Array = np.einsum("bn,bn->b", programs.cost, place - solutions.s) + (programs.price * (excess - left)).sum(axis=1)
    return promise


def _add(layout: Layout, values: Array) -> Array:
    """Values of the rows inside blocks, added up for each block."""
    return np.bincount(layout.rows.block, values, minlength=layout.num_blocks)
