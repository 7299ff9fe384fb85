"""Points of the whole problem from points of its blocks: the master with whole choices.

A strict master keeps all links, so its points are feasible. A lenient one may miss them at a price near their own: what it finds is too good by
a little, and a walk of the whole problem from there, with its integers held, often brings it back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dcembed.arrays import Array
from dcembed.engine.columns.generator import State, Task, fair_prices, open_cost
from dcembed.engine.columns.layout import Layout
from dcembed.engine.columns.master import Master, build_master, forbid_misses, read_point, solve_master
from dcembed.engine.columns.pool import Pool, best_values, choose
from dcembed.solvers.base import Limits

# Points of the master for a block on average: more make it a search without an end.
POINTS_A_BLOCK = 3.0
# What missing a link costs in relation to its price: in a lenient master, and where no point is known that keeps all links.
LENIENCY, STRICTNESS = 5.0, 100.0


def recombine(
    task: Task, state: State, known: Array | None, is_lenient: bool, limits: Limits, offer: Callable[[Array], None] = lambda w: None
) -> Array | None:
    """The best combination that the master finds, by its kept columns; with a feasible point `known`, a strict one begins there.

    `offer` hears of those that it finds on its way.
    """
    layout, pool = task.layout, state.pool
    begin = None if known is None or is_lenient else _places(layout, pool, known)
    kept = _most_useful(layout, state, begin)
    fair = np.maximum(np.abs(state.exact), 1e-3 * fair_prices(layout, task.nothing))
    master = build_master(layout, choose(pool, kept), (LENIENCY if is_lenient else STRICTNESS) * fair, open_cost(pool))
    start = None
    if begin is not None and known is not None:
        master = forbid_misses(layout, master)
        start = _start(master, np.searchsorted(kept, begin), known)
    met = replace(limits, on_solution=lambda x: offer(read_point(layout, master, x, task.nothing)))
    solution = solve_master(task.problem, master.program, met, start)
    return None if solution.x is None else read_point(layout, master, solution.x, task.nothing)


def _places(layout: Layout, pool: Pool, w: Array) -> Array | None:
    """The points of the pool that a point of the whole problem consists of, shape (B,); None where one is not there."""
    same = np.flatnonzero((pool.values == layout.take(w)[pool.block]).all(axis=1))
    places = np.full(layout.num_blocks, -1, dtype=np.int64)
    places[pool.block[same]] = same
    return places if (places >= 0).all() else None


def _most_useful(layout: Layout, state: State, needed: Array | None) -> Array:
    """The points that are best at the prices, in relation to the best of their blocks, and those that are needed."""
    distance = state.pool.value(state.exact) - best_values(layout, state.pool, state.exact)[state.pool.block]
    kept = np.argsort(distance, kind="stable")[: int(POINTS_A_BLOCK * layout.num_blocks)]
    return np.unique(kept) if needed is None else np.union1d(kept, needed)


def _start(master: Master, places: Array, w: Array) -> Array:
    """A point of the whole problem as one of the master."""
    start = np.zeros(master.program.num_columns)
    start[: master.others.size] = w[master.others]
    start[master.others.size + places] = 1.0
    return start
