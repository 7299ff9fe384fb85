"""Points of blocks that were measured and hold inside their blocks: the columns of the restricted master."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.grouping import inside
from dcembed.engine.columns.layout import Layout
from dcembed.engine.columns.pieces import Pieces
from dcembed.sparse import take_rows

# A point is new if it is better by this than all others of its block at some prices, in relation to their values.
WORTH = 1e-7


@dataclass(frozen=True, eq=False)
class Pool:
    """K points.

    Parameters
    ----------
    block
        Of each, shape (K,).
    cost
        What each brings to the objective, shape (K,).
    use
        Of the linking rows, shape (K, L).
    values
        Of the columns of its block, shape (K, width).
    share
        Of each in the last relaxed master, shape (K,); zero for later ones.
    """

    block: Array
    cost: Array
    use: sp.csr_array
    values: Array
    share: Array

    @property
    def size(self) -> int:
        """K."""
        return self.block.size

    def value(self, prices: Array) -> Array:
        """What each costs when what it uses has a price (L,): shape (K,)."""
        value: Array = self.cost + self.use @ prices
        return value


def empty_pool(layout: Layout) -> Pool:
    """No points."""
    none = np.zeros(0)
    return Pool(none.astype(np.int64), none, sp.csr_array((0, layout.links.num_links)), np.zeros((0, layout.width)), none)


def is_better(pieces: Pieces, prices: Array, best: Array, feasibility_tol: float) -> Array:
    """Which blocks have a point that holds in them and is better at these prices than the best (B,), inf where there is none."""
    known = np.where(np.isfinite(best), best, 0.0)
    better: Array = (pieces.violation <= feasibility_tol) & (pieces.value(prices) < best - WORTH * np.maximum(1.0, np.abs(known)))
    return better


def add_all(layout: Layout, pool: Pool, pieces: Pieces, feasibility_tol: float) -> Pool:
    """The pool with all points that hold in their blocks and are not in it."""
    merged = joined([of_pieces(layout, pieces, np.flatnonzero(pieces.violation <= feasibility_tol))], pool)
    return choose(merged, _first_of_each(merged))


def _first_of_each(pool: Pool) -> Array:
    """The points without those that are in the pool before, in order.

    Values against fixed random weights, row by row: equal points give equal sums, others different ones.
    """
    weights = np.random.default_rng(0).standard_normal(pool.values.shape[1])
    key = np.einsum("kw,w->k", pool.values, weights)
    order = np.lexsort((key, pool.block))
    block, key = pool.block[order], key[order]
    is_new = np.concatenate([np.ones(min(1, order.size), dtype=bool), (block[1:] != block[:-1]) | (key[1:] != key[:-1])])
    return np.sort(order[is_new])


def of_pieces(layout: Layout, pieces: Pieces, blocks: Array) -> Pool:
    """The points of some blocks."""
    return Pool(blocks, pieces.cost[blocks], take_rows(pieces.use, blocks), layout.take(pieces.w)[blocks], np.zeros(blocks.size))


def joined(pools: Sequence[Pool], first: Pool) -> Pool:
    """The points of all pools, in order, behind those of the first."""
    some = [first, *(pool for pool in pools if pool.size)]
    if len(some) == 1:
        return first
    return Pool(
        np.concatenate([pool.block for pool in some]),
        np.concatenate([pool.cost for pool in some]),
        sp.csr_array(sp.vstack([pool.use for pool in some], format="csr")),
        np.concatenate([pool.values for pool in some]),
        np.concatenate([pool.share for pool in some]),
    )


def best_values(layout: Layout, pool: Pool, prices: Array) -> Array:
    """The least value of a point of each block, infinite where there is none: shape (B,)."""
    best = np.full(layout.num_blocks, np.inf)
    np.minimum.at(best, pool.block, pool.value(prices))
    return best


def best_points(layout: Layout, pool: Pool, prices: Array) -> Array:
    """The number of the best point of each block, -1 where there is none: shape (B,)."""
    order = np.lexsort((pool.value(prices), pool.block))
    blocks = pool.block[order]
    is_first = np.concatenate([np.ones(min(1, blocks.size), dtype=bool), blocks[1:] != blocks[:-1]])
    best = np.full(layout.num_blocks, -1, dtype=np.int64)
    best[blocks[is_first]] = order[is_first]
    return best


def keep_best(pool: Pool, prices: Array, number: int) -> Pool:
    """The best so many points of each block at these prices, and those with a share in the relaxed master."""
    value = pool.value(prices)
    order = np.lexsort((value, pool.block))
    block = pool.block[order]
    rank = np.arange(pool.size) - np.searchsorted(block, block)
    return choose(pool, inside(pool.size, order[rank < number], pool.share > 0.0))


def choose(pool: Pool, kept: Array) -> Pool:
    """Some of the points."""
    return Pool(pool.block[kept], pool.cost[kept], take_rows(pool.use, kept), pool.values[kept], pool.share[kept])


def put_points(layout: Layout, pool: Pool, numbers: Array, w: Array) -> Array:
    """The vector `w` with one point of each block in it; -1 leaves a block as it is."""
    having = np.flatnonzero(numbers >= 0)
    values = layout.take(w)
    values[having] = pool.values[numbers[having]]
    return layout.put(values, w)
