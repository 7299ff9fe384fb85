"""The functions that measurements are sums of: each has a column of its own in a relaxation, and affine functions below it over a box."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array

# Chords and tangents are lowered by this, relative to the values that they are made from: more than rounding does.
MARGIN = 1e-13
# What stands for infinity in sums, and from where on a sum counts as infinite.
ENDLESS, HUGE = 1e200, 1e100


@dataclass(frozen=True, eq=False)
class Below:
    """Affine functions slope @ w + constant below k functions: shapes (k, n) and (k,)."""

    slope: sp.csr_array
    constant: Array


def least(below: Below, lb: Array, ub: Array) -> Array:
    """The least value of affine functions over a box, shape (k,), lowered by rounding; -inf where there is none."""
    plus, minus = below.slope.maximum(0.0), below.slope.minimum(0.0)
    low, high = np.nan_to_num(lb, neginf=-ENDLESS), np.nan_to_num(ub, posinf=ENDLESS)
    size = np.abs(below.constant) + abs(below.slope) @ np.maximum(np.abs(low), np.abs(high))
    with np.errstate(invalid="ignore"):
        value = below.constant + plus @ low + minus @ high - 10.0 * MARGIN * size
    return np.where(value > -HUGE, value, -np.inf)


class Source(Protocol):
    """Functions of one kind."""

    @property
    def measurement(self) -> Array:
        """The measurement that each function belongs to, shape (k,)."""

    def values(self, w: Array) -> Array:
        """The functions at a point, shape (k,)."""

    def below(self, lb: Array, ub: Array, check: Callable[[], None]) -> Below:
        """Affine functions below them over a box."""

    def most(self, lb: Array, ub: Array, check: Callable[[], None]) -> Array:
        """Upper bounds of the functions over a box, shape (k,)."""

    def columns(self, number: int) -> Array:
        """The columns that a function depends on."""
