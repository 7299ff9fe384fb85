"""What the optimum of a small problem is at most: the best of many feasible points, refined around the best."""

from __future__ import annotations

import numpy as np

from dcembed import Network
from dcembed.network import Affine

from .random_problems import MANY, Drawn, completed

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


def feasible_points(drawn: Drawn, number: int = 400) -> np.ndarray:
    """Feasible points (N, n) all over the problem, and around its witness."""
    rng, k, program = np.random.default_rng([drawn.seed, 3]), drawn.num_drawn, drawn.program
    number = number // 10 if program.num_columns > MANY else number
    lb, ub, integer = program.lb[:k], program.ub[:k], program.integer[:k]
    near = drawn.witness[:k] + rng.normal(size=(number, k)) * 10.0 ** rng.uniform(-6, 0, (number, 1)) * (ub - lb)
    chosen = np.vstack([drawn.witness[:k], rng.uniform(lb, ub, (number, k)), near])
    points = completed(drawn, np.clip(np.where(integer, np.round(chosen), chosen), lb, ub))
    return points[measure(drawn, points)[1]]


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
    few = 6 if program.num_columns > MANY else 1
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


def least_possible(drawn: Drawn, max_points: int = 12_000) -> float:
    """A number below the optimum: the least on a grid less what the objective can change in half a cell; -inf where the grid is too large.

    Cells count in which the constraints may hold, by how much these can change.
    """
    grid, half = _grid(drawn, max_points)
    if grid is None:
        return -np.inf
    program, points = drawn.program, completed(drawn, grid)
    delta = _variation(drawn) @ half
    value, change = program.offset + points @ program.cost, np.abs(program.cost) @ delta + np.zeros(points.shape[0])
    for sign, matrix in ((0.5, program.quadratic), (-0.5, program.concave)):
        if matrix is not None:
            square, room = _square(matrix.toarray(), points, delta)
            value, change = value + 2.0 * sign * square, change + room
    lb = program.lb.copy()
    if drawn.tied >= 0 and np.isinf(program.row_ub[0]):
        # It may be larger than the row asks for.
        lb[drawn.tied] = -np.inf
    holds = _may_hold(points, delta, lb, program.ub)
    rows = program.rows.toarray()
    holds &= _may_hold(points @ rows.T, np.abs(rows) @ delta, program.row_lb, program.row_ub)
    for indicator in program.indicators:
        row = indicator.coefficients.toarray()
        is_off = points[:, indicator.column] != indicator.value
        holds &= is_off | _may_hold(points @ row.T, np.abs(row) @ delta, indicator.lb, indicator.ub)
    for constraint in program.quadratic_constraints:
        row = constraint.coefficients.toarray()[0]
        square, room = _square(constraint.quadratic.toarray(), points, delta)
        holds &= square + points @ row - room - np.abs(row) @ delta <= constraint.ub + 1e-9 * abs(constraint.ub)
    for cone in program.cones:
        matrix = cone.matrix.toarray()
        values, room = points @ matrix.T + cone.offset, np.abs(matrix) @ delta
        holds &= np.linalg.norm(values[:, 1:], axis=1) - np.linalg.norm(room[1:]) <= values[:, 0] + room[0] + 1e-9
    least = program.sense * value - change
    return float(np.where(holds, least, np.inf).min())


def _grid(drawn: Drawn, max_points: int) -> tuple[np.ndarray | None, np.ndarray]:
    """Middles of cells that cover the columns that are drawn, (N, k), and half the widths of these, (k,)."""
    program, k = drawn.program, drawn.num_drawn
    lb, ub, integer = program.lb[:k], program.ub[:k], program.integer[:k]
    num_whole = float(np.prod((ub - lb + 1.0)[integer]))
    size = int((max_points / num_whole) ** (1.0 / max(1, int((~integer).sum()))))
    if size < 4 or program.num_columns > MANY:
        return None, np.zeros(k)
    half = np.where(integer, 0.0, 0.5 * (ub - lb) / size)
    axes = [np.arange(lb[j], ub[j] + 0.5) if integer[j] else lb[j] + half[j] * (1.0 + 2.0 * np.arange(size)) for j in range(k)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, k), half


def _variation(drawn: Drawn) -> np.ndarray:
    """How fast every column can change with those that are drawn, shape (n, k): Lipschitz constants by intervals."""
    program, k = drawn.program, drawn.num_drawn
    rate = np.zeros((program.num_columns, k))
    rate[:k] = np.eye(k)
    low, high = np.zeros(program.num_columns), np.zeros(program.num_columns)
    low[:k], high[:k] = program.lb[:k], program.ub[:k]
    for embedding in drawn.embeddings:
        affine, width = embedding.affine_inputs(program.num_columns), embedding.network.num_inputs
        matrices = affine.matrix.toarray().reshape(embedding.num_evaluations, width, -1)
        for matrix, offset, outputs in zip(matrices, affine.offset, embedding.outputs, strict=True):
            ends = _through(matrix, offset, low, high)
            speed, (low[outputs], high[outputs]) = _speed(embedding.network, *ends)
            rate[outputs] = speed @ np.abs(matrix) @ rate
    if drawn.tied >= 0:
        row = np.abs(program.rows[[0]].toarray()[0])
        rate[drawn.tied] = np.delete(row, drawn.tied) @ np.delete(rate, drawn.tied, axis=0) / row[drawn.tied]
    return rate


def _through(matrix: np.ndarray, offset: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    plus, minus = np.maximum(matrix, 0.0), np.minimum(matrix, 0.0)
    return plus @ low + minus @ high + offset, plus @ high + minus @ low + offset


def _speed(network: Network, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Largest |df/du| over a box (n_out, n_in), layer after layer, and the range of f."""
    sources = [(np.eye(network.num_inputs), low, high)]
    for affine, activation in zip(network.stages, network.activations, strict=True):
        rate, low, high = _of_affine(affine, sources)
        # The functions are smooth, or straight between their breaks: between so many places nothing is missed by more than a percent.
        places = np.linspace(low, high, 400)
        values = activation.value(places)
        steepest = 1.01 * np.abs(activation.slope(places)).max(axis=0)
        room = steepest * (high - low) / 400
        sources.append((steepest[:, None] * rate, values.min(axis=0) - room, values.max(axis=0) + room))
    rate, low, high = _of_affine(network.output, sources)
    return rate, (low, high)


def _of_affine(affine: Affine, sources: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rate, low, high = 0.0, affine.bias.copy(), affine.bias.copy()
    for number, block in affine.weights.items():
        matrix = block if isinstance(block, np.ndarray) else block.toarray()
        rate = rate + np.abs(matrix) @ sources[number][0]
        one, other = _through(matrix, 0.0, *sources[number][1:])
        low, high = low + one, high + other
    return rate, low, high


def _square(matrix: np.ndarray, points: np.ndarray, delta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """1/2 w'Qw, and how much it can change."""
    slope = points @ matrix
    return 0.5 * np.einsum("ij,ij->i", slope, points), np.abs(slope) @ delta + 0.5 * delta @ np.abs(matrix) @ delta


def _may_hold(value: np.ndarray, change: np.ndarray, lb: np.ndarray | float, ub: np.ndarray | float) -> np.ndarray:
    room = change + 1e-9 * np.abs(value)
    return ((value >= lb - room) & (value <= ub + room)).all(axis=1)
