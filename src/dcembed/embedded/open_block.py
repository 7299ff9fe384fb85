"""One evaluation of a network on a box, by its open units alone: those whose sign the box does not settle.

u = max(alpha x + gamma + links u, 0)   stage by stage,     f = out_units u + out_slope x + out_constant
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.embedded.unit_bounds import StageBounds
from dcembed.network.affine import Affine
from dcembed.network.network import Network
from dcembed.network.reduction import ReducedNetwork, reduce


@dataclass(frozen=True, eq=False)
class OpenBlock:
    """A block of a measured network on a box.

    Parameters
    ----------
    measured, block
        Whose block it is, and which.
    stage
        Of each open unit, in increasing order, shape (u,).
    lb, ub
        Bounds of their pre-activations, shapes (u,).
    alpha, gamma, links
        Shapes (u, n_in), (u,) and (u, u).
    out_units, out_slope, out_constant
        Shapes (n_out, u), (n_out, n_in) and (n_out,).
    """

    measured: MeasuredNetwork
    block: int
    stage: Array
    lb: Array
    ub: Array
    alpha: Array
    gamma: Array
    links: Array
    out_units: Array
    out_slope: Array
    out_constant: Array

    @property
    def num_units(self) -> int:
        """u, the open units."""
        return self.gamma.size

    @cached_property
    def weights(self) -> tuple[Array, Array]:
        """Scales (t,) and weights of the predictions (t, n_out) of the terms of this block."""
        terms = self.measured.terms
        own = np.flatnonzero(terms.block == self.block)
        return terms.scale[own], self.measured.directions[terms.direction[own]]

    def preactivations(self, w: Array) -> Array:
        """Of the open units where the kept columns are w, shape (u,)."""
        before: Array = self.alpha @ self.measured.points(w, np.array([self.block]))[0] + self.gamma
        for stage in np.unique(self.stage):
            own = self.stage == stage
            before[own] += self.links[own] @ np.where(self.stage < stage, np.maximum(before, 0.0), 0.0)
        return before

    def network_beside(self, chosen: Array) -> Network:
        """The block as a network of the inputs and of the chosen open units (mask (u,)), which must not depend on the others."""
        rest = [np.flatnonzero((self.stage == stage) & ~chosen) for stage in np.unique(self.stage[~chosen])]
        stages = []
        for index, own in enumerate(rest):
            on_inputs = np.hstack([self.alpha[own], self.links[np.ix_(own, chosen)]])
            earlier = {source + 1: self.links[np.ix_(own, units)] for source, units in enumerate(rest[:index])}
            stages.append(Affine({0: on_inputs, **earlier}, self.gamma[own]))
        on_units = {source + 1: self.out_units[:, units] for source, units in enumerate(rest)}
        output = Affine({0: np.hstack([self.out_slope, self.out_units[:, chosen]]), **on_units}, self.out_constant)
        return Network(self.alpha.shape[1] + int(chosen.sum()), tuple(stages), output)


def open_blocks(embedded: EmbeddedProgram, bounds: Sequence[StageBounds]) -> list[OpenBlock]:
    """Every block of every network, where these are the bounds of all pre-activations of each."""
    blocks = []
    for measured, stages in zip(embedded.networks, bounds, strict=True):
        reduced = reduce(measured.network, stages, measured.num_blocks)
        blocks += [_block(measured, reduced, stages, block) for block in range(measured.num_blocks)]
    return blocks


def _block(measured: MeasuredNetwork, reduced: ReducedNetwork, bounds: StageBounds, block: int) -> OpenBlock:
    """Open units stand in the first slots of their stage; what follows them there is padding."""
    slots, stages, lbs, ubs = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], [np.zeros(0)], [np.zeros(0)]
    links = np.zeros((reduced.gamma.shape[1], reduced.gamma.shape[1]))
    for number, (stage, effect, (low, high)) in enumerate(zip(reduced.stages, reduced.links, bounds, strict=True)):
        units = np.flatnonzero((low[block] < 0) & (high[block] > 0))
        slots.append(stage.start + np.arange(units.size))
        stages.append(np.full(units.size, number))
        lbs.append(low[block, units])
        ubs.append(high[block, units])
        links[stage, : stage.start] = effect[block]
    slot = np.concatenate(slots)
    return OpenBlock(
        measured,
        block,
        np.concatenate(stages),
        np.concatenate(lbs),
        np.concatenate(ubs),
        reduced.alpha[block, slot],
        reduced.gamma[block, slot],
        links[np.ix_(slot, slot)],
        reduced.out_units[block][:, slot],
        reduced.out_slope[block],
        reduced.out_constant[block],
    )
