"""Many points of the host improved at once: a first-order descent in which every point goes its own way, in batched passes.

It is far cheaper for each point than a start, and knows nothing of kinks: what it finds are good places to start from. Columns that
bounds alone hold, or a Euclidean ball, take steps along the gradient inside them. A few of them are scaled by Adam's rule; many take steps
of the same length, at first across the whole box or ball, since the best points of a large one are on its surface. The others go
towards the point of the pool, among those with their integers, that the gradient likes best. Integers stay. The best of each point's way
counts, so that none gets worse.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dcembed.arrays import Array
from dcembed.engine.scouting.pool import Pool, held
from dcembed.engine.scouting.scoring import Open, merit_gradient, score_points
from dcembed.run.space import Space

NUM_STEPS = 40
# Lengths of the steps in relation to the ranges, at first and at last: where few columns move, where at least so many do, and in balls.
FEW_STEPS, MANY_STEPS, BALL_STEPS = (0.05, 3e-3), (1.0, 3e-3), (3.0, 1e-3)
MANY_COLUMNS = 100
# Adam's memory of gradients and of their squares.
MEMORY = 0.9
SQUARE_MEMORY = 0.99
TINY = 1e-12


def descend(
    space: Space,
    pool: Pool,
    open_: Open,
    w: Array,
    penalty: Array,
    num_steps: int = NUM_STEPS,
    is_over: Callable[[], bool] = lambda: False,
) -> Array:
    """The best points (k, n) on the ways down from `w`, each by its own penalty (k,), in so many steps while there is time."""
    moves = (~space.tied | space.in_ball) & ~space.host.integer & (space.is_bounded | space.is_input)
    has_many = np.count_nonzero(moves) >= MANY_COLUMNS
    points = score_points(space, open_, w)
    best, best_merit = points.w.copy(), points.merit(penalty)
    targets, rule = _targets(space, pool, w), Signs(w.shape) if has_many else Adam(w.shape)
    lengths = (np.geomspace(*ends, num_steps) for ends in (MANY_STEPS if has_many else FEW_STEPS, BALL_STEPS))
    for length, ball_length in zip(*lengths, strict=True):
        if is_over():
            break
        gradient = merit_gradient(space, open_, points, penalty) * space.reach
        step = length * rule.scale(gradient)
        for ball in space.balls:
            step[:, ball.columns] = ball_length * _along(gradient[:, ball.columns])
        w = np.where(moves, space.clip(points.w - space.reach * step), points.w)
        w = _towards(space, targets, w, gradient / space.reach, length)
        points = score_points(space, open_, w)
        merit = points.merit(penalty)
        is_better = merit < best_merit
        best[is_better], best_merit[is_better] = points.w[is_better], merit[is_better]
    return best


class Adam:
    """Gradients scaled column by column, by what is remembered of their sizes."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._mean, self._square, self._number = np.zeros(shape), np.zeros(shape), 0

    def scale(self, gradient: Array) -> Array:
        """The next step, of about one in every column."""
        self._number += 1
        self._mean = MEMORY * self._mean + (1 - MEMORY) * gradient
        self._square = SQUARE_MEMORY * self._square + (1 - SQUARE_MEMORY) * gradient**2
        mean, square = self._mean / (1 - MEMORY**self._number), self._square / (1 - SQUARE_MEMORY**self._number)
        scaled: Array = mean / np.sqrt(square + TINY**2)
        return scaled


class Signs:
    """Signs of gradients, for every other point of what is remembered of them: some basins are found without memory, others with it."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._mean, self._remembers = np.zeros(shape), np.arange(shape[0])[:, None] % 2 == 1

    def scale(self, gradient: Array) -> Array:
        """The next step, of one in every column."""
        self._mean = MEMORY * self._mean + (1 - MEMORY) * gradient
        return np.sign(np.where(self._remembers, self._mean, gradient))


def _along(gradient: Array) -> Array:
    """The gradient itself, of about one in every column: scaled by column it would point anywhere but down the surface of a ball."""
    along: Array = gradient * np.sqrt(gradient.shape[1]) / (np.linalg.norm(gradient, axis=1, keepdims=True) + TINY)
    return along


def _targets(space: Space, pool: Pool, w: Array) -> list[tuple[Array, Array]]:
    """For each choice of integers in the pool, which points have it and the points of the pool that do."""
    if not (space.tied & ~space.in_ball).any():
        return []
    fixed = held(space)
    alike = ((np.flatnonzero((w[:, fixed] == group[0][fixed]).all(axis=1)), group) for group in pool.groups)
    return [(rows, group) for rows, group in alike if rows.size]


def _towards(space: Space, targets: list[tuple[Array, Array]], w: Array, gradient: Array, size: float) -> Array:
    """Tied columns a step nearer to the point of the pool that is best by the gradient."""
    for rows, group in targets:
        target = group[np.argmin(gradient[rows][:, space.tied] @ group[:, space.tied].T, axis=1)]
        step = size * (target - w[rows])
        w[rows] += np.where(space.tied & ~space.in_ball & ~space.host.integer, step, 0.0)
    return w
