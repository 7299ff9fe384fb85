"""The data as a cloud of points: distances from it, computed when they are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dcembed.arrays import Array
from dcembed.support.box import Box, fit_box
from dcembed.support.ellipsoid import Ellipsoid, fit_ellipsoid
from dcembed.support.projection import project_onto_cloud
from dcembed.support.region import Support

# Points of the data whose own neighbours tell what is usual.
SAMPLE = 1_000
# Points whose distance from the hull is computed, which takes up to a twentieth of a second each.
MOST_PROJECTED = 500


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points in scaled units.

    Parameters
    ----------
    z
        All inputs, shape (N, n_in).
    is_discrete
        Which of them are categories or whole numbers.
    """

    z: Array
    is_discrete: Array

    @cached_property
    def plain(self) -> Array:
        """The inputs that are no categories, shape (N, d)."""
        kept: Array = self.z[:, ~self.is_discrete]
        return kept

    @cached_property
    def box(self) -> Box:
        """The range of every input."""
        return fit_box(self.plain, 1.0)

    @cached_property
    def ellipsoid(self) -> Ellipsoid:
        """The ellipsoid that has all points inside."""
        return fit_ellipsoid(self.plain, 1.0) if self.plain.shape[1] else Ellipsoid(np.zeros(0), np.zeros((0, 0)), 1.0)

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import cKDTree

        return cKDTree(self.z)

    @cached_property
    def _combinations(self) -> Array:
        return np.unique(self.z[:, self.is_discrete], axis=0)

    def nearest(self, z: Array, number: int) -> tuple[Array, Array]:
        """Distances (k, m) and numbers (k, m) of the nearest points, m of them where there are so many."""
        distances, places = self._tree.query(z, k=np.arange(1, min(number, len(self.z)) + 1))
        return distances, places

    def usual(self, number: int) -> float:
        """The mean distance of a typical point from its nearest others: the median over a sample of the points."""
        if len(self.z) < 2:
            return 0.0
        sample = self.z[:: max(len(self.z) // SAMPLE, 1)]
        # The first one is the point itself.
        distances = self._tree.query(sample, k=np.arange(2, min(number + 1, len(self.z)) + 1))[0]
        return float(np.median(distances.mean(axis=1)))

    def outside_hull(self, plain: Array) -> Array:
        """Distances from the hull of all points, shape (k,); of very many only those that are farthest out, NaN for the others."""
        if not plain.shape[1]:
            return np.zeros(len(plain))
        found = np.full(len(plain), np.nan)
        for place in np.argsort(-self.ellipsoid.length(plain), kind="stable")[:MOST_PROJECTED]:
            found[place] = np.linalg.norm(plain[place] - project_onto_cloud(self.plain, plain[place]))
        return found

    def is_observed(self, discrete: Array) -> Array:
        """Whether points (k, c) have a combination of categories that the data has, shape (k,)."""
        if not self.is_discrete.any():
            return np.ones(len(discrete), dtype=bool)
        return np.array([bool((np.abs(self._combinations - point).max(axis=1) <= 1e-6).any()) for point in discrete])


_CLOUDS: WeakKeyDictionary[Support, Cloud] = WeakKeyDictionary()


def cloud_of(region: Support) -> Cloud:
    """The cloud of a region, made once."""
    if region not in _CLOUDS:
        _CLOUDS[region] = Cloud(region.scale.apply(region.data.points), region.data.is_discrete)
    return _CLOUDS[region]
