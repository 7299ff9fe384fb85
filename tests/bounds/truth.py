"""What the optimum of a small problem is at most: the best of many feasible points, refined around the best."""

from __future__ import annotations

import numpy as np

from .random_problems import Drawn, completed

# Constraints of sampled points may be off by this, relative to the sizes of what is added up: rounding.
ROUNDING = 1e-12
# The bound may be beyond the best point by this, relative to max(1, |objective|).
ALLOWED = 1e-7


def measure(drawn: Drawn, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Objectives, all being minimized, and whether all constraints hold, of points (N, n) with true predictions in them."""
    program = drawn.program
    value = program.offset + points @ program.cost
    for sign, matrix in ((0.5, program.quadratic), (-0.5, program.concave)):
        if matrix is not None:
            value = value + sign * np.einsum("ij,ij->i", points @ matrix.toarray(), points)
    holds = _within(points, program.lb, program.ub, np.abs(points)).all(axis=1)
    holds &= (points[:, program.integer] == np.round(points[:, program.integer])).all(axis=1)
    rows = program.rows.toarray()
    holds &= _within(points @ rows.T, program.row_lb, program.row_ub, np.abs(points) @ np.abs(rows).T).all(axis=1)
    for indicator in program.indicators:
        row = indicator.coefficients.toarray()[0]
        is_off = points[:, indicator.column] != indicator.value
        holds &= is_off | _within(points @ row, indicator.lb, indicator.ub, np.abs(points) @ np.abs(row))
    for constraint in program.quadratic_constraints:
        matrix, row = constraint.quadratic.toarray(), constraint.coefficients.toarray()[0]
        curve = 0.5 * np.einsum("ij,ij->i", points @ matrix, points)
        holds &= _within(curve + points @ row, -np.inf, constraint.ub, curve + np.abs(points) @ np.abs(row))
    for cone in program.cones:
        values = points @ cone.matrix.toarray().T + cone.offset
        holds &= np.linalg.norm(values[:, 1:], axis=1) <= values[:, 0] + ROUNDING * np.abs(values).max(axis=1)
    return program.sense * value, holds


def _within(value: np.ndarray, lb: np.ndarray | float, ub: np.ndarray | float, size: np.ndarray) -> np.ndarray:
    room = ROUNDING * size
    return (value >= lb - room) & (value <= ub + room)


def best_of(drawn: Drawn, hints: list[np.ndarray], seed: int = 0, num_points: int = 1200, num_rounds: int = 14) -> float:
    """The least objective of a feasible point that is found; the hints are points (n,) from which the columns that are drawn are taken."""
    return best_point(drawn, hints, seed, num_points, num_rounds)[0]


def best_point(
    drawn: Drawn, hints: list[np.ndarray], seed: int = 0, num_points: int = 1200, num_rounds: int = 14
) -> tuple[float, np.ndarray]:
    """The same with the point, shape (n,)."""
    rng = np.random.default_rng([seed, 2])
    program, k = drawn.program, drawn.num_drawn
    lb, ub, integer = program.lb[:k], program.ub[:k], program.integer[:k]
    few = 6 if program.num_columns > 100 else 1
    chosen = rng.uniform(lb, ub, (num_points // few, k))
    # Optima are often at the ends of columns.
    at_end = rng.random(chosen.shape) < 0.25
    chosen = np.where(at_end, np.where(rng.random(chosen.shape) < 0.5, lb, ub), chosen)
    starts = [drawn.witness[:k], *(hint[:k] for hint in hints)]
    best, center = np.inf, drawn.witness[:k]
    reach = 0.3 * (ub - lb)
    for _ in range(num_rounds):
        chosen = np.vstack([*starts, chosen])
        chosen = np.clip(np.where(integer, np.round(chosen), chosen), lb, ub)
        value, holds = measure(drawn, completed(drawn, chosen))
        value = np.where(holds, value, np.inf)
        if value.min() < best:
            best, center = float(value.min()), chosen[value.argmin()]
        step = rng.normal(size=(num_points // few // 6, k)) * reach * 10.0 ** rng.uniform(-2, 0, (num_points // few // 6, 1))
        step *= rng.random(step.shape) < 0.7
        chosen, starts, reach = center + step, [center], 0.5 * reach
    return best, completed(drawn, center[None])[0]


def excess(bound: float, best: float) -> float:
    """By how much a bound is on the wrong side of a feasible point, relative to max(1, |objective|); more than `ALLOWED` is wrong."""
    return (bound - best) / max(1.0, abs(best)) if np.isfinite(best) else 0.0
