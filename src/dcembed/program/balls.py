"""Euclidean balls among the curved constraints of a program, and the nearest points of a box that is cut by one.

The nearest point of box and ball together lies, after clipping, on the way from a point to the centre of the ball. A few pulls towards
it, each of which would be exact without clipping, come near; what is left is scaled away.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.program.program import Program

# Curvatures of a quadratic that differ by less than this share are those of a ball.
ROUND_TOL = 1e-9
# Pulls towards the centre.
NUM_PULLS = 4


@dataclass(frozen=True, eq=False)
class Ball:
    """|w[columns] - center| <= radius."""

    columns: Array
    center: Array
    radius: float


def quadratic_forms(program: Program) -> list[tuple[sp.csr_array, sp.csr_array, float]]:
    """Q, a and ub of every quadratic constraint and cone, both written as 1/2 w'Qw + a'w <= ub; Q of a cone with a head is not convex."""
    forms = [(q.quadratic, q.coefficients, q.ub) for q in program.quadratic_constraints]
    cones = program.cone_rows
    for head, size in zip(cones.heads, cones.sizes, strict=True):
        matrix, offset = cones.matrix[head : head + size], cones.offset[head : head + size]
        signed = sp.diags_array(np.concatenate([[-2.0], np.full(size - 1, 2.0)])) @ matrix
        constant = offset[1:] @ offset[1:] - offset[0] ** 2
        forms.append((sp.csr_array(matrix.T @ signed), sp.csr_array((signed.T @ offset).reshape(1, -1)), -float(constant)))
    return forms


def find_balls(program: Program) -> list[Ball | None]:
    """Every quadratic constraint and cone as a ball; None for what is none."""
    return [_ball(*form) for form in quadratic_forms(program)]


def pull_into(ball: Ball, points: Array, lb: Array, ub: Array) -> Array:
    """Points (k, d) of the ball's columns, moved into the ball and the box; lb <= center <= ub."""
    pulled = np.clip(points, lb, ub)
    outside = np.flatnonzero(np.linalg.norm(pulled - ball.center, axis=1) > ball.radius)
    if outside.size == 0:
        return pulled
    way = points[outside] - ball.center
    share = np.ones((outside.size, 1))
    for _ in range(NUM_PULLS):
        near = np.clip(ball.center + share * way, lb, ub) - ball.center
        share *= np.minimum(ball.radius / np.maximum(np.linalg.norm(near, axis=1, keepdims=True), 1e-300), 1.0)
    near = np.clip(ball.center + share * way, lb, ub) - ball.center
    distance = np.linalg.norm(near, axis=1, keepdims=True)
    pulled[outside] = ball.center + near * np.minimum(ball.radius / np.maximum(distance, 1e-300), 1.0)
    return pulled


def _ball(quadratic: sp.csr_array, linear: sp.csr_array, ub: float) -> Ball | None:
    """1/2 q |w|^2 + a'w <= ub as a ball, None if it is none."""
    columns = np.flatnonzero(np.diff(quadratic.indptr))
    curvature = quadratic.diagonal()[columns]
    is_diagonal = quadratic.nnz == columns.size and np.array_equal(quadratic.indices, columns)
    if columns.size == 0 or not is_diagonal or np.ptp(curvature) > ROUND_TOL * curvature.max() or curvature.min() <= 0:
        return None
    if not np.isin(linear.indices[linear.data != 0], columns).all():
        return None
    slope = linear.toarray()[0][columns]
    center = -slope / curvature
    square = 2 * ub / curvature[0] + center @ center
    return Ball(columns, center, float(np.sqrt(square))) if square >= 0 else None
