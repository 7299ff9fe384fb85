"""One split for the whole input space (theorem 4.1)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measurements import Tangents, kept_affine, largest_kept, linearize, pull_back, sweep
from dcembed.engine.bundle.cuts import Heights

Array = np.ndarray


class GlobalSplit:
    """Every measurement as G - H, valid everywhere; `lb` and `ub` are the bounds of the columns, for the M of indicators."""

    def __init__(self, embedded: EmbeddedProgram, lb: Array, ub: Array) -> None:
        self._embedded, self._box = embedded, (lb, ub)
        self.kept_slope, self.kept_constant = kept_affine(embedded)

    def tangents(self, w: Array, on_at_kinks: bool = True) -> Tangents:
        """Values of the measurements and tangents of their components H."""
        return linearize(self._embedded, w, on_at_kinks)

    def heights(self, w: Array) -> Heights:
        """The unit part of the component G of every part."""
        value, slope = [np.zeros(0)], [sp.csr_array((0, w.size))]
        for measured in self._embedded.networks:
            swept = sweep(measured, w, measured.split.convex)
            value.append(swept.height)
            slope.append(pull_back(measured, swept.gradient))
        return Heights(np.concatenate(value), sp.vstack(slope, format="csr"))

    def largest_kept(self) -> Array:
        """Upper bounds of the unit part of every G, shape (s + 1,)."""
        return largest_kept(self._embedded, *self._box)
