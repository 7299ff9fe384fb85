"""Where to start next: many points of the host, scored in one batched pass, and of these the good and different ones."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from functools import cached_property

import numpy as np

from dcembed.arrays import Array
from dcembed.crew.crew import Crew
from dcembed.crew.task import Shared
from dcembed.embedded.point import Point
from dcembed.embedded.points import Points, evaluation_cost
from dcembed.embedded.verify import measure_host
from dcembed.engine.problem import Problem
from dcembed.engine.scouting.choice import find_neighbours, find_valleys
from dcembed.engine.scouting.descent import NUM_STEPS
from dcembed.engine.scouting.pool import Corners, Pool
from dcembed.engine.scouting.sampling import draw, draw_near
from dcembed.engine.scouting.ways_down import STEP_PASSES, descend_in_parts, score_in_parts
from dcembed.run.clock import Clock
from dcembed.run.room import room_for
from dcembed.run.space import Space, far_from
from dcembed.solvers.failover import Solver

# Multiplications that one batch of points may cost, some hundredths of a second, and numbers that its columns may hold.
MAX_COST = 200_000_000
MAX_ENTRIES = 2_000_000
# Points in a batch, however cheap or dear they are; fewer where they would hold more numbers than this.
MIN_POINTS, FEWEST_POINTS, HELD_ENTRIES = 16, 2, 10_000_000
MAX_POINTS = 512
# Points that are improved, as many as this many multiplications allow, and a few where that is at most so many times dearer.
MAX_DESCENTS = 64
MIN_DESCENTS, MAX_EXCESS = 32, 128
DESCENT_COST = 500_000_000
# Each batch has twice the points of the one before and, at first, twice the steps, up to so many times as many: where the first starts
# have not brought the best, a wider look is worth more than further starts.
MAX_WIDTH, MAX_LENGTH = 16, 4
# Points of a batch, whose neighbours are looked for; and the square of their number times their columns.
MAX_DRAWN, NEIGHBOUR_COST = 2048, 2_000_000_000
# Valleys are looked for with the penalty, and with this many times as much.
FIRMNESS = 100.0
# Starts from each batch: valleys, and one point that is anywhere.
NUM_VALLEYS = 3
# Batches without a new start, one after the other, until there is none.
MAX_BATCHES = 3
# Best valleys of a batch that are looked at.
MAX_VALLEYS = 256
# Starts from one batch are at least this far apart, in relation to the ranges.
APART = 1e-3
# Starts and ends that are remembered, the latest.
MEMORY = 512
# Starts and ends nearer than this to one another, in relation to the ranges, are the same.
SAME_PLACE = 1e-6


class Scout:
    """Finds starts one after the other. What it draws depends on its seed and on what it has heard, not on the time."""

    def __init__(self, shared: Shared, find_solver: Callable[[], Solver], crew: Crew, clock: Clock) -> None:
        problem: Problem = shared.value
        space = Space(problem.embedded, problem.box)
        self._shared, self._crew = shared, crew
        self._space, self._feasibility_tol, self._clock = space, problem.options.feasibility_tol, clock
        self._find_solver = find_solver
        self._seed = problem.options.seed
        self._pool = Pool()
        # What was heard since the pool was last asked for; a run that ends with its first start never asks.
        self._met: list[Array] = []
        self._num_batches = 0
        self._queue: deque[Array] = deque()
        room = room_for(space.host.num_columns, MEMORY)
        self._ends: deque[Array] = deque(maxlen=room)
        self._known: deque[Array] = deque(maxlen=room)

    @cached_property
    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(self._seed)

    @cached_property
    def _corners(self) -> Corners:
        return Corners(self._space, self._find_solver())

    def hear_start(self, w: Array) -> None:
        """A start was made here: no other will be."""
        self._known.append(w)
        self._remember(w)

    def hear_end(self, w: Array) -> None:
        """A start ended here: what is near by leads here too."""
        if not self._ends or far_from(self._space.places(w)[None], self._space.places(np.array(self._ends)), SAME_PLACE)[0]:
            self._ends.append(w)
        self._known.append(w)
        self._remember(w)

    def next(self, best: Array | None, penalty: float) -> Array | None:
        """A further start, by its kept columns; None when nothing new can be drawn."""
        self._take_in()
        for _ in range(MAX_BATCHES):
            while self._queue:
                w = self._queue.popleft()
                if self._are_new(self._space.telling, w[None])[0]:
                    return w
            self._queue.extend(self._draw_batch(best, penalty))
        return None

    def leave(self, point: Point, penalty: float) -> Array | None:
        """The best of many points, near by and all over the host, if it is better than `point`."""
        self._remember(point.w)
        self._take_in()
        self._enlarge()
        if not self._pool.groups:
            return None
        number = self._num_points()
        drawn = self._distinct(np.vstack([draw(self._space, self._pool, self._rng, number), self._draw_near(point.w, number)]))
        scored = self._score(drawn)
        merit = scored.merit(penalty)
        first = int(np.argmin(merit))
        return scored.w[first] if merit[first] < point.merit(penalty) else None

    def close(self) -> None:
        """Release what the solver holds."""
        if "_corners" in vars(self):
            self._corners.close()

    def _draw_batch(self, best: Array | None, penalty: float) -> list[Array]:
        """The starts of one batch of points, best first."""
        self._enlarge()
        if not self._pool.groups or self._clock.ended() or self._space.telling.size == 0:
            return []
        number = self._num_points()
        near = [self._draw_near(best, number // 2)] if best is not None else []
        drawn = self._distinct(np.vstack([draw(self._space, self._pool, self._rng, number), *near, *list(self._ends)[-number // 2 :]]))
        scored = self._improve(self._score(drawn), penalty)
        self._num_batches += 1
        if self._clock.ended():
            return []
        if self._is_dear:
            return self._best_new(scored, FIRMNESS * penalty)
        chosen = [*self._choose(scored, penalty), drawn[int(self._rng.integers(drawn.shape[0]))]]
        is_new = self._are_new(self._space.telling, np.array(chosen))
        # Of few points few are valleys; those that are not may lead elsewhere, too.
        return chosen if is_new.any() else self._best_new(scored, FIRMNESS * penalty)

    def _improve(self, scored: Points, penalty: float) -> Points:
        """The points, with what becomes of the best valleys among them on their way down in their place."""
        width, length = self._effort
        if width * self._affordable < MIN_DESCENTS / MAX_EXCESS or self._clock.ended():
            return scored
        number = int(np.clip(width * self._affordable, MIN_DESCENTS, width * MAX_DESCENTS))
        neighbours = find_neighbours(self._space.places(scored.w))
        ways = [(value, self._valleys(neighbours, scored, value)[: number // 2]) for value in (FIRMNESS * penalty, penalty)]
        # Where both lead down from the same point, the firm way is taken.
        value_of = {index: value for value, valleys in reversed(ways) for index in valleys}
        if self._is_dear:
            # With many columns most points are neighbours of the best, and few are valleys: others go along, from all over and from near the best.
            order, first = np.argsort(scored.merit(FIRMNESS * penalty), kind="stable"), self._num_points()
            for some in (order[order < first], order[order >= first]):
                others = [int(index) for index in some if index not in value_of]
                value_of |= dict.fromkeys(others[: number // 2], FIRMNESS * penalty)
        chosen, values = np.array([*value_of], dtype=np.int64), np.array([*value_of.values()])
        if chosen.size == 0:
            return scored
        w = scored.w.copy()
        w[chosen] = descend_in_parts(self._crew, self._shared, self._pool, w[chosen], values, length * NUM_STEPS, self._clock)
        return scored if self._clock.ended() else self._score(w)

    def _best_new(self, scored: Points, penalty: float) -> list[Array]:
        """The best point away from where starts have been: where passes are dear, a wide look costs less than a start, so there is but one."""
        order = np.argsort(scored.merit(penalty), kind="stable")[:MAX_VALLEYS]
        places = self._space.places(np.array(self._known))
        new = order[far_from(self._space.places(scored.w[order]), places, APART)]
        return [scored.w[new[0]]] if new.size else []

    def _choose(self, scored: Points, penalty: float) -> list[Array]:
        """A few of the best valleys that are apart from one another, by the penalty and by a firm one in turn."""
        neighbours = find_neighbours(self._space.places(scored.w))
        # A penalty that is estimated at one point may be far too small at another, where feasible points have to pay for their objective.
        firm = self._valleys(neighbours, scored, FIRMNESS * penalty)
        loose = self._integers_first(scored, self._valleys(neighbours, scored, penalty))
        chosen: list[Array] = []
        for index in itertools.chain.from_iterable(itertools.zip_longest(firm, loose)):
            if index is None:
                continue
            apart = not chosen or far_from(self._space.places(scored.w[[index]]), self._space.places(np.array(chosen)), APART)[0]
            chosen += [scored.w[index]] if apart else []
        return chosen[:NUM_VALLEYS]

    def _valleys(self, neighbours: Array, scored: Points, penalty: float) -> list[int]:
        """Numbers of the best valleys where no start has been."""
        valleys = find_valleys(neighbours, scored.merit(penalty))[:MAX_VALLEYS]
        return [int(index) for index in valleys[self._are_new(self._space.telling, scored.w[valleys])]]

    def _integers_first(self, scored: Points, valleys: list[int]) -> list[int]:
        """New choices of integers before those that were tried."""
        tried = ~self._are_new(np.flatnonzero(self._space.host.integer), scored.w[valleys])
        return [valleys[place] for place in np.argsort(tried, kind="stable")]

    def _enlarge(self) -> None:
        self._pool = self._corners.enlarge(self._pool, self._rng, self._clock)

    def _draw_near(self, w: Array, number: int) -> Array:
        return draw_near(self._space, self._pool, w, self._rng, number)

    def _distinct(self, w: Array) -> Array:
        """The points that can be told apart, with finite columns."""
        finite = w[np.isfinite(w).all(axis=1)]
        return finite[np.sort(np.unique(finite[:, self._space.telling], axis=0, return_index=True)[1])]

    def _score(self, w: Array) -> Points:
        return score_in_parts(self._crew, self._shared, w, self._clock)

    def _are_new(self, columns: Array, w: Array) -> Array:
        """Which points differ in some of the columns from every start and end so far."""
        width = self._space.width[columns]
        return far_from(w[:, columns] / width, np.array(self._known)[:, columns] / width, SAME_PLACE)

    def _remember(self, w: Array) -> None:
        """Keep a point for combinations."""
        self._met.append(w)

    def _take_in(self) -> None:
        """Put what was heard into the pool, as far as the host itself allows it."""
        for w in self._met:
            if measure_host(self._space.host, w)[1] <= self._feasibility_tol:
                self._pool = self._pool.with_point(self._space, w)
        self._met = []

    def _num_points(self) -> int:
        entries = self._space.host.num_columns + self._space.host.num_rows
        width = self._effort[0]
        affordable = min(width * MAX_COST // max(1, evaluation_cost(self._space.embedded)), MAX_ENTRIES // entries)
        comparable = min(MAX_DRAWN, int(np.sqrt(NEIGHBOUR_COST / max(1, self._space.telling.size))) // 2)
        # Of millions of columns even a few points take long to draw, and much memory.
        least = max(FEWEST_POINTS, min(MIN_POINTS, HELD_ENTRIES // entries))
        return int(np.clip(affordable, least, max(least, min(width * MAX_POINTS, comparable))))

    @property
    def _is_dear(self) -> bool:
        """Whether even the few points that are always improved cost more than a batch should."""
        return self._affordable < MIN_DESCENTS

    @property
    def _affordable(self) -> float:
        """How many points the first batch can improve at its cost."""
        return DESCENT_COST / (STEP_PASSES * NUM_STEPS * evaluation_cost(self._space.embedded) + 1)

    @property
    def _effort(self) -> tuple[int, int]:
        """How many times the points and the steps of the first batch the next one has."""
        growth = 2 ** min(self._num_batches, 20)
        width, length = min(growth, MAX_WIDTH), min(growth, MAX_LENGTH)
        if not self._is_dear:
            return width, length
        # Many short ways and few long ones in turn: what one of a hundred ways finds may show late on it.
        return (width, 1) if self._num_batches % 2 == 0 else (max(1, width // length), length)
