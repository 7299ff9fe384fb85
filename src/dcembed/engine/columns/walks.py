"""Walks of all blocks at given prices, in parts that do not depend on one another.

A problem of many blocks is cut into parts of equal size, and a crew does them. How it is cut depends on the problem alone, so that the points
that are found do not depend on who does which part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.crew.crew import Crew
from dcembed.crew.parts import share_out
from dcembed.crew.task import Shared
from dcembed.crew.watch import Here, Timer, Watch
from dcembed.engine.columns.layout import Layout, lay_out
from dcembed.engine.columns.narrowing import Narrow, can_narrow, narrow
from dcembed.engine.columns.pieces import Pieces, measure_pieces
from dcembed.engine.columns.pool import Pool, empty_pool, is_better, joined, of_pieces
from dcembed.engine.columns.pricing import walk
from dcembed.engine.problem import Problem

# Steps of a walk at most, and points drawn for each block of which the best is where a walk begins.
NUM_STEPS, NUM_DRAWN = 8, 8
# What drawn points that do not hold are charged for it, in relation to the values of blocks.
CHARGE = 1e3
# Blocks of a part: enough to keep a process busy for longer than it takes to tell it so, and than what a part of any size takes.
PART_BLOCKS = 1600


@dataclass(frozen=True, eq=False)
class Ways:
    """What the walks of all blocks, or of some, begin with.

    Parameters
    ----------
    prices
        Of the linking rows, shape (L,).
    w
        Where they begin, with the integers that they hold, shape (n,).
    best
        What the best point of each block costs at these prices, inf where it has none: shape (B,).
    tolerance
        To which a point has to hold in its block.
    seed
        Of points that are drawn around `w`, of which the best is where a block begins; None to begin at `w` itself.
    """

    prices: Array
    w: Array
    best: Array
    tolerance: float
    seed: tuple[int, ...] | None = None


def walk_blocks(crew: Crew, shared: Shared, layout: Layout, ways: Ways, timer: Timer) -> Pool:
    """What blocks meet on their walks that holds and is better than what they have; `shared` is the problem that the layout is of."""
    num_parts = count_parts(layout) if not crew.is_alone or shared.value.options.search == "converge" else 1
    if num_parts == 1:
        return _walk(layout, Here(timer), ways)
    parts = [narrowed(shared.value, number) for number in range(num_parts)]
    tasks = [(number, _part_of(ways, part, number)) for number, part in enumerate(parts)]
    found = share_out(crew, walk_part, shared, tasks, timer)
    return joined([_widened(layout, part, pool) for part, pool in zip(parts, found, strict=True)], empty_pool(layout))


def walk_part(problem: Problem, watch: Watch, number: int, ways: Ways) -> Pool:
    """The walks of one part."""
    return _walk(narrowed(problem, number).layout, watch, ways)


def _part_of(ways: Ways, part: Narrow, number: int) -> Ways:
    seed = None if ways.seed is None else (*ways.seed, number)
    return replace(ways, w=ways.w[part.columns], best=ways.best[part.blocks], seed=seed)


def count_parts(layout: Layout) -> int:
    """Into how many parts the blocks are cut."""
    return -(-layout.num_blocks // PART_BLOCKS) if can_narrow(layout) else 1


def narrowed(problem: Problem, number: int) -> Narrow:
    """A part of the blocks of a problem; it is kept as long as the problem is."""
    known = _parts.setdefault(problem, {})
    if number not in known:
        assert problem.blocks is not None
        layout = lay_out(problem.embedded, problem.blocks, problem.box)
        assert layout is not None
        num_parts = count_parts(layout)
        cuts = np.linspace(0, layout.num_blocks, num_parts + 1).astype(np.int64)
        for each in range(num_parts):
            known[each] = narrow(layout, np.arange(cuts[each], cuts[each + 1]))
    return known[number]


_parts: WeakKeyDictionary[Problem, dict[int, Narrow]] = WeakKeyDictionary()


def _walk(layout: Layout, watch: Watch, ways: Ways) -> Pool:
    found, best, prices = [], ways.best, ways.prices
    w = ways.w if ways.seed is None else _best_drawn(layout, watch, ways, np.random.default_rng(ways.seed))
    for pieces in walk(layout, prices, w, NUM_STEPS):
        is_new = is_better(pieces, prices, best, ways.tolerance)
        best = np.where(is_new, pieces.value(prices), best)
        found.append(of_pieces(layout, pieces, np.flatnonzero(is_new)))
        if watch.is_over():
            break
    return joined(found, empty_pool(layout))


def _best_drawn(layout: Layout, watch: Watch, ways: Ways, rng: np.random.Generator) -> Array:
    """Of some points drawn for each block, between the beginning and anywhere, the best; integers stay."""
    moves = layout.is_inside & ~layout.embedded.integer
    lb, ub = (np.where(moves & np.isfinite(side), side, ways.w) for side in (layout.box.lb, layout.box.ub))
    best, least = ways.w, np.full(layout.num_blocks, np.inf)
    for _ in range(NUM_DRAWN):
        if watch.is_over():
            break
        share = np.append(rng.random(layout.num_blocks), 0.0)[layout.blocks.block]
        pieces = measure_pieces(layout, ways.w + share * (lb + rng.random(lb.size) * (ub - lb) - ways.w))
        merit = _merit(pieces, ways.prices)
        best = layout.choose(merit < least, pieces.w, best)
        least = np.minimum(merit, least)
    return best


def _merit(pieces: Pieces, prices: Array) -> Array:
    value = pieces.value(prices)
    return value + CHARGE * max(1.0, float(np.median(np.abs(value)))) * pieces.violation


def _widened(layout: Layout, part: Narrow, pool: Pool) -> Pool:
    """The points of a part as points of blocks of the whole problem."""
    values = np.zeros((pool.size, layout.width))
    values[:, : pool.values.shape[1]] = pool.values
    return Pool(part.blocks[pool.block], pool.cost, sp.csr_array(pool.use), values, pool.share)
