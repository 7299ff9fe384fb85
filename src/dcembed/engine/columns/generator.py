"""Column generation: prices from the relaxed master, points of blocks at these prices, points of the whole problem from the master.

Prices are smoothed: a round takes those half way between its last ones and what the relaxed master says. Its own jump from corner to corner
as long as blocks have few points, and points that are made for such prices are of no use later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dcembed.arrays import Array
from dcembed.crew.crew import Crew
from dcembed.crew.task import Shared
from dcembed.embedded.measurements import slopes
from dcembed.engine.columns.integers import FEW, Choices
from dcembed.engine.columns.layout import Layout
from dcembed.engine.columns.master import build_master, read_prices, solve_master
from dcembed.engine.columns.pieces import measure_pieces
from dcembed.engine.columns.pool import Pool, add_all, best_points, best_values, choose, empty_pool, joined, keep_best, put_points
from dcembed.engine.columns.pricing import priced_gradient
from dcembed.engine.columns.walks import Ways, walk_blocks
from dcembed.engine.problem import Problem
from dcembed.program.derive import relaxed
from dcembed.run.clock import Clock
from dcembed.sparse import row_numbers

SMOOTHING = 0.5
# Points of a block that are kept.
MAX_POINTS = 12
# A piece holds if it violates at most this share of the feasibility tolerance.
TOLERANCE_SHARE = 0.1
# What missing a link costs, and a block that has no point, in relation to what all blocks could pay.
FIRMNESS = 20.0
# More blocks than these have their prices from half as many, drawn anew in every round: 100,000 rows take a solver minutes.
MAX_RELAXED = 20_000


@dataclass(frozen=True, eq=False)
class State:
    """Where column generation is.

    Parameters
    ----------
    pool
        Points of blocks that hold.
    prices
        Of the linking rows, as the last round had them, shape (L,).
    exact
        Prices as the relaxed master gave them last, shape (L,).
    value
        Of the relaxed master.
    fruitless
        How often each of the few choices of integers of a block brought nothing since it last did, shape (B, FEW).
    number
        Rounds so far.
    """

    pool: Pool
    prices: Array
    exact: Array
    value: float
    fruitless: Array
    number: int = 0


@dataclass(frozen=True, eq=False)
class Task:
    """What column generation works on: the problem, as it goes to others, by its blocks, their integers, and a point at which all begin."""

    shared: Shared
    layout: Layout
    choices: Choices
    nothing: Array

    @property
    def problem(self) -> Problem:
        """The problem."""
        problem: Problem = self.shared.value
        return problem

    @property
    def tolerance(self) -> float:
        """What a piece may violate."""
        return TOLERANCE_SHARE * self.problem.options.feasibility_tol

    @property
    def is_sampled(self) -> bool:
        """Whether a relaxed master over all blocks takes too long; a sample is of use where nothing but blocks is in the links."""
        return self.layout.num_blocks > MAX_RELAXED and bool(self.layout.is_inside.all())

    def sample(self, number: int) -> Array | None:
        """The blocks whose relaxed master gives the prices of a round, in order; None for all."""
        if not self.is_sampled:
            return None
        rng = np.random.default_rng([self.problem.options.seed, number])
        return np.sort(rng.choice(self.layout.num_blocks, MAX_RELAXED // 2, replace=False))

    @cached_property
    def fair_prices(self) -> Array:
        """At which a block that takes all it can of a link pays for it as much as its columns can bring: shape (L,)."""
        return _fair_prices(self.layout, self.nothing)


def begin(task: Task) -> State:
    """The first prices, and the points of the beginning."""
    layout = task.layout
    prices = task.fair_prices * layout.links_sign
    pool = add_all(layout, empty_pool(layout), measure_pieces(layout, task.nothing), task.tolerance)
    tries = np.where(np.arange(FEW) < np.minimum(task.choices.counts, FEW)[:, None], 0.0, np.inf)
    return State(pool, prices, prices, np.inf, tries)


def hear(task: Task, state: State, w: Array) -> State:
    """Keep the pieces of a point that hold in their blocks."""
    return replace(state, pool=add_all(task.layout, state.pool, measure_pieces(task.layout, w), task.tolerance))


def price(task: Task, state: State, prices: Array, rng: np.random.Generator, crew: Crew, clock: Clock) -> State:
    """One walk of all blocks at these prices; what they meet that is better than what they have is kept."""
    choice, layout = np.argmin(state.fruitless, axis=1), task.layout
    ways = Ways(prices, _begin_at(task, state, prices, choice, rng), best_values(layout, state.pool, prices), task.tolerance)
    found = walk_blocks(crew, task.shared, layout, replace(ways, seed=_drawing_seed(task, state)), clock)
    has_found = np.isin(np.arange(layout.num_blocks), found.block)
    fruitless = state.fruitless.copy()
    at = np.arange(choice.size), choice
    fruitless[at] = np.where(has_found, 0.0, fruitless[at] + 1.0)
    return replace(state, pool=joined([found], state.pool), fruitless=fruitless, number=state.number + 1)


def relax(task: Task, state: State, clock: Clock) -> State:
    """New prices from the relaxed master, with very many blocks from that of a sample; points that are far from being of use are dropped."""
    layout, sample = task.layout, task.sample(state.number)
    some = state.pool if sample is None else choose(state.pool, np.flatnonzero(_is_among(state.pool.block, sample, layout.num_blocks)))
    master = build_master(layout, some, firm_prices(task, state), open_cost(state.pool), sample)
    solution = solve_master(task.problem, relaxed(master.program), clock.limits())
    prices = read_prices(layout, master, solution)
    if prices is None or solution.x is None:
        return state
    share = master.shares(solution.x) if sample is None else _best_shares(layout, state.pool, prices)
    pool = keep_best(replace(state.pool, share=share), prices, MAX_POINTS)
    smoothed = SMOOTHING * state.prices + (1.0 - SMOOTHING) * prices
    value = master.program.objective(solution.x) * (1.0 if sample is None else layout.num_blocks / sample.size)
    return replace(state, pool=pool, prices=smoothed, exact=prices, value=value)


def _is_among(block: Array, sample: Array, num_blocks: int) -> Array:
    """Which entries of `block` are blocks of the sample."""
    mask = np.zeros(num_blocks, dtype=bool)
    mask[sample] = True
    is_among: Array = mask[block]
    return is_among


def _best_shares(layout: Layout, pool: Pool, prices: Array) -> Array:
    """One for the best point of each block at these prices, else zero: shape (K,)."""
    share, best = np.zeros(pool.size), best_points(layout, pool, prices)
    share[best[best >= 0]] = 1.0
    return share


def firm_prices(task: Task, state: State) -> Array:
    """At which no link is missed that can be kept: more than all blocks together could pay, shape (L,)."""
    firm: Array = FIRMNESS * np.maximum(task.layout.num_blocks * task.fair_prices, np.abs(state.exact))
    return firm


def open_cost(pool: Pool) -> float:
    """What leaving a block without a point costs: more than any point."""
    return FIRMNESS * max(1.0, float(np.abs(pool.cost).sum()))


def _fair_prices(layout: Layout, w: Array) -> Array:
    width = layout.box.ub - layout.box.lb
    reach = np.where(np.isfinite(width), width, 1.0)
    gradient = priced_gradient(layout, w, slopes(layout.embedded, w), np.zeros(layout.links.num_links))
    gains = layout.gather @ (np.abs(gradient) * reach)
    gain = float(np.median(gains[gains > 0.0])) if (gains > 0.0).any() else 1.0
    matrix = layout.links.matrix
    activity = np.bincount(row_numbers(matrix), np.abs(matrix.data) * reach[matrix.indices], minlength=layout.links.num_links)
    limit = np.where(np.isfinite(layout.links.ub), np.abs(layout.links.ub), np.abs(layout.links.lb))
    scale = np.where(limit > 0.0, limit, activity / layout.num_blocks)
    return gain / np.maximum(scale, 1e-9)


def _begin_at(task: Task, state: State, prices: Array, choice: Array, rng: np.random.Generator) -> Array:
    """Where the blocks begin with these choices of integers: at the beginning, or every third time at their best points with them."""
    layout = task.layout
    known = put_points(layout, state.pool, best_points(layout, state.pool, prices), task.nothing)
    values = task.choices.varied(rng, task.choices.numbered(choice, layout.take(known)))
    begin_at = _with_integers(task, values, task.nothing)
    if state.number % 3 != 1:
        return begin_at
    same = _same_integers(task, state.pool, values)
    return put_points(layout, same, best_points(layout, same, prices), begin_at)


def _drawing_seed(task: Task, state: State) -> tuple[int, int] | None:
    """Every third time blocks begin at the best of some points that are drawn, with this seed."""
    return (task.problem.options.seed, state.number) if state.number % 3 == 2 else None


def _with_integers(task: Task, values: Array, w: Array) -> Array:
    """The vector `w` with the integers of blocks that are in `values` (B, width)."""
    held = task.layout.put(values, w)
    return np.where(task.layout.embedded.integer & task.layout.is_inside, held, w)


def _same_integers(task: Task, pool: Pool, values: Array) -> Pool:
    """The points that have the integers of their block in `values`."""
    is_integer = task.layout.take(task.layout.embedded.integer.astype(np.float64)) > 0.0
    differs = (pool.values != values[pool.block]) & is_integer[pool.block]
    return choose(pool, np.flatnonzero(~differs.any(axis=1)))
