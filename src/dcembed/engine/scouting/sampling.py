"""Many points of the host at once, without a solve for each.

Columns that bounds alone hold are drawn inside them. The others are combinations of points of the host with the same integers: what
rows, cones and indicators say holds at each of those, so it holds in between. Where only rows hold them, a combination is moved along
a random direction as far as the rows allow, which leaves the hull of the few points it came from.
"""

from __future__ import annotations

import numpy as np

from dcembed.arrays import Array
from dcembed.engine.scouting.pool import Pool, held
from dcembed.run.space import Space

# Weights of a combination: below 1 they are mostly near corners, edges and faces, where optima are.
CONCENTRATION = 0.5
# Share of points at corners of the box of the free columns, where extremes of a network often are.
CORNER_SHARE = 0.25
# Columns without bounds are drawn around where they are, this many powers of ten of their size away.
ENDLESS_POWERS = (-1.0, 1.0)
# Steps around a point, in powers of ten of the ranges.
NEAR_POWERS = (-3.0, 0.0)
# Share of the points in which integers go one up or down.
INTEGER_SHARE = 0.5
# Most integers that change in such a point.
MAX_CHANGED = 3
# What rows may be exceeded by at a point with changed integers, in relation to max(1, |limit|).
ROW_TOL = 1e-9


def draw(space: Space, pool: Pool, rng: np.random.Generator, number: int) -> Array:
    """Points from all over the host, shape (number, n)."""
    group = rng.integers(len(pool.groups), size=number)
    parts = [_combine(space, points, rng, int((group == index).sum())) for index, points in enumerate(pool.groups)]
    return _change_integers(space, _fill(space, np.vstack(parts), rng), rng)


def draw_near(space: Space, pool: Pool, center: Array, rng: np.random.Generator, number: int) -> Array:
    """Points around one of the host, near and far: steps towards others with its integers, or to neighbouring integers."""
    fixed = held(space)
    alike = [points for points in pool.groups if np.array_equal(points[0][fixed], center[fixed])]
    points = np.vstack([*alike, center[None]])
    size = 10 ** rng.uniform(*NEAR_POWERS, (number, 1))
    w = center + size * (_combine(space, points, rng, number) - center)
    free = ~space.tied & (space.is_bounded | space.is_input)
    step = size * rng.standard_normal((number, int(free.sum()))) * space.width[free]
    w[:, free] = _within(space, center[free] + step, free)
    w = _rounded(space, _move_in_balls(space, w, center, size, rng))
    return _change_integers(space, w, rng)


def _combine(space: Space, points: Array, rng: np.random.Generator, number: int) -> Array:
    """Random combinations of points with the same integers, moved along random directions where that is possible."""
    weights = rng.dirichlet(np.full(points.shape[0], CONCENTRATION), size=number) if points.shape[0] > 1 else np.ones((number, 1))
    w = weights @ points
    if space.is_linear and space.tied.any() and number:
        w = w + _allowed_step(space, w, _directions(space, points, rng, number), rng)
    fixed = held(space)
    w[:, fixed] = points[0][fixed]
    return w


def _directions(space: Space, points: Array, rng: np.random.Generator, number: int) -> Array:
    """Differences of the points, and anything on the columns that no equality holds."""
    host = space.host
    first, second = rng.integers(points.shape[0], size=(2, number))
    direction: Array = points[first] - points[second]
    in_equality = np.zeros(host.num_columns, dtype=bool)
    in_equality[host.rows[np.flatnonzero(host.row_lb == host.row_ub)].indices] = True
    loose = space.tied & ~in_equality & ~host.integer & space.is_bounded
    size = rng.uniform(0.0, 1.0, (number, 1))
    direction[:, loose] += size * rng.standard_normal((number, int(loose.sum()))) * space.width[loose]
    direction[:, ~space.tied | host.integer] = 0.0
    return direction


def _allowed_step(space: Space, w: Array, direction: Array, rng: np.random.Generator) -> Array:
    """A random share of the way along each direction, forward or back, that rows and bounds leave."""
    host = space.host
    value = np.hstack([(host.rows @ w.T).T, w])
    change = np.hstack([(host.rows @ direction.T).T, direction])
    lb, ub = np.concatenate([host.row_lb, host.lb]), np.concatenate([host.row_ub, host.ub])
    change[np.abs(change) <= ROW_TOL] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = (lb - value) / change, (ub - value) / change
    moves = change != 0
    forward = np.where(moves, np.maximum(one, other), np.inf).min(axis=1)
    back = np.where(moves, np.minimum(one, other), -np.inf).max(axis=1)
    # Points of a solver lie outside by its tolerance; from there no way leads further out.
    forward, back = np.maximum(forward, 0.0), np.minimum(back, 0.0)
    share = rng.uniform(0.0, 1.0, w.shape[0])
    is_endless = ~(np.isfinite(forward) & np.isfinite(back))
    forward[is_endless] = back[is_endless] = 0.0
    step: Array = (back + share * (forward - back))[:, None] * direction
    return step


def _fill(space: Space, w: Array, rng: np.random.Generator) -> Array:
    """Columns that bounds alone hold, drawn inside them."""
    host, number = space.host, w.shape[0]
    free = ~space.tied & space.is_bounded
    share = _even(rng, number, int(free.sum()))
    at_corner = rng.uniform(0.0, 1.0, number) < CORNER_SHARE
    share[at_corner] = np.round(share[at_corner])
    lb, ub = space.box.lb[free], space.box.ub[free]
    # Every integer is as likely as the others.
    wide = np.where(host.integer[free], 0.5 - 1e-9, 0.0)
    w[:, free] = np.clip(lb - wide + share * (ub - lb + 2 * wide), lb, ub)
    endless = ~space.tied & ~space.is_bounded & space.is_input
    size = np.maximum(1.0, np.abs(w[:, endless])) * 10 ** rng.uniform(*ENDLESS_POWERS, (number, 1))
    w[:, endless] = _within(space, w[:, endless] + size * rng.standard_normal((number, int(endless.sum()))), endless)
    return _rounded(space, _fill_balls(space, w, rng))


def _fill_balls(space: Space, w: Array, rng: np.random.Generator) -> Array:
    """Columns of balls, drawn in any direction and at any distance from the centre."""
    for ball in space.balls:
        direction = rng.standard_normal((w.shape[0], ball.columns.size))
        distance = ball.radius * rng.uniform(0.0, 1.0, (w.shape[0], 1))
        w[:, ball.columns] = ball.center + distance * direction / np.linalg.norm(direction, axis=1, keepdims=True)
    return space.clip(w) if space.balls else w


def _move_in_balls(space: Space, w: Array, center: Array, size: Array, rng: np.random.Generator) -> Array:
    """Columns of balls, so far from `center` in any direction."""
    for ball in space.balls:
        step = size * rng.standard_normal((w.shape[0], ball.columns.size)) * space.reach[ball.columns]
        w[:, ball.columns] = center[ball.columns] + step
    return space.clip(w) if space.balls else w


def _even(rng: np.random.Generator, number: int, dimension: int) -> Array:
    """Random points of the unit cube that are spread evenly along each column (a Latin hypercube)."""
    stratum = np.argsort(rng.uniform(size=(number, dimension)), axis=0)
    even: Array = (stratum + rng.uniform(size=(number, dimension))) / number
    return even


def _change_integers(space: Space, w: Array, rng: np.random.Generator) -> Array:
    """Some of the points with a few integers one up or down, where the host allows that."""
    columns = np.flatnonzero(space.host.integer & (space.box.ub > space.box.lb))
    if columns.size == 0 or space.host.has_curves:
        return w
    shape = w.shape[0], MAX_CHANGED
    some, step = rng.choice(columns, size=shape), rng.choice([-1.0, 1.0], size=shape)
    # One to all of the changes are made, or none.
    num_changes = np.where(rng.uniform(0.0, 1.0, shape[0]) < INTEGER_SHARE, rng.integers(1, MAX_CHANGED + 1, size=shape[0]), 0)
    step[np.arange(MAX_CHANGED) >= num_changes[:, None]] = 0.0
    row = np.arange(shape[0])[:, None]
    # A binary goes the only way it can.
    value = w[row, some]
    step = np.where((value + step > space.box.ub[some]) | (value + step < space.box.lb[some]), -step, step)
    changed = w.copy()
    changed[row, some] = value + step
    holds = rows_hold(space, changed)
    return np.where(holds[:, None], changed, w)


def rows_hold(space: Space, w: Array, tolerance: float = ROW_TOL) -> Array:
    """At which points all rows, bounds and indicators of the host hold, to a tolerance in relation to max(1, |limit|)."""
    host, indicators = space.host, space.host.indicator_rows
    on = np.round(w[:, indicators.column]) == indicators.value
    parts = (
        _inside((host.rows @ w.T).T, host.row_lb, host.row_ub, tolerance),
        _inside(w, host.lb, host.ub, tolerance)[:, host.integer],
        ~on | _inside((indicators.matrix @ w.T).T, indicators.lb, indicators.ub, tolerance),
    )
    return np.asarray(np.hstack(parts).all(axis=1))


def _inside(value: Array, lb: Array, ub: Array, tolerance: float) -> Array:
    low, high = lb - tolerance * np.maximum(1.0, np.abs(lb)), ub + tolerance * np.maximum(1.0, np.abs(ub))
    # An infinite limit is no limit, whatever is added to it.
    return (value >= np.where(np.isfinite(lb), low, lb)) & (value <= np.where(np.isfinite(ub), high, ub))


def _within(space: Space, w: Array, columns: Array) -> Array:
    return np.clip(w, space.box.lb[columns], space.box.ub[columns])


def _rounded(space: Space, w: Array) -> Array:
    return np.where(space.host.integer, np.clip(np.round(w), space.host.lb, space.host.ub), w)
