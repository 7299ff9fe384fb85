"""Inputs that are categories or whole numbers: the combinations of them that the data has, with one binary each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.support.piece import Piece, build_piece, softened


@dataclass(frozen=True, eq=False)
class Combinations:
    """z is one of the rows of `values` (c, d). How far outside is the largest distance in a coordinate from the nearest of them."""

    values: Array

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"{len(self.values):,} observed combinations"

    def excess(self, z: Array) -> Array:
        """Shape (k,)."""
        return np.array([np.abs(self.values - point).max(axis=1).min() for point in z], dtype=np.float64)

    def piece(self, names: tuple[str, ...], is_soft: bool) -> Piece:
        """A binary for each combination; one of them is chosen."""
        c, d = self.values.shape
        hard = build_piece(
            d,
            columns=[(f"combination {i}", 0.0, 1.0) for i in range(c)],
            rows=np.vstack([np.eye(d), np.zeros((1, d))]),
            own_rows=np.vstack([-self.values.T, np.ones((1, c))]),
            row_lb=np.append(np.zeros(d), 1.0),
            row_ub=np.append(np.zeros(d), 1.0),
            row_names=[*(f"observed {name}" for name in names), "one combination"],
            integer=range(c),
        )
        return softened(hard) if is_soft else hard

    def complete(self, z: Array, is_soft: bool) -> Array:
        """The nearest combination, and the distance from it where it is soft."""
        chosen = np.zeros((len(z), len(self.values)))
        for number, point in enumerate(z):
            chosen[number, np.abs(self.values - point).max(axis=1).argmin()] = 1.0
        return np.column_stack([chosen, self.excess(z)]) if is_soft else chosen


def fit_combinations(z: Array) -> Combinations:
    """The distinct rows of z (N, d), the most frequent first."""
    values, counts = np.unique(z, axis=0, return_counts=True)
    return Combinations(values[np.argsort(-counts, kind="stable")])
