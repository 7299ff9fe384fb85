"""Which of many scored points are good and different: those that are better than all of their nearest neighbours."""

from __future__ import annotations

import numpy as np

from dcembed.arrays import Array

# Neighbours of a point: about two in every direction. In many directions a few of them have to do.
NEIGHBOURS_PER_COLUMN = 2
MAX_NEIGHBOURS = 16


def find_neighbours(places: Array) -> Array:
    """Numbers of each point (k, d) and of those nearest to it, shape (k, neighbours + 1)."""
    size, dimension = places.shape
    number = min(NEIGHBOURS_PER_COLUMN * (dimension + 1), MAX_NEIGHBOURS, size - 1)
    return np.argpartition(_distances(places), number, axis=1)[:, : number + 1]


def find_valleys(neighbours: Array, score: Array) -> Array:
    """Numbers of the points whose score (k,) none of their neighbours undercuts, best first."""
    order = np.argsort(score, kind="stable")
    is_valley = score <= score[neighbours].min(axis=1)
    return order[is_valley[order]]


def _distances(places: Array) -> Array:
    """Squared distances (k, k)."""
    square = np.einsum("kd,kd->k", places, places)
    distances: Array = square[:, None] + square[None, :] - 2 * (places @ places.T)
    return distances
