"""Many points of the host improved at once: a first-order descent in which every point goes its own way, in batched passes.

It is far cheaper for each point than a start, and knows nothing of kinks: what it finds are good places to start from. Columns that
bounds alone hold, or a Euclidean ball, take scaled gradient steps (Adam's rule) inside them; the others go towards the point of the pool, among those with
their integers, that the gradient likes best. Integers stay. The best of each point's way counts, so that none gets worse.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dcembed.arrays import Array
from dcembed.engine.scouting.pool import Pool, held
from dcembed.engine.scouting.scoring import Open, merit_gradient, score_points
from dcembed.run.space import Space

NUM_STEPS = 40
# Length of the steps in relation to the ranges, at first and at last.
FIRST_STEP = 0.3
LAST_STEP = 3e-3
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
    points = score_points(space, open_, w)
    best, best_merit = points.w.copy(), points.merit(penalty)
    mean, square = np.zeros(w.shape), np.zeros(w.shape)
    targets = _targets(space, pool, w)
    for number in range(num_steps):
        if is_over():
            break
        size = FIRST_STEP * (LAST_STEP / FIRST_STEP) ** (number / (num_steps - 1))
        gradient = merit_gradient(space, open_, points, penalty) * space.reach
        mean = MEMORY * mean + (1 - MEMORY) * gradient
        square = SQUARE_MEMORY * square + (1 - SQUARE_MEMORY) * gradient**2
        scaled = mean / (1 - MEMORY ** (number + 1)) / np.sqrt(square / (1 - SQUARE_MEMORY ** (number + 1)) + TINY**2)
        scaled = _normed_in_balls(space, scaled, mean)
        w = np.where(moves, space.clip(points.w - size * space.reach * scaled), points.w)
        w = _towards(space, targets, w, gradient / space.reach, size)
        points = score_points(space, open_, w)
        merit = points.merit(penalty)
        is_better = merit < best_merit
        best[is_better], best_merit[is_better] = points.w[is_better], merit[is_better]
    return best


def _normed_in_balls(space: Space, step: Array, gradient: Array) -> Array:
    """The step, in balls along the gradient itself: scaled by column it would point anywhere but down their surface."""
    for ball in space.balls:
        own = gradient[:, ball.columns]
        step[:, ball.columns] = own * np.sqrt(own.shape[1]) / (np.linalg.norm(own, axis=1, keepdims=True) + TINY)
    return step


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
