"""One split for the whole input space (theorem 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measurements import (
    Tangents,
    begin_tangents,
    by_direction,
    kept_affine,
    largest_kept,
    linearize,
    pull_back,
    sweep,
)
from dcembed.engine.cuts import Heights
from dcembed.program.tightening import Box


@dataclass(frozen=True, eq=False)
class GlobalSplit:
    """Every measurement as G - H, valid everywhere; `box` has the bounds of the columns, for the M of indicators."""

    embedded: EmbeddedProgram
    box: Box

    @property
    def is_collapsed(self) -> bool:
        """Whether all terms share their decisions with others."""
        return self.embedded.shares_decisions and all(measured.plain.terms.block.size == 0 for measured in self.embedded.networks)

    @cached_property
    def kept(self) -> tuple[sp.csr_array, Array]:
        """The affine part of every G: slope (s + 1, n) and constant (s + 1,)."""
        return kept_affine(self.embedded)

    def linearize(self, w: Array) -> tuple[Tangents, Heights]:
        """Tangents of the components H and the heights of the components G, from one forward pass."""
        low, slope = begin_tangents(self.embedded, w)
        heights = [Heights(np.zeros(0), sp.csr_array((0, w.size)))]
        for measured in self.embedded.networks:
            concave, convex = sweep(measured.convex, w, [by_direction(measured.split.concave), by_direction(measured.split.convex)])
            low += self.embedded.part_sums[measured.number] @ concave.height
            slope = slope + self.embedded.part_sums[measured.number] @ pull_back(measured, concave.gradient)
            heights.append(Heights(convex.height, pull_back(measured, convex.gradient)))
        return Tangents(sp.csr_array(slope), low - slope @ w), join_heights(heights)

    def tangents(self, w: Array, on_at_kinks: bool = True) -> Tangents:
        """Tangents of the components H alone."""
        return linearize(self.embedded, w, on_at_kinks)

    def heights(self, w: Array) -> Heights:
        """The unit part of the component G of every part alone."""
        heights = [Heights(np.zeros(0), sp.csr_array((0, w.size)))]
        for measured in self.embedded.networks:
            (swept,) = sweep(measured.convex, w, [by_direction(measured.split.convex)])
            heights.append(Heights(swept.height, pull_back(measured, swept.gradient)))
        return join_heights(heights)

    def largest_kept(self) -> Array:
        """Upper bounds of the unit part of every G, shape (s + 1,)."""
        return largest_kept(self.embedded, *self.box)


def join_heights(heights: list[Heights]) -> Heights:
    """Those of several networks one below the other."""
    slope = sp.csr_array(sp.vstack([each.slope for each in heights], format="csr"))
    return Heights(np.concatenate([each.value for each in heights]), slope)
