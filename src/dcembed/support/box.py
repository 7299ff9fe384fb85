"""A box: every input by itself within the range of the data, or within quantiles of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.support.piece import Piece, build_piece, softened


@dataclass(frozen=True, eq=False)
class Box:
    """lb <= z <= ub, shape (d,) each. How far outside is the largest distance in a coordinate."""

    lb: Array
    ub: Array

    @property
    def label(self) -> str:
        """What messages call it."""
        return "box of the data"

    def excess(self, z: Array) -> Array:
        """max over coordinates of what is beyond a bound, shape (k,)."""
        return beyond(z, self.lb, self.ub)

    def piece(self, names: tuple[str, ...], is_soft: bool) -> Piece:
        """A row for each input; two, with a common slack, where it is soft."""
        names = tuple(f"range of {name}" for name in names)
        hard = build_piece(self.lb.size, rows=np.eye(self.lb.size), row_lb=self.lb, row_ub=self.ub, row_names=names)
        return softened(hard) if is_soft else hard

    def complete(self, z: Array, is_soft: bool) -> Array:
        """The slack, if there is one."""
        return self.excess(z)[:, None] if is_soft else np.zeros((len(z), 0))


def beyond(values: Array, lb: Array, ub: Array) -> Array:
    """How far rows of values (k, d) are out of their ranges (d,), in the coordinate in which that is most, shape (k,); 0 inside."""
    most: Array = np.maximum(lb - values, values - ub).max(axis=1, initial=0.0)
    return np.maximum(most, 0.0)


def fit_box(z: Array, coverage: float) -> Box:
    """The range of every column of z (N, d), or its middle part, so that at least this share of the points is in the box.

    The share that each column leaves out on each side is the largest for which that holds, found by bisection: the columns that leave
    points out may leave out the same ones.
    """
    if coverage >= 1.0:
        return Box(z.min(axis=0), z.max(axis=0))
    low, high = 0.0, 0.5 * (1.0 - coverage) + 1e-12
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _share(z, middle) >= coverage else (low, middle)
    return _quantiles(z, low)


def _quantiles(z: Array, share: float) -> Box:
    return Box(np.quantile(z, share, axis=0), np.quantile(z, 1.0 - share, axis=0))


def _share(z: Array, share: float) -> float:
    return float((_quantiles(z, share).excess(z) == 0.0).mean())
