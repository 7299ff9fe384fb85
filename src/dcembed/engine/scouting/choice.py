"""Which of many scored points are good and different: those that are better than all of their nearest neighbours."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree

from dcembed.arrays import Array

# Neighbours of a point: these many and two more for every column. With many columns a few have to do.
MIN_NEIGHBOURS = 4
NEIGHBOURS_PER_COLUMN = 2
MAX_NEIGHBOURS = 16
# They are at most one in so many of all points: of very few, each is a valley.
MIN_SHARE = 8


def find_neighbours(places: Array) -> Array:
    """Numbers of each point (k, d) and of those nearest to it, shape (k, neighbours + 1)."""
    size, dimension = places.shape
    number = 1 + min(MIN_NEIGHBOURS + NEIGHBOURS_PER_COLUMN * dimension, MAX_NEIGHBOURS, size // MIN_SHARE)
    neighbours: Array = KDTree(places).query(places, k=[*range(1, number + 1)])[1]
    return neighbours


def find_valleys(neighbours: Array, score: Array) -> Array:
    """Numbers of the points whose score (k,) none of their neighbours undercuts, best first."""
    order = np.argsort(score, kind="stable")
    is_valley = score <= score[neighbours].min(axis=1)
    valleys: Array = order[is_valley[order]]
    return valleys
