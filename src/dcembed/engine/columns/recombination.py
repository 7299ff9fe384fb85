"""Points of the whole problem from points of its blocks: the master with whole choices.

A strict master keeps all links, so its points are feasible. A lenient one may miss them at a price near their own: what it finds is too good by
a little, and a walk of the whole problem from there, with its integers held, often brings it back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.grouping import inside
from dcembed.engine.columns.generator import State, Task, firm_prices, open_cost
from dcembed.engine.columns.greedy import combine_greedily, find_places
from dcembed.engine.columns.layout import Layout
from dcembed.engine.columns.master import Master, build_master, forbid_misses, read_point, solve_master
from dcembed.engine.columns.pool import best_values, choose
from dcembed.solvers.base import Limits

# Points of the master for a block on average: more make it a search without an end.
POINTS_A_BLOCK = 3.0
# Points at most beside the best of each block.
MAX_FURTHER = 10_000
# Points of blocks that are open where prices come from a sample.
MAX_OPEN = 15_000
# What missing a link costs in a lenient master, in relation to its price.
LENIENCY = 5.0
# How much of a block the relaxed master may leave to others and have decided for it.
DECIDED = 1e-6


class Kind(Enum):
    """What a combination is chosen from, and how strictly."""

    QUICK = "strict, where the relaxed master has not decided"
    STRICT = "strict, from the points that are best at the prices"
    LENIENT = "from these points, with links that may be missed at a price"


def recombine(
    task: Task, state: State, known: Array | None, kind: Kind, limits: Limits, offer: Callable[[Array], None] = lambda w: None
) -> Array | None:
    """The best combination that the master finds, by its kept columns; with a feasible point `known`, a strict one begins there.

    `offer` hears of those that it finds on its way.
    """
    layout, pool = task.layout, state.pool
    if kind is Kind.QUICK and task.is_sampled and (w := combine_greedily(task, state, known)) is not None:
        return w
    begin = find_places(layout, pool, known) if known is not None and kind is Kind.STRICT else None
    kept = _still_open(task, state) if kind is Kind.QUICK else _most_useful(layout, state)
    kept = kept if begin is None else inside(pool.size, kept, begin)
    lenient = LENIENCY * np.maximum(np.abs(state.exact), task.fair_prices)
    penalty = lenient if kind is Kind.LENIENT else firm_prices(task, state)
    master = build_master(layout, choose(pool, kept), penalty, open_cost(pool))
    start = None
    if begin is not None and known is not None:
        start = _start(master, np.searchsorted(kept, begin), known)
        master = forbid_misses(layout, master, start)
    met = replace(limits, on_solution=lambda x: offer(read_point(layout, master, x, task.nothing)))
    solution = solve_master(task.problem, master.program, met, start)
    return None if solution.x is None else read_point(layout, master, solution.x, task.nothing)


def _still_open(task: Task, state: State) -> Array:
    """The points that the relaxed master has chosen, and all points of blocks for which it has not decided.

    Of a sample it decides for no other block: there those are open that are nearest to another choice.
    """
    layout, pool = task.layout, state.pool
    decided = np.zeros(layout.num_blocks, dtype=bool)
    chosen = pool.share > 1.0 - DECIDED
    decided[pool.block[chosen]] = True
    if task.is_sampled:
        distance = np.where(chosen, np.inf, pool.value(state.exact) - best_values(layout, pool, state.exact)[pool.block])
        decided[pool.block[np.argsort(distance, kind="stable")[:MAX_OPEN]]] = False
    return np.flatnonzero(chosen | ~decided[pool.block])


def _most_useful(layout: Layout, state: State) -> Array:
    """The points that are best at the prices, in relation to the best of their blocks."""
    distance = state.pool.value(state.exact) - best_values(layout, state.pool, state.exact)[state.pool.block]
    number = layout.num_blocks + min(int((POINTS_A_BLOCK - 1.0) * layout.num_blocks), MAX_FURTHER)
    return np.sort(np.argsort(distance, kind="stable")[:number])


def _start(master: Master, places: Array, w: Array) -> Array:
    """A point of the whole problem as one of the master."""
    start = np.zeros(master.program.num_columns)
    start[: master.others.size] = w[master.others]
    chosen = np.zeros(master.pool.size)
    chosen[places] = 1.0
    start[master.others.size : master.others.size + master.num_open] = chosen[master.is_open]
    return start
