"""Points of the whole problem, one after the other, from points of its blocks.

At first rounds of prices and walks until the relaxed master gains no more, with a combination now and then. After that every call varies the
prices, so that blocks find other points, and combines anew, strictly and leniently in turn.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dcembed.arrays import Array
from dcembed.bounds.hint import Hint
from dcembed.crew.task import Shared
from dcembed.embedded.point import Point, measure_point
from dcembed.engine.columns.generator import MAX_POINTS, Task, begin, hear, price, relax
from dcembed.engine.columns.integers import find_choices
from dcembed.engine.columns.layout import Layout, lay_out
from dcembed.engine.columns.pool import put_points
from dcembed.engine.columns.recombination import Kind, recombine
from dcembed.engine.outcome import best_of
from dcembed.engine.problem import Problem
from dcembed.engine.shelf import BlockPoints
from dcembed.run.journal import Journal, Step
from dcembed.run.room import room_for
from dcembed.run.starts import measure_start, with_predictions

# Rounds of the first call at most, and those after which points are combined; with very many blocks, where that needs no solver, all.
NUM_ROUNDS = 16
COMBINED = (1, 3, 6)
# The relaxed master gains no more if so many rounds bring less than this, in relation to its value.
NUM_IDLE, GAIN = 3, 1e-3
# Walks of a later call at varied prices, and by how much these vary.
NUM_VARIED, VARIATION = 4, 0.5
# Points of each block that a proof hears of.
NUM_HINTS = 4
# Nodes of a combination in the first call, and later so many divided by the number of blocks, within limits.
FIRST_NODES, NODES_OF_ALL, MIN_NODES, MAX_NODES = 1, 4000, 10, 200


class Columns:
    """Finds starts one after the other. What it finds depends on its seed and on what it has heard, not on the time."""

    def __init__(self, shared: Shared, layout: Layout, journal: Journal, starts: tuple[Array, ...]) -> None:
        problem: Problem = shared.value
        self._journal, self._rng = journal, np.random.default_rng(problem.options.seed)
        nothing = measure_start(problem.embedded, starts[0] if starts else _inside(layout))
        self._task = Task(shared, layout, find_choices(layout), nothing.w)
        self._state = begin(self._task)
        self._best: Point | None = None
        self._num_calls, self._num_steps = 0, 0
        self._take_up()
        for w in starts:
            point = measure_start(problem.embedded, w)
            journal.offer(point)
            self.hear(point)

    def hear(self, point: Point | None) -> None:
        """Keep the pieces of a point of the whole problem."""
        if point is not None:
            self._state = hear(self._task, self._state, point.w)
            self._best = best_of((self._best, point), self._task.problem.options.feasibility_tol)

    def hint(self) -> Hint:
        """What the linking rows are worth in the relaxed master, and the best points of blocks at these prices."""
        layout, exact = self._task.layout, self._state.exact
        embedded, blocks = layout.embedded, layout.blocks
        prices = np.zeros(embedded.host.num_rows + embedded.restrictions.num_restrictions)
        prices[np.concatenate([blocks.linking_rows, embedded.host.num_rows + blocks.linking_restrictions])] = exact
        return Hint(prices, self._ranked(NUM_HINTS))

    def put_away(self) -> None:
        """Keep the points of all blocks, and their prices, for the next solve of a compiled problem."""
        shelf, layout = self._task.problem.shelf, self._task.layout
        if shelf is not None:
            number = room_for(self._task.nothing.size, MAX_POINTS)
            shelf.points = BlockPoints(layout.blocks, self._ranked(number), self._state.exact)

    def _take_up(self) -> None:
        """Begin with the points of the last solve that hold in their blocks now, and with its prices."""
        shelf, layout = self._task.problem.shelf, self._task.layout
        kept = None if shelf is None else shelf.points_of(layout.blocks)
        if shelf is None or kept is None:
            return
        before = self._state.pool.size
        for w in kept.points:
            self._state = hear(self._task, self._state, with_predictions(layout.embedded, w))
        self._state = replace(self._state, prices=kept.prices, exact=kept.prices)
        shelf.num_points = self._state.pool.size - before

    def _ranked(self, number: int) -> Array:
        """Columns of the host with the best points of all blocks, with the second best, and so on: shape (number, n)."""
        layout, pool = self._task.layout, self._state.pool
        order = np.lexsort((pool.value(self._state.exact), pool.block))
        place = np.arange(order.size) - np.searchsorted(pool.block[order], pool.block[order])
        points = []
        for rank in range(number):
            numbers = np.full(layout.num_blocks, -1, dtype=np.int64)
            numbers[pool.block[order[place == rank]]] = order[place == rank]
            points.append(put_points(layout, pool, numbers, self._task.nothing))
        return np.array(points)

    def next(self) -> Array | None:
        """A further start, by its kept columns; None where nothing is found."""
        self._num_calls += 1
        return self._first() if self._num_calls == 1 else self._further()

    def _first(self) -> Array | None:
        values: list[float] = []
        while len(values) < NUM_ROUNDS and not self._is_over() and not _is_idle(values):
            self._round(self._state.prices)
            values.append(self._state.value)
            if self._task.is_sampled or len(values) - 1 in COMBINED:
                self._combine(Kind.QUICK, FIRST_NODES)
        self._combine(Kind.QUICK, FIRST_NODES)
        return self._combine(Kind.STRICT, FIRST_NODES)

    def _further(self) -> Array | None:
        for _ in range(NUM_VARIED):
            if self._is_over():
                return None
            factor = np.exp(VARIATION * self._rng.standard_normal(self._state.exact.size))
            self._state = price(self._task, self._state, self._state.exact * factor, self._rng, self._journal.crew, self._journal.clock)
        self._round(self._state.exact)
        num_nodes = int(np.clip(NODES_OF_ALL // self._task.layout.num_blocks, MIN_NODES, MAX_NODES))
        return self._combine(Kind.LENIENT if self._num_calls % 2 == 0 else Kind.STRICT, num_nodes)

    def _round(self, prices: Array) -> None:
        """A walk of all blocks, and new prices."""
        self._state = price(self._task, self._state, prices, self._rng, self._journal.crew, self._journal.clock)
        if not self._is_over():
            self._state = relax(self._task, self._state, self._journal.clock)

    def _combine(self, kind: Kind, num_nodes: int) -> Array | None:
        """The point of a master; those that it meets on its way are measured too."""
        if self._is_over():
            return None
        # What others have pushed out of the pool is in it again.
        self.hear(self._best)
        known = None if self._best is None else self._best.w
        limits = replace(self._journal.clock.limits(), nodes=num_nodes)
        w = recombine(self._task, self._state, known, kind, limits, self._offer)
        point = None if w is None else measure_point(self._task.layout.embedded, w)
        if point is not None:
            self._journal.offer(point)
            # With millions of columns it takes a while, which only a proof has use for when the time is over.
            if not self._is_over() or self._task.problem.options.prove:
                self.hear(point)
        self._record(point)
        return None if point is None else point.w

    def _offer(self, w: Array) -> None:
        self._journal.offer(measure_point(self._task.layout.embedded, w))

    def _record(self, point: Point | None) -> None:
        self._num_steps += 1
        words = f"{self._state.pool.size:,} points of blocks, relaxation {self._sense * self._state.value:.6g}"
        self._journal.step(Step(0, self._num_steps, self._best, point, 0.0, words, kind="columns"))

    @property
    def _sense(self) -> float:
        return self._journal.arguments.program.sense

    def _is_over(self) -> bool:
        return self._journal.clock.ended() is not None


def open_columns(shared: Shared, journal: Journal, starts: tuple[Array, ...]) -> Columns | None:
    """Where the problem that is shared falls into blocks that can be worked on at once."""
    problem: Problem = shared.value
    layout = None if problem.blocks is None else lay_out(problem.embedded, problem.blocks, problem.box)
    return None if layout is None else Columns(shared, layout, journal, starts)


def _is_idle(values: list[float]) -> bool:
    """Whether the last rounds have brought next to nothing."""
    if len(values) <= NUM_IDLE:
        return False
    return values[-1 - NUM_IDLE] - values[-1] <= GAIN * max(1e-9, abs(values[-1]))


def _inside(layout: Layout) -> Array:
    """The point of the box that is nearest to zero."""
    return np.clip(np.zeros(layout.blocks.block.size), layout.box.lb, layout.box.ub)
