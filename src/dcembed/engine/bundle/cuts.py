"""Tangent cuts of the kept components: theta_p >= value + slope (w - w^), added where a solution violates them.

The component of a part does not change while the split stays the same, so its cuts remain valid and are kept; those that have
not been tight for long are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

Array = np.ndarray

# Solves in a row that a cut may be loose before it is dropped.
MAX_AGE = 12
# A cut is added where the variable lies below its component by more than this, relative to the component's size.
CUT_TOL = 1e-9


@dataclass(frozen=True, eq=False)
class Heights:
    """The unit part of G of every part at a point: value (p,) and a subgradient on the columns (p, n)."""

    value: Array
    slope: sp.csr_array


class CutPool:
    """Cuts theta[part] - slope @ w >= constant, newest last."""

    def __init__(self, num_columns: int) -> None:
        self._num_columns = num_columns
        self.clear()

    def clear(self) -> None:
        """Forget all cuts: the split has changed."""
        self.part = np.zeros(0, dtype=np.int64)
        self.slope = sp.csr_array((0, self._num_columns))
        self.constant = np.zeros(0)
        self._age = np.zeros(0, dtype=np.int64)
        self._origin = np.zeros(0, dtype=np.int64)

    @property
    def num_cuts(self) -> int:
        return self.constant.size

    def add(self, heights: Heights, w: Array, theta: Array) -> int:
        """Add the cuts at w that `theta` violates; how many."""
        violated = np.flatnonzero(heights.value - theta > CUT_TOL * (1.0 + np.abs(heights.value)))
        if violated.size:
            slope = sp.csr_array(heights.slope[violated])
            self.part = np.concatenate([self.part, violated])
            self.slope = sp.vstack([self.slope, slope], format="csr")
            self.constant = np.concatenate([self.constant, heights.value[violated] - slope @ w])
            self._age = np.concatenate([self._age, np.zeros(violated.size, dtype=np.int64)])
            self._origin = np.concatenate([self._origin, np.full(violated.size, -1)])
        return violated.size

    def age(self, w: Array, theta: Array) -> None:
        """Note which cuts are tight at a solution, and drop those that have long been loose."""
        distance = theta[self.part] - self.slope @ w - self.constant
        tight = distance <= 1e-6 * (1.0 + np.abs(theta[self.part]))
        self._age = np.where(tight, 0, self._age + 1)
        keep = np.flatnonzero(self._age <= MAX_AGE)
        if keep.size < self.num_cuts:
            self.part, self.constant = self.part[keep], self.constant[keep]
            self.slope, self._age, self._origin = sp.csr_array(self.slope[keep]), self._age[keep], self._origin[keep]

    def rows(self, num_parts: int) -> tuple[sp.csr_array, Array]:
        """The cuts as rows [-slope | unit of theta] >= constant."""
        unit = sp.csr_array((np.ones(self.num_cuts), (np.arange(self.num_cuts), self.part)), shape=(self.num_cuts, num_parts))
        return sp.hstack([-self.slope, unit], format="csr"), self.constant

    def take_origins(self) -> Array:
        """Where each cut stood at the last call, -1 for new ones."""
        origin, self._origin = self._origin, np.arange(self.num_cuts)
        return origin
