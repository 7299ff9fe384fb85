"""Tangent cuts of the kept components: theta_p >= value + slope (w - w^), added where a solution violates them.

The component of a part does not change while the split stays the same, so its cuts remain valid and are kept; those that have
not been tight for long are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.sparse import above, beside, empty_rows, scale_rows, take_rows, unit_rows

# Solves in a row that a cut may be loose before it is dropped.
MAX_AGE = 12
# A cut is added where the variable lies below its component by more than this, relative to the component's size.
CUT_TOL = 1e-9
# A cut is tight where the variable lies above it by no more than this, relative to its size.
TIGHT_TOL = 1e-6


@dataclass(frozen=True, eq=False)
class Heights:
    """The unit part of G of every part at a point: value (p,) and a subgradient on the columns (p, n)."""

    value: Array
    slope: sp.csr_array


@dataclass(frozen=True, eq=False)
class CutPool:
    """Cuts theta[part] - slope @ w >= constant, newest last.

    Parameters
    ----------
    part, slope, constant
        Shapes (c,), (c, n) and (c,).
    age
        For how many solves each cut has been loose, shape (c,).
    numbers
        Increasing numbers that no other cut of this pool or of one made from it has, shape (c,).
    num_made
        How many cuts there have been.
    """

    part: Array
    slope: sp.csr_array
    constant: Array
    age: Array
    numbers: Array
    num_made: int

    @property
    def num_cuts(self) -> int:
        """How many cuts there are."""
        return self.constant.size

    def add(self, heights: Heights, w: Array, theta: Array) -> CutPool:
        """The pool with the cuts at w that `theta` violates."""
        violated = np.flatnonzero(heights.value - theta > CUT_TOL * (1.0 + np.abs(heights.value)))
        if violated.size == 0:
            return self
        slope = take_rows(heights.slope, violated)
        return CutPool(
            part=np.concatenate([self.part, violated]),
            slope=above(self.slope, slope),
            constant=np.concatenate([self.constant, heights.value[violated] - slope @ w]),
            age=np.concatenate([self.age, np.zeros(violated.size, dtype=np.int64)]),
            numbers=np.concatenate([self.numbers, self.num_made + np.arange(violated.size)]),
            num_made=self.num_made + violated.size,
        )

    def aged(self, w: Array, theta: Array) -> CutPool:
        """The pool after a solution: tight cuts are young again, those that have long been loose are gone."""
        distance = theta[self.part] - self.slope @ w - self.constant
        age = np.where(distance <= TIGHT_TOL * (1.0 + np.abs(theta[self.part])), 0, self.age + 1)
        keep = np.flatnonzero(age <= MAX_AGE)
        slope = self.slope if keep.size == self.num_cuts else take_rows(self.slope, keep)
        return CutPool(self.part[keep], slope, self.constant[keep], age[keep], self.numbers[keep], self.num_made)

    def rows(self, num_parts: int, num_slacks: int = 0) -> sp.csr_array:
        """The cuts as rows [-slope | unit of theta | 0] >= constant."""
        unit = unit_rows(self.part, np.ones(self.num_cuts), num_parts + num_slacks)
        return beside(scale_rows(self.slope, -np.ones(self.num_cuts)), unit)

    def places_in(self, numbers: Array, first: int) -> Array:
        """Where each cut stands among rows that begin at `first` with the cuts of these numbers; -1 for new ones."""
        position = np.searchsorted(numbers, self.numbers)
        inside = position < numbers.size
        known = np.zeros(self.num_cuts, dtype=bool)
        known[inside] = numbers[position[inside]] == self.numbers[inside]
        return np.where(known, first + position, -1)


def empty_pool(num_columns: int, num_made: int = 0) -> CutPool:
    """No cuts; `num_made` have been made before."""
    none = np.zeros(0, dtype=np.int64)
    return CutPool(none, empty_rows(0, num_columns), np.zeros(0), none, none, num_made)
