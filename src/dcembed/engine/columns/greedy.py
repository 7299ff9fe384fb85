"""A combination of points of very many blocks without a solver: from one that keeps all links, blocks change to better points while links allow it.

With a hundred thousand blocks and a few links hardly any block is split in the relaxed master, so that the order of what changes bring for
what they use of the links, at its prices, leads nearly as far as the master itself, in a second instead of minutes.
"""

from __future__ import annotations

import numpy as np

from dcembed.arrays import Array
from dcembed.engine.columns.generator import State, Task
from dcembed.engine.columns.layout import Layout
from dcembed.engine.columns.pool import Pool, best_points, put_points
from dcembed.network.chunks import slices

# Blocks change to what is best at these shares of the prices, in turn: the first at the prices themselves, the others use up what is left.
SHARES = (1.0, 0.5, 0.0)
# Numbers of uses that are held at a time, 16 MB.
CHUNK_ENTRIES = 2_000_000
# What links leave, in relation to their limits, so that sums in another order hold as well.
ROUNDING = 1e-9
TINY = 1e-12


def combine_greedily(task: Task, state: State, known: Array | None) -> Array | None:
    """A combination that keeps all links, by its kept columns; None where neither the known point nor the beginning keeps them."""
    layout, pool = task.layout, state.pool
    limits = _limits(layout)
    for w in (known, task.nothing):
        chosen = None if w is None else find_places(layout, pool, w)
        if chosen is None:
            continue
        used = pool.use[chosen].sum(axis=0)
        if _fits(used[None], limits)[0]:
            break
    else:
        return None
    for share in SHARES:
        chosen, used = _change(layout, pool, chosen, used, share * state.exact, limits)
    return put_points(layout, pool, chosen, task.nothing)


def find_places(layout: Layout, pool: Pool, w: Array) -> Array | None:
    """The points of the pool that a point of the whole problem consists of, shape (B,); None where one is not there."""
    same = np.flatnonzero((pool.values == layout.take(w)[pool.block]).all(axis=1))
    places = np.full(layout.num_blocks, -1, dtype=np.int64)
    places[pool.block[same]] = same
    return places if (places >= 0).all() else None


def _limits(layout: Layout) -> tuple[Array, Array]:
    """What blocks may use of the links together, at least and at most, shapes (L,)."""
    lb, ub = (side - layout.link_constant for side in (layout.links.lb, layout.links.ub))
    return lb + _rounding(lb), ub - _rounding(ub)


def _rounding(limit: Array) -> Array:
    return ROUNDING * np.where(np.isfinite(limit), np.abs(limit), 0.0)


def _fits(used: Array, limits: tuple[Array, Array]) -> Array:
    """Which rows of `used` (k, L) keep the links; shape (k,)."""
    fits: Array = np.all((used >= limits[0]) & (used <= limits[1]), axis=1)
    return fits


def _change(layout: Layout, pool: Pool, chosen: Array, used: Array, prices: Array, limits: tuple[Array, Array]) -> tuple[Array, Array]:
    """What is chosen and used after all changes to points that are better at these prices, in the order of what they bring for what they use."""
    best = best_points(layout, pool, prices)
    saved = pool.cost[chosen] - pool.cost[best]
    paid = (pool.use @ prices)[best] - (pool.use @ prices)[chosen]
    better = np.flatnonzero(saved - paid > TINY * np.maximum(1.0, np.abs(pool.cost[chosen])))
    # What uses less than before comes first, whatever it saves.
    rate = np.where(paid[better] > 0.0, saved[better] / np.maximum(paid[better], TINY), np.inf)
    order = better[np.argsort(-rate, kind="stable")]
    chosen = chosen.copy()
    for part in slices(order.size, layout.links.num_links, CHUNK_ENTRIES):
        blocks = order[part]
        more = (pool.use[best[blocks]] - pool.use[chosen[blocks]]).toarray()
        taken, used = _take(more, used, limits)
        chosen[blocks[taken]] = best[blocks[taken]]
    return chosen, used


def _take(more: Array, used: Array, limits: tuple[Array, Array]) -> tuple[Array, Array]:
    """The rows of `more` (k, L) that are added to what is used, in their order, while the links hold; and what is used then."""
    left, taken = np.arange(more.shape[0]), []
    while (left := left[_fits(used + more[left], limits)]).size:
        after = used + np.cumsum(more[left], axis=0)
        # The first of them fits; how many do together?
        fits = _fits(after, limits)
        number = left.size if fits.all() else max(1, int(np.argmin(fits)))
        taken.append(left[:number])
        left, used = left[number:], after[number - 1]
    return np.concatenate([np.zeros(0, dtype=np.int64), *taken]), used
