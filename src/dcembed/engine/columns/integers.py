"""Which integers the blocks hold on their next walk.

A block with few choices goes through all of them, those first that brought something new. A block with many takes the integers of its best
point and changes one, or draws all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dcembed.arrays import Array
from dcembed.engine.columns.layout import Layout

# A block with at most so many choices goes through all of them.
FEW = 8
# An integer without an end is drawn from so many values.
ENDLESS = 10
# How often all integers of a block are drawn, where one could be changed.
DRAWN = 0.2


@dataclass(frozen=True, eq=False)
class Choices:
    """The integers of blocks.

    Parameters
    ----------
    layout
        The blocks.
    lb
        Of each integer column of each block, shape (B, width); zero for other columns.
    number
        Of its values, shape (B, width); one for other columns.
    """

    layout: Layout
    lb: Array
    number: Array

    @cached_property
    def counts(self) -> Array:
        """How many choices each block has, as a float: shape (B,)."""
        counts: Array = self.number.astype(np.float64).prod(axis=1)
        return counts

    @cached_property
    def is_few(self) -> Array:
        """Which blocks go through all of their choices, mask of shape (B,)."""
        return self.counts <= FEW

    def numbered(self, choice: Array, values: Array) -> Array:
        """The columns of all blocks (B, width) with their integers at the choices of these numbers (B,), where there are few."""
        stride = np.cumprod(np.column_stack([np.ones(len(self.number)), self.number[:, :-1]]), axis=1)
        digit = (choice[:, None] // np.minimum(stride, 2.0**40).astype(np.int64)) % self.number
        return np.where(self._changes & self.is_few[:, None], self.lb + digit, values)

    def varied(self, rng: np.random.Generator, values: Array) -> Array:
        """The columns of all blocks with one integer changed, or all drawn, where there are many choices."""
        drawn = self.lb + np.floor(rng.random(self.number.shape) * self.number)
        order = np.where(self._changes, rng.random(self.number.shape), -1.0)
        one = order == order.max(axis=1, keepdims=True)
        every = rng.random(len(self.number))[:, None] < DRAWN
        return np.where(self._changes & ~self.is_few[:, None] & (one | every), drawn, values)

    @property
    def _changes(self) -> Array:
        changes: Array = self.number > 1
        return changes


def find_choices(layout: Layout) -> Choices:
    """The integers of all blocks, and their ranges."""
    is_integer = layout.take(layout.embedded.integer.astype(np.float64)) > 0.0
    lb, ub = np.ceil(layout.take(layout.box.lb) - 1e-9), np.floor(layout.take(layout.box.ub) + 1e-9)
    low = np.where(np.isfinite(lb), lb, np.where(np.isfinite(ub), ub - ENDLESS, -ENDLESS // 2))
    high = np.where(np.isfinite(ub), ub, low + ENDLESS)
    number = np.where(is_integer, np.maximum(high - low + 1.0, 1.0), 1.0).astype(np.int64)
    return Choices(layout, np.where(is_integer, low, 0.0), number)
