"""The convex hull of the data, by weights of the points that it hangs on.

Of many points in many dimensions nearly all are vertices. Then some are chosen (`thinning.py`), and the region is their hull with as much
around it as the farthest of the others needs: every point of the data is inside, and no point of the region is further than `error` from
the hull of the data. Ranges along the axes and along the principal axes, which hold for all data, keep it from bulging.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.support.box import beyond
from dcembed.support.piece import Piece, build_piece, softened
from dcembed.support.projection import project
from dcembed.support.thinning import thin

# A projection that is off by no more is inside, and need not be looked at by a linear program.
INSIDE = 1e-12


@dataclass(frozen=True, eq=False)
class Hull:
    """|z - sum_i lambda_i v_i|_max <= error  with  lambda >= 0, sum lambda = 1,  and  lb <= directions z <= ub.

    Parameters
    ----------
    vertices
        v_i, shape (m, d).
    error
        How far the farthest point of the data is from the hull of the vertices, in its largest coordinate; 0 where that is the hull of all.
    directions, lb, ub
        Ranges of the data along some directions of length 1, shape (r, d), (r,), (r,).
    num_points
        Of the data.
    """

    vertices: Array
    error: float
    directions: Array
    lb: Array
    ub: Array
    num_points: int

    @property
    def label(self) -> str:
        """What messages call it."""
        about = "" if self.error == 0.0 else f", to {self.error:.2g}"
        return f"hull of the data ({len(self.vertices)} of {self.num_points:,} points{about})"

    def excess(self, z: Array) -> Array:
        """The distance from the region in the largest coordinate, or along a direction whose range is left, shape (k,)."""
        out_of_range = self._beyond(z)
        return np.array([max(self._nearest(point)[1], out) for point, out in zip(z, out_of_range, strict=True)], dtype=np.float64)

    def piece(self, names: tuple[str, ...], is_soft: bool) -> Piece:
        """Weights of the vertices, a row for each input and for their sum, and the ranges."""
        m, d = self.vertices.shape
        ranges = [f"range of {name}" for name in names] + [f"principal range {j}" for j in range(self.lb.size - d)]
        hard = build_piece(
            d,
            columns=[(f"weight {i}", 0.0, 1.0) for i in range(m)],
            rows=np.vstack([np.eye(d), self.directions, np.zeros((1, d))]),
            own_rows=np.vstack([-self.vertices.T, np.zeros((self.lb.size, m)), np.ones((1, m))]),
            row_lb=np.concatenate([np.full(d, -self.error), self.lb, [1.0]]),
            row_ub=np.concatenate([np.full(d, self.error), self.ub, [1.0]]),
            row_names=[*(f"hull in {name}" for name in names), *ranges, "sum of weights"],
        )
        return softened(hard) if is_soft else hard

    def complete(self, z: Array, is_soft: bool) -> Array:
        """Weights of the nearest points of the hull, and the distance from the region where it is soft."""
        found = [self._nearest(point) for point in z]
        weights = np.array([weights for weights, _ in found]).reshape(len(z), len(self.vertices))
        if not is_soft:
            return weights
        return np.column_stack([weights, np.maximum([distance for _, distance in found], self._beyond(z))])

    def _beyond(self, z: Array) -> Array:
        return beyond(z @ self.directions.T, self.lb, self.ub)

    def _nearest(self, point: Array) -> tuple[Array, float]:
        """Weights of a point of the hull that is nearest in the largest coordinate, and by how much more than the error it is off."""
        weights, projection = project(self.vertices, point)
        off = max(float(np.abs(point - projection).max()) - self.error, 0.0)
        return (weights, off) if off <= INSIDE else _nearest_in_maximum(self.vertices, point, self.error)


def _nearest_in_maximum(vertices: Array, point: Array, error: float) -> tuple[Array, float]:
    """The same by a linear program; the distance is that of the weights that it finds, whatever the solver says of it."""
    # scipy.optimize takes as long to import as a small problem to solve.
    from scipy.optimize import linprog

    m, d = vertices.shape
    cost = np.zeros(m + 1)
    cost[-1] = 1.0
    ones = np.ones((d, 1))
    above, below = np.hstack([vertices.T, -ones]), np.hstack([-vertices.T, -ones])
    solution = linprog(cost, np.vstack([above, below]), np.concatenate([point, -point]), np.append(np.ones(m), 0.0)[None], [1.0])
    if solution.x is None:
        weights, projection = project(vertices, point)
        return weights, max(float(np.abs(point - projection).max()) - error, 0.0)
    weights = np.maximum(solution.x[:m], 0.0)
    weights = weights / weights.sum()
    return weights, max(float(np.abs(point - weights @ vertices).max()) - error, 0.0)


def fit_hull(z: Array, most: int, seed: int) -> Hull:
    """The hull of points (N, d) by at most so many of them."""
    d = z.shape[1]
    found = thin(z, most, seed)
    directions = np.eye(d)
    if found.error > 0.0:
        directions = np.vstack([directions, np.linalg.svd(np.cov(z.T).reshape(d, d))[0].T])
    along = z @ directions.T
    return Hull(z[found.chosen], found.error, directions, along.min(axis=0), along.max(axis=0), len(z))
