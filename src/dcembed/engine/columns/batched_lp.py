"""Many small linear programs at once, one for each block, in numpy alone.

minimize c's + price'q   subject to   A s - q <= rhs,   0 <= s <= 1,   q >= 0

Rows may be exceeded at a price, so every program has an optimum. With one row it is a continuous knapsack, solved exactly by sorting; else
all programs go through one interior-point method together (Mehrotra's predictor and corrector), each with steps of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from dcembed.arrays import Array
from dcembed.network.chunks import slices

# The interior-point method ends when complementarity, in relation to the costs, and residuals are below this, or after so many steps.
ACCURACY, MAX_STEPS = 1e-7, 25
# What is left of rows counts less: they may be exceeded anyway.
PRIMAL_SHARE = 0.01
# A step may make that worse by this factor; beyond, numbers are at their end.
WORSE = 2.0
# How far towards the boundary a step goes.
DAMPING = 0.99
# Added to the diagonal of the systems, in relation to its largest entry, so that rows that are alike do not make them singular.
REGULARIZATION = 1e-10
TINY = 1e-14
# Of excess, in relation to the costs of the columns.
LARGEST_PRICE = 1e4
# Numbers of rows that go through the method at a time, 32 MB.
CHUNK_ENTRIES = 4_000_000
# What is this near to a bound is there.
SNAP = 1e-7


@dataclass(frozen=True, eq=False)
class Programs:
    """B programs over n columns with m rows each.

    Parameters
    ----------
    cost
        c, shape (B, n).
    rows
        A, shape (B, m, n).
    rhs
        Shape (B, m); infinite where a row says nothing.
    price
        Of a unit of excess of each row, shape (B, m), positive.
    """

    cost: Array
    rows: Array
    rhs: Array
    price: Array


@dataclass(frozen=True, eq=False)
class Solutions:
    """The columns s (B, n), and the multipliers of the rows (B, m), at most their prices."""

    s: Array
    multipliers: Array


def solve_programs(programs: Programs) -> Solutions:
    """The optima of all programs."""
    height = programs.rhs.shape[1]
    if height == 0:
        return Solutions((programs.cost < 0.0).astype(np.float64), np.zeros_like(programs.rhs))
    if height == 1:
        return _fill_knapsacks(programs)
    # The method holds many arrays of the size of the rows: programs beyond a number go through it some at a time.
    parts = [
        _follow_paths(Programs(*(getattr(programs, field.name)[chunk] for field in fields(Programs))))
        for chunk in slices(programs.rhs.shape[0], programs.rows[0].size, CHUNK_ENTRIES)
    ]
    return Solutions(np.concatenate([part.s for part in parts]), np.concatenate([part.multipliers for part in parts]))


def _fill_knapsacks(programs: Programs) -> Solutions:
    """One row: columns change sides in the order of what that costs for a unit of the row, until the row holds or costs more than its price."""
    cost, row, rhs, price = programs.cost, programs.rows[:, 0], programs.rhs[:, 0], programs.price[:, 0]
    at_first = np.where((cost < 0.0) | ((cost == 0.0) & (row < 0.0)), 1.0, 0.0)
    excess = np.einsum("bn,bn->b", row, at_first) - rhs
    helps = np.where(at_first > 0.0, row, -row)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(helps > 0.0, np.abs(cost) / helps, np.inf)
    order = np.argsort(rate, axis=1, kind="stable")
    sorted_rate, gain = np.take_along_axis(rate, order, 1), np.take_along_axis(np.maximum(helps, 0.0), order, 1)
    pays = sorted_rate < price[:, None]
    before = np.cumsum(np.where(pays, gain, 0.0), axis=1) - np.where(pays, gain, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(pays & (gain > 0.0), np.clip((excess[:, None] - before) / gain, 0.0, 1.0), 0.0)
    change = np.zeros_like(share)
    np.put_along_axis(change, order, share, 1)
    s = np.where(at_first > 0.0, 1.0 - change, change)
    last = np.where(share > 0.0, sorted_rate, 0.0).max(axis=1, initial=0.0)
    is_short = excess - (share * gain).sum(axis=1) > 1e-12 * np.maximum(1.0, np.abs(rhs))
    return Solutions(s, np.where(is_short, price, last)[:, None])


@dataclass(frozen=True, eq=False)
class _Iterates:
    """Columns s, room t and excess q of the rows, multipliers y of the rows, and of the lower and upper bounds."""

    s: Array
    t: Array
    q: Array
    y: Array
    low: Array
    high: Array

    def moved(self, step: _Iterates, primal: Array, dual: Array) -> _Iterates:
        primal, dual = primal[:, None], dual[:, None]
        return _Iterates(
            self.s + primal * step.s,
            self.t + primal * step.t,
            self.q + primal * step.q,
            self.y + dual * step.y,
            self.low + dual * step.low,
            self.high + dual * step.high,
        )


def _follow_paths(programs: Programs) -> Solutions:
    scaled, row_scale, cost_scale = _scale(programs)
    at = _begin(scaled)
    for _ in range(MAX_STEPS):
        is_open = _error(scaled, at) > ACCURACY
        if not is_open.any():
            break
        at = _advance(scaled, at, is_open)
    s = np.where(at.s < SNAP, 0.0, np.where(at.s > 1.0 - SNAP, 1.0, at.s))
    return Solutions(s, at.y * cost_scale[:, None] / row_scale)


def _scale(programs: Programs) -> tuple[Programs, Array, Array]:
    """The programs with the largest coefficient of each row and the largest cost at one; rows that say nothing are 0 <= 1."""
    is_open = np.isfinite(programs.rhs)
    row_scale = np.maximum(np.where(is_open, np.abs(programs.rows).max(axis=2, initial=0.0), 1.0), 1e-12)
    # Where columns cost next to nothing, what excess costs gives the scale.
    charge = (programs.price * row_scale).max(axis=1)
    cost_scale = np.maximum(np.abs(programs.cost).max(axis=1, initial=0.0), np.maximum(charge / LARGEST_PRICE, TINY))
    rows = np.where(is_open[..., None], programs.rows / row_scale[..., None], 0.0)
    rhs = np.where(is_open, programs.rhs / row_scale, 1.0)
    price = np.maximum(programs.price * row_scale / cost_scale[:, None], ACCURACY)
    return Programs(programs.cost / cost_scale[:, None], rows, rhs, price), row_scale, cost_scale


def _begin(programs: Programs) -> _Iterates:
    s = np.full(programs.cost.shape, 0.5)
    room = programs.rhs - _values(programs, s)
    t = np.maximum(room, 0.0) + 0.5
    low, high = np.maximum(programs.cost, 0.0) + 0.5, np.maximum(-programs.cost, 0.0) + 0.5
    return _Iterates(s, t, t - room, np.minimum(0.5 * programs.price, 1.0), low, high)


def _values(programs: Programs, s: Array) -> Array:
    values: Array = np.matmul(programs.rows, s[..., None])[..., 0]
    return values


def _back(programs: Programs, y: Array) -> Array:
    back: Array = np.matmul(y[:, None, :], programs.rows)[:, 0]
    return back


def _residuals(programs: Programs, at: _Iterates) -> tuple[Array, Array]:
    dual = programs.cost + _back(programs, at.y) - at.low + at.high
    return dual, _values(programs, at.s) + at.t - at.q - programs.rhs


def _products(programs: Programs, at: _Iterates) -> tuple[Array, Array, Array, Array]:
    return at.low * at.s, at.high * (1.0 - at.s), at.y * at.t, (programs.price - at.y) * at.q


def _mean_product(programs: Programs, at: _Iterates) -> Array:
    products = _products(programs, at)
    mean: Array = sum(product.sum(axis=1) for product in products) / sum(product.shape[1] for product in products)
    return mean


def _error(programs: Programs, at: _Iterates) -> Array:
    """How far each program is from its optimum."""
    dual, primal = _residuals(programs, at)
    rows = PRIMAL_SHARE * np.abs(primal).max(axis=1)
    error: Array = np.maximum(np.maximum(np.abs(dual).max(axis=1), rows), _mean_product(programs, at))
    return error


def _advance(programs: Programs, at: _Iterates, is_open: Array) -> _Iterates:
    """A step of the programs that are open; the others stay where they are, and so do those whose numbers are at their end."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        moved = _improve(programs, at)
        goes = (is_open & (_error(programs, moved) < WORSE * _error(programs, at)))[:, None]
    return _Iterates(*(np.where(goes, getattr(moved, field.name), getattr(at, field.name)) for field in fields(at)))


def _improve(programs: Programs, at: _Iterates) -> _Iterates:
    """One step: how far the pure Newton direction leads says how much of the way to the centre the real one goes."""
    products = _products(programs, at)
    mean = _mean_product(programs, at)
    newton = _direction(programs, at, tuple(-product for product in products))
    reached = _mean_product(programs, at.moved(newton, *_lengths(programs, at, newton)))
    centre = (np.maximum(reached, 0.0) / mean) ** 3 * mean
    second = newton.low * newton.s, -newton.high * newton.s, newton.y * newton.t, -newton.y * newton.q
    targets = tuple(centre[:, None] - product - other for product, other in zip(products, second, strict=True))
    step = _direction(programs, at, targets)
    primal, dual = _lengths(programs, at, step)
    return at.moved(step, DAMPING * primal, DAMPING * dual)


def _direction(programs: Programs, at: _Iterates, targets: tuple[Array, ...]) -> _Iterates:
    """The Newton direction to the given changes of the products, by a system in the multipliers of the rows."""
    to_low, to_high, to_room, to_excess = targets
    dual, primal = _residuals(programs, at)
    above, left = np.maximum(1.0 - at.s, TINY), np.maximum(programs.price - at.y, TINY)
    weight = 1.0 / (at.low / at.s + at.high / above)
    rows_weight = at.t / at.y + at.q / left
    h = -dual + to_low / at.s - to_high / above
    k = -primal - to_room / at.y + to_excess / left
    weighted = programs.rows * weight[:, None, :]
    system = np.matmul(weighted, programs.rows.transpose(0, 2, 1))
    index = np.arange(system.shape[1])
    system[:, index, index] += rows_weight
    system[:, index, index] += REGULARIZATION * system[:, index, index].max(axis=1, keepdims=True)
    y = np.linalg.solve(system, (np.matmul(weighted, h[..., None])[..., 0] - k)[..., None])[..., 0]
    s = weight * (h - _back(programs, y))
    t, q = (to_room - at.t * y) / at.y, (to_excess + at.q * y) / left
    return _Iterates(s, t, q, y, (to_low - at.low * s) / at.s, (to_high + at.high * s) / above)


def _lengths(programs: Programs, at: _Iterates, step: _Iterates) -> tuple[Array, Array]:
    """How far each program can go, in its columns and in its multipliers, before something turns negative; at most 1."""
    primal = np.minimum(
        np.minimum(_reach(at.s, step.s), _reach(1.0 - at.s, -step.s)), np.minimum(_reach(at.t, step.t), _reach(at.q, step.q))
    )
    rows = np.minimum(_reach(at.y, step.y), _reach(programs.price - at.y, -step.y))
    return primal, np.minimum(rows, np.minimum(_reach(at.low, step.low), _reach(at.high, step.high)))


def _reach(value: Array, step: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(step < 0.0, -value / step, 1.0)
    shortest: Array = np.minimum(reach.min(axis=1, initial=1.0), 1.0)
    return shortest
