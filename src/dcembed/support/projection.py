"""The nearest point of a convex hull."""

from __future__ import annotations

import numpy as np

from dcembed.arrays import Array

# Points of a cloud that are looked at in the first place, and that are added in every round.
FIRST, ADDED = 60, 20
ROUNDS = 60
# A plane that leaves no point of the cloud on its other side by more than this, in scaled units, proves the projection.
PROVED = 1e-10


def project(vertices: Array, point: Array) -> tuple[Array, Array]:
    """Weights (m,) of the point of the hull of vertices (m, d) that is nearest to a point (d,), and that point.

    With rows a_i = v_i - x, the weights on the simplex that minimize |sum lambda_i a_i| are u / sum(u) for the u >= 0 that minimize
    |A'u|^2 + (sum(u) - 1)^2: for given proportions, the best sum of u leaves |A'lambda|^2 / (1 + |A'lambda|^2), which grows with |A'lambda|.
    So nonnegative least squares with d + 1 rows are enough.

    Examples
    --------
    >>> corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> weights, nearest = project(corners, np.array([2.0, 1.0]))
    >>> weights.round(6), nearest.round(6)
    (array([0., 1., 0.]), array([1., 0.]))
    """
    # scipy.optimize takes as long to import as a small problem to solve.
    from scipy.optimize import nnls

    away = vertices - point
    # In the units of the nearest vertex, so that both parts of the sum of squares count.
    unit = float(np.linalg.norm(away, axis=1).min())
    if unit == 0.0:
        weights = np.zeros(len(vertices))
        weights[np.argmin(np.linalg.norm(away, axis=1))] = 1.0
        return weights, point.copy()
    matrix = np.vstack([away.T / unit, np.ones(len(vertices))])
    rhs = np.zeros(len(matrix))
    rhs[-1] = 1.0
    weights, _ = nnls(matrix, rhs, maxiter=30 * len(vertices))
    weights = weights / weights.sum()
    return weights, weights @ vertices


def project_onto_cloud(cloud: Array, point: Array) -> Array:
    """The point of the hull of a cloud (N, d) that is nearest to a point (d,), however many points the cloud has.

    Few of them carry the projection: those that are nearest, and those that the plane through the projection leaves on the side of the point, are
    added until it leaves none.
    """
    away = np.linalg.norm(cloud - point, axis=1)
    chosen = np.unique(np.argsort(away, kind="stable")[:FIRST])
    chosen = np.union1d(chosen, np.concatenate([cloud.argmin(axis=0), cloud.argmax(axis=0)]))
    nearest = point
    for _ in range(ROUNDS):
        weights, nearest = project(cloud[chosen], point)
        gap = nearest - point
        length = float(np.linalg.norm(gap))
        if length <= PROVED:
            break
        beyond = (nearest - cloud) @ gap / length
        worst = np.argsort(-beyond, kind="stable")[:ADDED]
        worst = worst[beyond[worst] > PROVED]
        if worst.size == 0:
            break
        chosen = np.union1d(chosen[weights > 0.0], worst)
    return nearest
