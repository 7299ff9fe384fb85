"""The concave part of the objective, by chords along its eigenvectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.bounds.functions import MARGIN, Below
from dcembed.network.bounds import go_on


@dataclass(frozen=True, eq=False)
class ConcaveSquares:
    """-1/2 w'Cw of the objective, as squares along eigenvectors."""

    concave: sp.csr_array

    @property
    def measurement(self) -> Array:
        """The measurement that each function belongs to, shape (k,)."""
        return np.zeros(1, dtype=np.int64)

    @cached_property
    def _eigen(self) -> tuple[Array, Array, Array]:
        """The columns that are used, eigenvalues, and eigenvectors as columns."""
        used = np.unique(self.concave.indices)
        values, vectors = np.linalg.eigh(self.concave[used][:, used].toarray())
        # An eigenvalue below zero is rounding, and its square is not negative.
        return used, np.maximum(values, 0.0), vectors

    def values(self, w: Array) -> Array:
        """The functions at a point, shape (k,)."""
        return np.array([-0.5 * float(w @ (self.concave @ w))])

    def below(self, lb: Array, ub: Array, check: Callable[[], None] = go_on) -> Below:
        """Affine functions below them over a box."""
        used, values, vectors = self._eigen
        plus, minus = np.maximum(vectors, 0.0), np.minimum(vectors, 0.0)
        low, high = plus.T @ lb[used] + minus.T @ ub[used], plus.T @ ub[used] + minus.T @ lb[used]
        # The chord of t^2 lies above it: t^2 <= (low + high) t - low * high.
        slope = -0.5 * vectors @ (values * (low + high))
        constant = 0.5 * float(values @ (low * high))
        reach = np.maximum(np.abs(lb[used]), np.abs(ub[used]))
        slack = 10.0 * used.size * MARGIN * float(np.abs(values).max(initial=0.0)) * float(reach @ reach)
        row = sp.csr_array((slope, used, np.array([0, used.size])), shape=(1, lb.size))
        return Below(row, np.array([constant - slack]))

    def most(self, lb: Array, ub: Array, check: Callable[[], None] = go_on) -> Array:
        """Upper bounds of the functions over a box, shape (k,)."""
        return np.zeros(1)

    def columns(self, number: int) -> Array:
        """The columns that a function depends on."""
        return self._eigen[0]
