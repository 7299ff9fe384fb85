"""The points of a cloud that its convex hull hangs on, as few as are wanted, and how far the others are outside of theirs.

The hull of the chosen points lies within the hull of all. A point of the cloud is chosen next where it is farthest from it, which is found
without a look at every point: projections onto the hull by Frank-Wolfe steps, all points at a time, bracket each distance from both sides,
and what cannot be the farthest any more is left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.support.projection import project

# Hulls of at most so many dimensions are computed exactly.
MOST_EXACT = 4
# Random directions whose extreme points are looked at, for each point that is wanted.
DIRECTIONS = 4
# Rounds in which points are added, and steps of all projections in each.
ROUNDS, STEPS = 12, 40
# Steps after which the likely farthest points are known, how many of these are projected exactly, and how many in the end at most.
SHORT, NUM_WORST, MOST_PROJECTED = 8, 20, 400
# Of the points that are farthest out so many are looked at in every round.
MOST_LOOKED_AT = 4_000
# Distances below this, in scaled units, are rounding.
TINY = 1e-9
# Points times vertices that are looked at in one product.
ENTRIES = 4_000_000


@dataclass(frozen=True, eq=False)
class Thinned:
    """Which points were chosen, and a bound on the distance of all others from their hull, in the largest coordinate."""

    chosen: Array
    error: float


def thin(points: Array, most: int, seed: int = 0) -> Thinned:
    """At most `most` of the points (N, d) whose hull is nearly that of all.

    Examples
    --------
    Of a square with a point in its middle the corners are left.

    >>> found = thin(np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0], [2.0, 2.0], [0.0, 2.0]]), most=10)
    >>> found.chosen.tolist(), found.error
    ([0, 1, 3, 4], 0.0)
    """
    if len(points) <= most and points.shape[1] > MOST_EXACT:
        return Thinned(np.arange(len(points)), 0.0)
    vertices = _vertices(points)
    if vertices is not None and vertices.size <= most:
        return Thinned(vertices, 0.0)
    candidates = np.arange(len(points)) if vertices is None else vertices
    cloud = points[candidates]
    outer = _outer(cloud)
    chosen = _first(cloud, most, np.random.default_rng(seed))
    for _ in range(ROUNDS):
        room = most - chosen.size
        if room <= 0:
            break
        found = outer[_farthest(cloud[outer], cloud[chosen], max(room // 4, min(room, 4)))]
        if found.size == 0:
            break
        chosen = np.unique(np.concatenate([chosen, found]))
    return Thinned(candidates[chosen], _error(cloud, cloud[chosen]))


def _outer(cloud: Array) -> Array:
    """The points that are farthest out, among which further ones are looked for: a hundred thousand are too many for every round."""
    if len(cloud) <= MOST_LOOKED_AT:
        return np.arange(len(cloud))
    distance = np.linalg.norm(cloud - cloud.mean(axis=0), axis=1)
    return np.sort(np.argpartition(-distance, MOST_LOOKED_AT)[:MOST_LOOKED_AT])


def _vertices(points: Array) -> Array | None:
    """The vertices of the hull; None where there are too many dimensions to compute it, or where it is flat."""
    if points.shape[1] == 1:
        return np.unique([points[:, 0].argmin(), points[:, 0].argmax()])
    if points.shape[1] > MOST_EXACT or len(points) <= points.shape[1] + 1:
        return None
    # It takes as long to import as a small problem to solve.
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.sort(ConvexHull(points).vertices)
    except QhullError:
        return None


def _first(cloud: Array, most: int, rng: np.random.Generator) -> Array:
    """Half of the points that are wanted: those that are extreme in most of many directions, the axes and the principal ones first."""
    d = cloud.shape[1]
    axes = np.vstack([np.eye(d), np.linalg.svd(np.cov(cloud.T).reshape(d, d))[0].T])
    random = rng.normal(size=(DIRECTIONS * most, d))
    sure = np.unique([extreme for axis in axes for extreme in ((cloud @ axis).argmax(), (cloud @ axis).argmin())])
    step = max(ENTRIES // len(cloud), 1)
    extremes = np.concatenate([(cloud @ random[i : i + step].T).argmax(axis=0) for i in range(0, len(random), step)])
    found, counts = np.unique(extremes, return_counts=True)
    often = found[np.argsort(-counts, kind="stable")]
    return np.unique(np.concatenate([sure, often[~np.isin(often, sure)]])[: max(most // 2, 1)] if sure.size < most // 2 else sure[:most])


def _farthest(cloud: Array, vertices: Array, number: int) -> Array:
    """Points that are farthest from the hull of the vertices, so many at most and none beside another; none where all are inside."""
    walk = _walk(cloud, vertices, STEPS, 2, lambda upper, lower: upper < max(0.5 * float(lower.max(initial=0.0)), TINY))
    picked: list[int] = []
    for place in np.argsort(-walk.lower, kind="stable").tolist():
        point, gap = cloud[walk.active[place]], float(walk.lower[place])
        if gap <= TINY or len(picked) == number:
            break
        # A point beside one that is added is not as far from the hull then.
        if all(float(np.abs(point - cloud[other]).max()) > gap for other in picked):
            picked.append(int(walk.active[place]))
    if not picked:
        # Points that are outside by little may not be known to be: the likely ones are projected exactly.
        likely = walk.active[np.argsort(-walk.upper, kind="stable")[:NUM_WORST]]
        picked = [int(place) for place in likely if _distance(vertices, cloud[place]) > TINY][:number]
    return np.array(picked, dtype=np.int64)


def _error(cloud: Array, vertices: Array) -> float:
    """A bound on the distance of all points from the hull of the vertices, in their largest coordinates; exact where few come near to it."""
    far = _walk(cloud, vertices, SHORT, 2, lambda upper, lower: upper < 0.5 * float(lower.max(initial=0.0)))
    worst = max((_distance(vertices, cloud[i]) for i in far.active[np.argsort(-far.upper, kind="stable")[:NUM_WORST]]), default=0.0)
    # Whoever is certainly nearer than the farthest of these cannot be the farthest of all.
    left = _walk(cloud, vertices, STEPS, np.inf, lambda upper, _: upper <= max(worst, TINY))
    order = np.argsort(-left.upper, kind="stable")
    for place in order[:MOST_PROJECTED]:
        if left.upper[place] <= worst:
            break
        worst = max(worst, _distance(vertices, cloud[left.active[place]]))
    rest = left.upper[order[MOST_PROJECTED:]]
    error = max(worst, float(rest.max(initial=0.0)))
    return 0.0 if error <= TINY else error


@dataclass(frozen=True, eq=False)
class _Walk:
    """Points that were not dropped, and their distances from the hull: from above in the norm that was asked for, from below in length."""

    active: Array
    upper: Array
    lower: Array


def _walk(cloud: Array, vertices: Array, num_steps: int, norm: float, drop: Callable[[Array, Array], Array]) -> _Walk:
    """Walk on the hull of the vertices towards all points at a time, and drop those that are no longer of interest.

    A step of Frank and Wolfe moves the projection p of x towards the vertex v with the least (p - x)'v. Then |p - x| is above the distance, and
    (p - x)'(v - x) / |p - x|, if positive, below it: all of the hull is beyond the plane through v.
    """
    active, current = np.arange(len(cloud)), np.tile(vertices.mean(axis=0), (len(cloud), 1))
    upper, lower = np.full(len(cloud), np.inf), np.zeros(len(cloud))
    for _ in range(num_steps):
        if active.size == 0:
            break
        x = cloud[active]
        gap = current - x
        toward = _least(gap, vertices)
        way = toward - current
        below = _rowwise(gap, toward - x) / np.maximum(np.linalg.norm(gap, axis=1), TINY)
        step = np.clip(-_rowwise(gap, way) / np.maximum(_rowwise(way, way), TINY**2), 0.0, 1.0)
        current = current + step[:, None] * way
        upper, lower = np.minimum(upper, np.linalg.norm(current - x, norm, axis=1)), np.maximum(lower, below)
        kept = ~drop(upper, lower)
        active, current, upper, lower = active[kept], current[kept], upper[kept], lower[kept]
    return _Walk(active, upper, lower)


def _rowwise(one: Array, other: Array) -> Array:
    """The inner product of each row with the same of the other."""
    products: Array = np.einsum("ij,ij->i", one, other)
    return products


def _least(directions: Array, vertices: Array) -> Array:
    """For each direction (k, d) the vertex that is least in it."""
    step = max(ENTRIES // len(vertices), 1)
    best = [np.argmin(directions[i : i + step] @ vertices.T, axis=1) for i in range(0, len(directions), step)]
    found: Array = vertices[np.concatenate([np.zeros(0, dtype=np.int64), *best])]
    return found


def _distance(vertices: Array, point: Array) -> float:
    """How far a point is from its projection onto the hull, in the largest coordinate."""
    return float(np.abs(point - project(vertices, point)[1]).max())
