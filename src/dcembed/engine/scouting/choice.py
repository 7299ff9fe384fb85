"""Which of many scored points are good and different: those that are better than all of their nearest neighbours."""

from __future__ import annotations

import numpy as np

from dcembed.arrays import Array
from dcembed.network.chunks import slices

# Neighbours of a point: these many and two more for every column. With many columns a few have to do.
MIN_NEIGHBOURS = 4
NEIGHBOURS_PER_COLUMN = 2
MAX_NEIGHBOURS = 16
# They are at most one in so many of all points: of very few, each is a valley.
MIN_SHARE = 8
# Columns up to which a tree finds neighbours, and distances that are held at a time beyond that, 40 MB.
TREE_COLUMNS = 10
CHUNK_ENTRIES = 5_000_000


def find_neighbours(places: Array) -> Array:
    """Numbers of each point (k, d) and of those nearest to it, in any order: shape (k, neighbours + 1)."""
    size, dimension = places.shape
    number = 1 + min(MIN_NEIGHBOURS + NEIGHBOURS_PER_COLUMN * dimension, MAX_NEIGHBOURS, size // MIN_SHARE)
    if dimension <= TREE_COLUMNS:
        # Imported where it is needed: not every process looks for neighbours.
        from scipy.spatial import KDTree

        neighbours: Array = KDTree(places).query(places, k=[*range(1, number + 1)])[1]
        return neighbours
    return np.vstack([_nearest(places, chunk, number) for chunk in slices(size, size, CHUNK_ENTRIES)])


def _nearest(places: Array, chunk: slice, number: int) -> Array:
    """Of some of the points, by the distances to all of them: beyond a few columns no tree is quicker."""
    square = np.einsum("kd,kd->k", places, places)
    distance = square - 2.0 * places[chunk] @ places.T
    # Each is nearest to itself, whatever the rounding says.
    distance[np.arange(distance.shape[0]), np.arange(size := places.shape[0])[chunk]] = -np.inf
    return np.argpartition(distance, min(number, size) - 1, axis=1)[:, :number]


def find_valleys(neighbours: Array, score: Array) -> Array:
    """Numbers of the points whose score (k,) none of their neighbours undercuts, best first."""
    order = np.argsort(score, kind="stable")
    is_valley = score <= score[neighbours].min(axis=1)
    valleys: Array = order[is_valley[order]]
    return valleys
